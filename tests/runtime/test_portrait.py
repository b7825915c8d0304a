"""What reports show of an actor's inside: bounded, without running its values' code, and without secrets."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.events import DeadLetter, UnknownMessage
from otpy.runtime.portrait import MAX_ATTRIBUTES, PORTRAIT_LIMIT, portrait, told
from support.doer import Doer

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.testing import Recorder


class Nasty:
    def __repr__(self) -> str:
        raise AssertionError("run")


@dataclass
class Login:
    user: str
    password: str


Pair = namedtuple("Pair", "user secret")  # noqa: PYI024 - what older programs have


def state_of(system: otpy.System, **attributes: Any) -> dict[str, str]:
    """What is shown of an actor with these attributes, read in its own turn."""

    def look(self: Doer) -> dict[str, str]:
        vars(self).update(attributes)
        return dict(portrait(self.ref))

    shown = system.start(Doer).call(Doer.do, look)
    assert isinstance(shown, dict)
    return {name: text for name, text in shown.items() if name in {*attributes, "…"}}


@pytest.mark.report("F155", "erlang/otp#3269")
def test_public_attributes_are_shown(system: otpy.System) -> None:
    assert state_of(system, size=3, items={"a": 1}, _own=1, nasty=Nasty()) == {
        "size": "3",
        "items": "{'a': 1}",
        "nasty": f"<{__name__}.Nasty>",
    }


def test_refs_are_shown_by_their_paths(system: otpy.System) -> None:
    other = system.start(Doer)
    shown = state_of(system, other=other, named=system.ref("x"), pairs={"a": [other]})
    assert shown == {"other": "<Ref t/Doer #1>", "named": "<NamedRef x>", "pairs": "{'a': [<Ref t/Doer #1>]}"}


@pytest.mark.report("B56", "jodal/pykka#48")
def test_a_handle_to_oneself_is_not_followed(system: otpy.System) -> None:
    def look(self: Any) -> dict[str, str]:
        self.me, self.proxy = self.ref, self.ref.proxy()
        return dict(portrait(self.ref))

    shown: Any = system.start(Doer).call(Doer.do, look)
    assert (shown["me"], shown["proxy"]) == ("<Ref t/Doer #1>", "<pykka._proxy.ActorProxy>")


def test_slots_are_shown_too(system: otpy.System) -> None:
    class Slotted(Doer):
        __slots__ = ("size", "unset")

    ref = system.start(Slotted)
    ref.call(Doer.do, lambda self: setattr(self, "size", 3))
    shown = ref.call(Doer.do, lambda self: portrait(self.ref))
    assert isinstance(shown, tuple)
    assert ("size", "3") in shown
    assert "unset" not in dict(shown)


def test_a_portrait_is_bounded_whatever_the_actor_holds(system: otpy.System) -> None:
    huge: dict[str, Any] = {f"field_{number}": "x" * 10_000_000 for number in range(3)}
    deep: list[Any] = []
    deep.append(deep)
    many = {f"small_{number}": list(range(1_000)) for number in range(100)}
    shown = state_of(system, deep=deep, numbers=dict.fromkeys(range(1_000_000)), **huge, **many)
    assert sum(len(name) + len(text) for name, text in shown.items()) < PORTRAIT_LIMIT + 300
    assert len(shown) <= MAX_ATTRIBUTES + 1
    assert shown["…"].endswith(" more")


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("password", "hunter2", "<hidden>"),
        ("db_passwd", b"hunter2", "<hidden>"),
        ("apiKey", "hunter2", "<hidden>"),
        ("token", None, "None"),
        ("is_token_set", True, "True"),
        ("tokens_used", 512, "512"),
        ("pwd", 1234, "<hidden>"),
        ("secretary", "Ann", "'Ann'"),
        ("headers", {"Authorization": "Bearer hunter2", b"cookie": b"hunter2"}, None),
        ("headers", [("x-api-key", "hunter2")], "[('x-api-key', <hidden>)]"),
        ("headers", [(b"Authorization", b"hunter2")], "[(b'Authorization', <hidden>)]"),
        ("login", Login("ann", "hunter2"), "Login(user='ann', password=<hidden>)"),
        ("pair", Pair("ann", "hunter2"), f"{__name__}.Pair('ann', <hidden>)"),
        ("secrets", ["hunter2"], "<hidden>"),
        ("urls", ["postgres://ann:hunter2@db/x"], "['postgres://ann:<hidden>@db/x']"),
        ("url", "http://host:8080/a@b", "'http://host:8080/a@b'"),
    ],
)
def test_what_is_named_like_a_secret_is_hidden(
    system: otpy.System, name: str, value: object, shown: str | None
) -> None:
    [text] = state_of(system, **{name: value}).values()
    assert "hunter2" not in text
    assert shown is None or text == shown


class Account(Doer):
    def redact(self, name: str, value: Any) -> object:
        if name == "card":
            return f"…{value[-4:]}"
        if name == "message" and isinstance(value, tuple):
            return value[0]
        return value

    @otpy.call
    def charge(self, card: str, amount: int, *, note: str = "") -> str:
        return told(self.ref, self.caller)


def test_an_actor_redacts_its_own_state_and_messages(system: otpy.System) -> None:
    ref = system.start(Account)
    ref.call(Doer.do, lambda self: setattr(self, "payments", [{"card": "4111 1111", "amount": 3}]))
    shown: Any = ref.call(Doer.do, lambda self: portrait(self.ref))
    assert dict(shown)["payments"] == "[{'card': '…1111', 'amount': 3}]"
    assert ref.call(Account.charge, "4111 1111", 3) == "call charge('…1111', 3)"
    assert ref.call(Account.charge, "4111 1111", amount=3, note="x") == "call charge('…1111', amount=3, note='x')"


def test_a_whole_system_redacts_after_its_actors() -> None:
    system = otpy.System("t", redact=lambda name, value: otpy.Ignore if name == "note" else value)
    ref = system.start(Account)
    told = ref.call(Account.charge, "4111 1111", 3, note="x")
    assert told == "call charge('…1111', 3, note=<class otpy.core.decision.Ignore>)"
    system.stop()


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_redact_that_raises_hides_the_value(error: type[BaseException]) -> None:
    def redact(name: str, value: object) -> object:
        raise error(value)

    system = otpy.System("t", redact=redact)
    [text] = state_of(system, card="4111 1111").values()
    assert text == f"<redact raised {error.__name__}>"
    system.stop()


def test_arguments_are_named_through_decorators(system: otpy.System) -> None:
    def loud(function: Callable[..., Any]) -> Any:  # Any: it stays what it was
        @wraps(function)
        def run(*args: Any) -> object:
            return function(*args)

        return run

    class Vault(Doer):
        @otpy.call
        @loud
        def open(self, password: str, *rest: object) -> object:
            return told(self.ref, self.caller)

    assert system.start(Vault).call(Vault.open, "hunter2", 1) == "call open(<hidden>, 1)"


def test_messages_of_all_kinds_are_told(system: otpy.System) -> None:
    texts: list[str] = []

    class Listener(Doer):
        def handle_info(self, message: Any) -> None:
            texts.append(told(self.ref, self.ref.current))

        def handle_call(self, request: Any, caller: otpy.Caller) -> None:
            texts.append(told(self.ref, caller))

    ref = system.start(Listener)
    ref.tell({"token": "x"})
    ref.ask(("password", "x"))
    assert texts == ["info {'token': <hidden>}", "call request(('password', <hidden>))"]


def test_what_is_told_in_other_threads_shows_no_secret(system: otpy.System, events: Recorder) -> None:
    ref = system.start(otpy.child(Receiver).opts(name="r"))
    ref.tell({"password": "hunter2"})
    ref.stop()
    ref.tell(("token", "hunter2"))
    assert [event.message for event in events.of(UnknownMessage)] == ["{'password': <hidden>}"]
    assert [event.message for event in events.of(DeadLetter)] == ["info ('token', <hidden>)"]


class Receiver(otpy.GenServer):
    """Handles nothing."""
