"""Each incarnation has a `contextvars.Context` of its own."""

from __future__ import annotations

import decimal
from contextvars import ContextVar

import pytest

import otpy
from support.doer import Doer, flush

VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="unset")


def test_what_one_actor_sets_no_other_sees(system: otpy.System) -> None:
    """On whatever thread they run: the pool has only one here."""
    refs = [system.start(Doer) for _ in range(3)]
    for number, ref in enumerate(refs):
        ref.call(Doer.do, lambda _, n=number: VARIABLE.set(str(n)) and None)
    assert [ref.call(Doer.do, lambda _: VARIABLE.get()) for ref in refs] == ["0", "1", "2"]
    assert system.start(Doer).call(Doer.do, lambda _: VARIABLE.get()) == "unset"
    assert VARIABLE.get() == "unset"


def test_what_the_starter_has_set_is_not_inherited(system: otpy.System) -> None:
    token = VARIABLE.set("main")
    assert system.start(Doer).call(Doer.do, lambda _: VARIABLE.get()) == "unset"
    VARIABLE.reset(token)


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_init_and_messages_and_terminate_share_one_context(system: otpy.System, place: str) -> None:
    seen: list[str] = []

    class Last(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            seen.append(VARIABLE.get())

    spec = otpy.child(Last, deed=lambda _: VARIABLE.set("mine") and None).opts(place=place)  # type: ignore[typeddict-item]
    ref = system.start(spec)
    seen.append(ref.call(Doer.do, lambda _: VARIABLE.get()))
    ref.stop()
    assert seen == ["mine", "mine"]


def test_a_restarted_actor_begins_with_an_empty_context(system: otpy.System) -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Doer).opts(name="it")]

    system.start(Tree)
    it = system.ref(otpy.name(Doer, "it"))
    it.call(Doer.do, lambda _: VARIABLE.set("first") and None)
    it.kill()
    system.wait_idle()
    assert it.call(Doer.do, lambda _: VARIABLE.get()) == "unset"


def test_an_inline_init_does_not_see_its_supervisors_context(system: otpy.System) -> None:
    """Children without a start timeout are initialised on the supervisor's thread."""
    seen: list[str] = []

    class Tree(otpy.Supervisor):
        def init(self) -> None:
            VARIABLE.set("the supervisor's")

        def children(self) -> list[otpy.ChildSpec]:
            seen.append(VARIABLE.get())
            deed = lambda _: seen.append(VARIABLE.get()) or (VARIABLE.set("the child's") and None)  # noqa: E731
            return [otpy.child(Doer, deed=deed).opts(name="it")]

    system.start(Tree)
    assert seen == ["the supervisor's", "unset"]
    assert system.ref(otpy.name(Doer, "it")).call(Doer.do, lambda _: VARIABLE.get()) == "the child's"


def test_a_decimal_precision_stays_where_it_was_set(system: otpy.System) -> None:
    """The prototype leaked it to the next actor on the same worker."""
    one, other = system.start(Doer), system.start(Doer)

    def set_precision(_: Doer) -> None:
        decimal.getcontext().prec = 3

    one.call(Doer.do, set_precision)
    assert other.call(Doer.do, lambda _: decimal.getcontext().prec) == 28
    assert one.call(Doer.do, lambda _: decimal.getcontext().prec) == 3


def test_a_callers_context_is_not_the_servers(system: otpy.System) -> None:
    server, client = system.start(Doer), system.start(Doer)
    client.call(Doer.do, lambda _: VARIABLE.set("the client's") and None)
    assert client.call(Doer.do, lambda _: server.call(Doer.do, lambda _: VARIABLE.get())) == "unset"
    assert flush(server) == []
