"""The control socket under rubbish: program, tree and other clients notice nothing of it."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from typing import TYPE_CHECKING

import msgpack
import pytest

import otpy
from otpy.control.limits import Limits
from otpy.control.verbs import VERBS
from otpy.control.wire import UNICODE, FrameReader
from support.control import RawClient, request
from support.fuzz import PATHS, ROGUES, Rubbish, answers_due

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator

    from otpy.control.server import ControlServer
    from otpy.control.verbs import Verb

    Serve = Callable[..., ControlServer]

SEED = 4_810_318
PATIENT = Limits(frame_time=60.0, write_time=60.0, idle_time=60.0)
"""For tests in which no time may run out."""
LONG = [pytest.mark.stress, pytest.mark.timeout(600)]
FRAMES = [pytest.param(1_000, id="small"), pytest.param(100_000, id="large", marks=LONG)]
BATCH = 100
"""Frames between two looks at the program."""
GROWTH = 2_000
"""Blocks of memory that come and go with caches and threads, however long the run."""


class Shelf(otpy.GenServer):
    """Has a name and does nothing."""


class Shop(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Shelf).opts(id="shelf", name="shelf"), otpy.dynamic(Shelf).opts(id="guests")]


class Untouched:
    """A system of which nothing may be asked that changes it."""

    def __init__(self, system: otpy.System) -> None:
        self._system = system
        self.stops = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._system, name)

    def request_stop(self, _: str = "", **__: object) -> None:
        self.stops += 1


@pytest.fixture
def shop() -> Iterator[Untouched]:
    """A real tree, which must be as it was when the test ends."""
    system = otpy.System("shop")
    system.start_root(otpy.child(Shop))
    before = lasting(system)
    yield Untouched(system)
    assert lasting(system) == before
    assert system.stop(timeout=30.0) == []


def lasting(system: otpy.System) -> list[tuple[object, ...]]:
    """Of each actor, what would show that it was reached."""
    system.wait_idle()
    return [
        (
            one.path,
            one.number,
            one.status,
            one.restarts,
            one.queue,
            one.children,
            one.links,
            one.monitors,
            one.last_exit,
        )
        for one in system.records()
    ]


def answers(server: ControlServer, pieces: Iterable[bytes]) -> list[dict[str, object]]:
    """All that the server says to a client that sends these pieces and then no more, until it hangs up."""
    reader = FrameReader(PATIENT.max_reply_bytes)
    with RawClient(server.path) as client:
        client.converse(pieces, reader.feed)
    frames = iter(reader.next_frame, None)
    said = [msgpack.unpackb(frame, unicode_errors=UNICODE) for frame in frames]
    assert not reader.has_bytes
    return said


def errors_of(replies: list[dict[str, object]]) -> list[str]:
    return [error["text"] for reply in replies if isinstance(error := reply.get("error"), dict)]


def pieces_of(data: bytes, chance: random.Random) -> list[bytes]:
    """The same bytes at once, in two, or one by one."""
    if len(data) < 300 and chance.randrange(20) == 0:
        return [data[at : at + 1] for at in range(len(data))]
    cut = chance.randrange(len(data) + 1)
    return [data[:cut], data[cut:]] if chance.randrange(3) == 0 else [data]


@pytest.mark.parametrize("frames", FRAMES)
def test_rubbish_gets_an_answer_to_each_frame_and_leaves_nothing(
    frames: int, serve: Serve, shop: Untouched, caplog: pytest.LogCaptureFixture
) -> None:
    rubbish = Rubbish(SEED, [verb.name for verb in VERBS])
    server = serve(shop, limits=PATIENT)
    with RawClient(server.path) as good:
        good.reply()
        warm = play(server, rubbish, good)
        threads, blocks = set(threading.enumerate()), sys.getallocatedblocks()
        sent = warm
        while sent < frames:
            sent += play(server, rubbish, good)
        gc.collect()
        grown = sys.getallocatedblocks() - blocks

    assert set(threading.enumerate()) <= threads
    assert grown < GROWTH, f"{grown} blocks more after {sent} frames"
    worse = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert worse == [], "a frame that happens to ask for a drain may have one"


PARAMETERS = ("path", "limit", "timeout", "state", "stack", "mailbox", "count")
"""Names that verbs take, or may take one day."""


@pytest.mark.parametrize("verb", list(VERBS), ids=lambda verb: verb.name)
def test_a_verb_takes_no_parameter_of_any_other_type(verb: Verb, serve: Serve, shop: Untouched) -> None:
    """Nothing but an error of ours comes of it: not one of Python's own, from some place inside."""
    odd = [(name, rogue) for name in PARAMETERS for rogue in (*ROGUES, *PATHS)]
    server = serve(shop, limits=PATIENT)
    path = "shop" if verb.right == "read" else "shop/none"
    sent = [request(verb.name, number, **{"path": path, name: value}) for number, (name, value) in enumerate(odd)]

    _, *replies = answers(server, sent)

    assert [reply["id"] for reply in replies] == list(range(len(odd)))
    assert [text for text in errors_of(replies) if "failed inside the program" in text] == []


def play(server: ControlServer, rubbish: Rubbish, good: RawClient) -> int:
    """One batch of frames on a few dozen connections; afterwards the good client is served as ever."""
    left = BATCH
    while left > 0:
        frames = rubbish.frames(rubbish.chance.randrange(1, 6))
        left -= len(frames)
        data = b"".join(frames)
        hello, *replies = answers(server, pieces_of(data, rubbish.chance))
        assert hello["name"] == "shop"
        assert len(replies) == answers_due(data, PATIENT), (data[:2_000], replies)
        for text in errors_of(replies):
            assert text.isprintable()
            assert len(text) <= 2_000
            assert "failed inside the program" not in text, (data[:2_000], text)
    good.send(request("tree", left))
    assert good.reply()["id"] == left
    assert connections(server) == 1
    gc.collect()
    return BATCH - left


def connections(server: ControlServer) -> int:
    assert server._loop is not None
    return len(server._loop._clients)
