"""A bank that is down is left alone, found to be up again, and then asked: a circuit breaker and retries.

    python examples/ill_service.py

prints:

    payments: closed to open, 3 failures in a row
    payments: open to half_open, the first probe is on its way
    payments: half_open to open, a probe failed
    payments: open to half_open, the first probe is on its way
    payments: half_open to closed, a probe succeeded
    paid 5
"""

from __future__ import annotations

import otpy
from otpy.events import BreakerChanged, Event
from otpy.resilience import Breaker, retry

payments = Breaker("payments", failures=3, cooldown=0.05)
again = retry(
    on=ConnectionError,  # nothing else is tried again
    attempts=10,
    deadline=30.0,  # for all attempts and pauses together
    backoff=otpy.Backoff(first=0.01, most=0.1),
    breaker=payments,  # each attempt goes through it; while it is open no attempt is spent
)


class Bank:
    is_up = False


@again
def pay(amount: int) -> str:  # a plain function: it knows of neither
    if not Bank.is_up:
        raise ConnectionError("the bank is down")
    return f"paid {amount}"


class Shop(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [payments.child()]  # the actor that counts and decides


def tell(event: Event) -> None:
    if isinstance(event, BreakerChanged):
        print(f"{event.breaker}: {event.before} to {event.after}, {event.why}", flush=True)
        if event.before == "half_open":
            Bank.is_up = True  # the first probe has failed; the next one finds it mended


if __name__ == "__main__":
    with otpy.run(Shop, on_event=tell) as system:
        receipt = pay(5)
        system.wait_idle()  # until the breaker has heard of it
    print(receipt)
