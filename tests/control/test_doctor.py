"""What the doctor finds among actors, from what is published of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy.control import doctor
from otpy.control.doctor import look_over
from support.fake_system import FakeSystem, worker

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other floors look for needs a real system."""
    monkeypatch.setattr(doctor, "_EXAMINERS", [doctor.actors])


def found(*records: Any) -> list[str]:
    return [f"{one.level} {one}" for one in look_over(FakeSystem(list(records)))]


@pytest.mark.report("F157", "mopidy/mopidy#693")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "failed", "last_exit": "error"}, "error shop/a: it was given up: error; otpy why tells more"),
        ({"trouble": "silent for 12 s"}, "error shop/a: it is in trouble: silent for 12 s"),
        (
            {"trouble": "degraded for 5m", "copes": True, "kind": "Outbox 3 rows"},
            "warning shop/a: it works on by itself: Outbox 3 rows, degraded for 5m",
        ),
        ({"next_start": 9.0, "last_exit": "killed"}, "error shop/a: it is started again in 9 s, after killed"),
        ({"suspended": 30.0, "status": "suspended"}, "warning shop/a: it has been suspended for 30 s: otpy resume"),
        ({"queue": 1_000}, "warning shop/a: 1000 messages wait for it"),
        (
            {"busy": 31.0, "queue": 2, "current": "call get", "waiting": "shop/db in call get", "status": "running"},
            "error shop/a: it has been in call get for 31 s, where it waits for shop/db in call get, and 2 messages",
        ),
    ],
)
def test_who_does_not_get_on_is_found(changes: dict[str, Any], said: str) -> None:
    (one,) = found(worker("shop/a", **changes))
    assert one.startswith(said)


def test_who_works_for_long_and_keeps_nobody_waiting_is_well() -> None:
    assert found(worker("shop/a", busy=3_600.0, current="cast run"), worker("shop/b", suspended=1.0)) == []


def test_the_code_of_who_was_killed_and_still_runs_is_named() -> None:
    system = FakeSystem([worker("shop/a", status="running")])
    system.dead = [worker("shop/a")]
    (one,) = look_over(system)
    assert one.text.startswith('it was killed and its code still runs, at File "feed.py", line 7, in poll: on_stuck=')


def test_an_examination_that_fails_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> Iterator[Any]:
        text = "no\x1b"
        raise ValueError(text)

    monkeypatch.setattr(doctor, "_EXAMINERS", [broken, *doctor._EXAMINERS])
    first, second = found(worker("shop/a", queue=5_000))
    assert first == r"error shop: test_doctor could not look: ValueError: no\x1b".replace("test_doctor", __name__)
    assert second.startswith("warning shop/a")
