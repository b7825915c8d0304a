"""The table of claims: each file is finished once, by the token of its current claim and by nothing else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otpy.demo.claims import Claim, Claims
from otpy.demo.files import File

if TYPE_CHECKING:
    from collections.abc import Callable


def file(name: str) -> File:
    return File(name, (0, 0, 0, 0))


def table(files: str, holders: str) -> Claims[str]:
    """A table in which these files wait and these holders are idle, one letter each."""
    claims: Claims[str] = Claims()
    claims.begin(map(file, files))
    for holder in holders:
        claims.ready(holder)
    return claims


CASES = {
    "a result of the current claim counts": (["give x1=a", "finish 1=a"], True),
    "a result that comes twice counts once": (["give x1=a", "finish 1=a", "finish 1=-"], True),
    "a token that never was counts nothing": (["finish 7=-", "give x1=a"], False),
    "a lost file is given again under a new token": (["give x1=a", "lose x", "ready y", "give y2=a"], False),
    "a result is dropped after its claim was lost": (["give x1=a", "lose x", "finish 1=-"], False),
    "a late result is dropped although another has the file": (
        ["give x1=a", "lose x", "ready y", "give y2=a", "finish 1=-", "finish 2=a", "ready y"],
        True,
    ),
    "a file that was counted is not given again when its holder dies": (
        ["give x1=a", "finish 1=a", "lose x", "ready y", "give -"],
        True,
    ),
    "a holder that dies idle loses nothing": (["ready y", "lose x", "give y1=a", "finish 1=a", "ready y"], True),
    "a stranger that dies changes nothing": (["lose z", "give x1=a", "finish 1=a", "ready x"], True),
    "who has sent its result is busy until it is ready or dead": (["give x1=a", "finish 1=a"], True),
}


def play(claims: Claims[str], step: str) -> None:
    """Do one step and check what it returns: `give HOLDER TOKEN=FILE`, `finish TOKEN=FILE`, `lose HOLDER`, …."""
    verb, _, rest = step.partition(" ")
    match verb:
        case "ready":
            claims.ready(rest)
        case "lose":
            claims.lose(rest)
        case "give":
            claim = claims.give()
            assert rest == ("-" if claim is None else f"{claim.holder}{claim.token}={claim.file.path}")
        case "finish":
            token, _, path = rest.partition("=")
            found = claims.finish(int(token))
            assert path == ("-" if found is None else found.path)


@pytest.mark.parametrize("name", CASES)
def test_claims(name: str) -> None:
    steps, all_counted = CASES[name]
    claims = table("a", "x")

    for step in steps:
        play(claims, step)

    for holder in "xyz":
        claims.lose(holder)
    assert claims.is_done == all_counted


def test_files_and_holders_are_taken_in_their_order() -> None:
    claims = table("abc", "xy")

    assert [claims.give(), claims.give(), claims.give()] == [
        Claim(1, file("a"), "x"),
        Claim(2, file("b"), "y"),
        None,
    ]


def test_nothing_is_given_when_no_file_waits() -> None:
    assert table("", "x").give() is None


def test_it_is_done_only_when_every_holder_has_said_so() -> None:
    """Else a crash after sending would be seen, or not, by chance."""
    claims = table("a", "x")
    claims.give()
    claims.finish(1)
    assert not claims.is_done
    claims.ready("x")
    assert claims.is_done


def test_holders_of_an_earlier_shift_get_nothing() -> None:
    claims = table("", "x")
    claims.begin([file("a")])
    assert claims.give() is None


def test_a_holder_that_is_ready_with_a_claim_in_its_hands_is_an_error() -> None:
    claims = table("a", "x")
    claims.give()
    with pytest.raises(ValueError, match="x is ready for more, but has neither finished nor lost claim 1"):
        claims.ready("x")


class Play:
    """Holders that come, work, die and send again what they have sent; counts what the table accepts."""

    def __init__(self, files: str) -> None:
        self.claims = table(files, "")
        self.hands: dict[str, Claim[str] | None] = {}
        self.counted: Counter[str] = Counter()
        self.newest = 0

    def come(self, _: int = 0) -> None:
        self.newest += 1
        self.hands[f"holder {self.newest}"] = None
        self.claims.ready(f"holder {self.newest}")

    def work(self, number: int = 0) -> None:
        """Some holder sends its result and is ready for more."""
        if holder := self.some(number):
            self.send(self.hands[holder])
            self.hands[holder] = None
            self.claims.ready(holder)

    def die(self, number: int) -> None:
        if holder := self.some(number):
            self.claims.lose(holder)
            del self.hands[holder]

    def send_and_die(self, number: int) -> None:
        if holder := self.some(number):
            self.send(self.hands[holder])
            self.die(number)

    def send_again(self, number: int) -> None:
        """Send a result that was not counted, or that was: of a dead holder."""
        token = number + 1
        if token not in {claim.token for claim in self.hands.values() if claim}:
            self.accept(token)

    def some(self, number: int) -> str | None:
        """A holder, those with a claim first."""
        holders = sorted(self.hands, key=lambda holder: self.hands[holder] is None)
        return holders[number % len(holders)] if holders else None

    def send(self, claim: Claim[str] | None) -> None:
        if claim:
            self.accept(claim.token)

    def accept(self, token: int) -> None:
        if found := self.claims.finish(token):
            self.counted[found.path] += 1

    def give(self) -> None:
        while claim := self.claims.give():
            self.hands[claim.holder] = claim


EVENTS = [Play.come, Play.work, Play.die, Play.send_and_die, Play.send_again]


@given(
    files=st.sampled_from(["", "a", "abc", "abcdef"]),
    events=st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 9))),
)
def test_whatever_happens_every_file_counts_exactly_once(
    files: str, events: list[tuple[Callable[[Play, int], None], int]]
) -> None:
    play = Play(files)
    for event, number in events:
        event(play, number)
        play.give()
        assert not play.counted or max(play.counted.values()) == 1

    play.come()
    play.give()
    while not play.claims.is_done:
        play.work()
        play.give()

    assert play.counted == Counter(files)
