"""The other end of the control socket: finds the user's running programs and asks them, always within a time."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Self

from otpy.control.claim import holder_pid, is_alive_in, listed_names, socket_file
from otpy.control.directory import opened_directory, search, socket_address
from otpy.control.errors import (
    ControlError,
    DirectoryError,
    GoneError,
    NoAnswerError,
    NoSuchSystemError,
    RefusedError,
    RemoteError,
    VersionError,
    WireError,
)
from otpy.control.peers import ROOT, may_talk, peer_of
from otpy.control.wire import PROTOCOL, FrameReader, decode, encode, otpy_version
from otpy.core.suggest import did_you_mean
from otpy.core.text import visible
from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["HELLO_TIME", "REPLY_TIME", "Client", "Endpoint", "Hello", "connect", "connect_to", "listed"]

HELLO_TIME = 1.0
"""Seconds in which a program says hello: many times what a busy one takes, and less than a call that keeps the lock."""
REPLY_TIME = 10.0
"""Seconds for an answer, unless the one who asks says otherwise."""
MAX_REPLY_BYTES = 64 * 1024 * 1024
"""More than any server sends by its own `Limits`: the client only keeps its own memory safe."""
MAX_REQUEST_BYTES = 64 * 1024
"""As the servers' `Limits.max_request_bytes`."""
MAX_DEPTH = 64
"""Lists and maps within each other in a reply."""
CHUNK = 256 * 1024
"""Bytes read at once."""


@value
class Endpoint:
    """A socket that may be a running program's."""

    name: str
    """The name it stands for."""
    directory: Path
    """Where it lies."""


@value(kw_only=True)
class Hello:
    """What a program says first on every connection."""

    name: str
    """The name it was reached by."""
    pid: int | None
    """Its process, as far as known."""
    rights: str
    """What it allows: `read`, `operate` or `full`."""
    version: str
    """Of otpy there."""


def listed(directory: Path | None = None) -> list[Endpoint]:
    """Every socket of this user, by name, stale ones too; in `directory`, or wherever programs put theirs.

    Raises:
        DirectoryError: the given directory is not safe to use.
    """
    places = search() if directory is None else [directory]
    found = [Endpoint(name, place) for place in places for name in _names(place, strict=directory is not None)]
    return sorted(found, key=lambda endpoint: endpoint.name)


def connect_to(name: str, directory: Path | None = None, *, hello_time: float = HELLO_TIME) -> Client:
    """As `connect`, to the program of this name.

    Raises:
        NoSuchSystemError: no such program runs; the message names those that do.
    """
    endpoints = listed(directory)
    for endpoint in endpoints:
        if endpoint.name == name:
            with suppress(NoSuchSystemError):
                return connect(endpoint, hello_time=hello_time)
    others = [one.name for one in endpoints if is_alive_in(one.directory, one.name)]
    raise _not_running(name, others, directory)


def connect(endpoint: Endpoint, *, hello_time: float = HELLO_TIME) -> Client:
    """A connection on which the program has said hello.

    Raises:
        NoSuchSystemError: the socket is stale.
        NoAnswerError: the program took the connection and said nothing for `hello_time` seconds.
        VersionError: it speaks another protocol.
        RefusedError: it does not serve this client.
        GoneError: it has just ended, or is about to.
    """
    by = time.monotonic() + hello_time
    with opened_directory(endpoint.directory) as descriptor:
        pid = holder_pid(descriptor, endpoint.name)
        address = socket_address(endpoint.directory, descriptor, socket_file(endpoint.name))
        opened = _opened(endpoint.name, address, hello_time, pid)
    try:
        return Client(opened, endpoint.name, pid, by, hello_time)
    except BaseException:
        opened.close()
        raise


class Client:
    """One connection to one program, used by one thread; made by `connect`."""

    def __init__(self, opened: socket.socket, name: str, pid: int | None, by: float, patience: float) -> None:
        self._socket = opened
        self._name = name
        self._reader = FrameReader(MAX_REPLY_BYTES)
        self._numbers = count(1)
        peer = peer_of(opened)
        if os.geteuid() != ROOT and not may_talk(peer, os.geteuid()):
            raise RefusedError(f"the socket {visible(name)} belongs to another user's program")
        self._pid = (peer.pid if peer else None) or pid
        self.hello = self._greeted(self._receive(by, patience))
        """What the program said of itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; what was asked for goes on in the program."""
        self._socket.close()

    def ask(self, verb: str, *, within: float = REPLY_TIME, **params: object) -> object:
        """What the program answers to `verb`, within so many seconds.

        Raises:
            RemoteError: the verb failed there.
            NoAnswerError: no answer in time; a command that was understood goes on.
            GoneError: the program ended meanwhile.
        """
        return self.request(verb, params, within=within)

    def request(self, verb: str, params: Mapping[str, object], *, within: float = REPLY_TIME) -> object:
        """As `ask`, for parameters that may have any name."""
        by = time.monotonic() + within
        number = next(self._numbers)
        request = {"protocol": PROTOCOL, "id": number, "verb": verb, "params": dict(params)}
        self._send(encode(request, max_bytes=MAX_REQUEST_BYTES), within)
        while True:
            reply = self._receive(by, within)
            answered = reply.get("id")
            if answered is None or answered == number:  # an older number: its answer came after we had stopped waiting
                return _result(reply)

    def _greeted(self, hello: dict[object, object]) -> Hello:
        if "refused" in hello:
            kind = GoneError if hello.get("ending") is True else RefusedError
            raise kind(f"{visible(self._name)}: {visible(str(hello['refused']))}")
        version = visible(str(hello.get("version", "?")), 40)
        if hello.get("protocol") != PROTOCOL:
            theirs = visible(str(hello.get("protocol")), 20)
            raise VersionError(visible(self._name), theirs, version, PROTOCOL, otpy_version())
        pid = hello.get("pid")
        self._pid = self._pid or (pid if isinstance(pid, int) else None)
        return Hello(name=self._name, pid=self._pid, rights=visible(str(hello.get("rights")), 40), version=version)

    def _send(self, frame: bytes, seconds: float) -> None:
        self._socket.settimeout(seconds)
        try:
            self._socket.sendall(frame)
        except TimeoutError as error:
            raise NoAnswerError(self._name, self._pid, seconds) from error
        except OSError as error:
            raise self._gone() from error

    def _receive(self, by: float, patience: float) -> dict[object, object]:
        while (frame := self._reader.next_frame()) is None:
            self._reader.feed(self._chunk(by, patience))
        value = decode(frame, max_depth=MAX_DEPTH)
        if not isinstance(value, dict):
            raise WireError(f"{self._name} sent something that is no reply")
        return value

    def _chunk(self, by: float, patience: float) -> bytes:
        left = by - time.monotonic()
        if left <= 0:
            raise NoAnswerError(self._name, self._pid, patience)
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(CHUNK)
        except TimeoutError as error:
            raise NoAnswerError(self._name, self._pid, patience) from error
        except OSError as error:
            raise self._gone() from error
        if not data:
            raise self._gone()
        return data

    def _gone(self) -> GoneError:
        return GoneError(f"{visible(self._name)} has ended, or closed the connection")


def _names(place: Path, *, strict: bool) -> list[str]:
    try:
        with opened_directory(place) as descriptor:
            return listed_names(descriptor)
    except DirectoryError:
        if strict and place.exists():
            raise
        return []


def _opened(name: str, address: str, seconds: float, pid: int | None) -> socket.socket:
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    opened.settimeout(seconds)
    try:
        opened.connect(address)
    except OSError as error:
        opened.close()
        raise _connect_error(error, name, seconds, pid) from error
    return opened


def _connect_error(error: OSError, name: str, seconds: float, pid: int | None) -> ControlError:
    match error:
        case BlockingIOError() | TimeoutError():  # its backlog is full: it takes nobody
            return NoAnswerError(name, pid, seconds)
        case ConnectionError() | FileNotFoundError():
            return NoSuchSystemError(f"no program {visible(name)!r} runs any more: its socket is left over")
    return RefusedError(f"the socket of {visible(name)} cannot be used: {error.strerror}")


def _not_running(name: str, others: Sequence[str], directory: Path | None) -> NoSuchSystemError:
    where = "" if directory is None else f" in {visible(str(directory))}"
    no_other = f", nor any other of yours{where}: otpy run starts one"
    hint = f": {visible(did_you_mean(name, others))}" if others else no_other
    return NoSuchSystemError(f"no program {visible(name)!r} runs{hint}", others)


def _result(reply: dict[object, object]) -> object:
    error = reply.get("error")
    if error is None:
        return reply.get("ok")
    facts = error if isinstance(error, dict) else {}
    raise RemoteError(visible(str(facts.get("kind", "?")), 80), visible(str(facts.get("text", "?")), 2_000))
