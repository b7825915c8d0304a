"""`Link`: a connection that a test can cut, stall, slow down, and have lie; a proxy on this machine."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Self

from otpy.core.number import is_number
from otpy.core.points import watches
from otpy.core.text import safe_repr
from otpy.testing.errors import FaultError
from otpy.testing.faults.kinds import Severed

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import TracebackType

__all__ = ["Link"]

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: to close the socket resets the connection."""
PATIENCE = 10.0
"""Real seconds for the link's thread to do what it is told; a safety net."""

Way = Literal["request", "reply"]
How = Literal["pass", "cut", "drop", "half"]
Mode = Literal["up", "cut", "stall", "slow", "drop", "lie", "half"]


class Link:
    """Forwards bytes between who connects to `address` and a server, until it is told otherwise.

    It has a thread of its own, and listens on the loopback interface, or on a Unix socket, alone. What it is told holds
    for all its connections, also those that are open, until `heal()`, and is so when the call returns. Each connection,
    each piece of a request and of a reply is a point as well: `NAME.connect`, `NAME.request`, `NAME.reply`, at which a
    `Script` may `cut()`, `drop()`, `half()`, `slow(…)` or `hang()`. A piece is what one read brings: a small message.
    """

    def __init__(
        self, to: tuple[str, int] | str | os.PathLike[str], *, name: str = "link", listen: str | None = None
    ) -> None:
        """Begin to forward; what connects while the server is not there is reset.

        Args:
            to: the server: host and port, or the path of a Unix socket.
            name: what its points begin with.
            listen: the path of a Unix socket to make; a free port of 127.0.0.1 unless given.

        Raises:
            OSError: it cannot listen there.
        """
        self._to, self.name, self._listen = to, name, listen
        self._mode: Mode = "up"
        self._seconds = 0.0
        self._lost: tuple[str, ...] = ()
        self._pairs: set[_Pair] = set()
        self._closing = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._goes_on = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"faults-{name}", daemon=True)
        self._thread.start()
        try:
            self._server = self._do(self._serve())
        except BaseException:
            self._end()
            raise
        self.address: Any = listen or self._server.sockets[0].getsockname()[:2]
        """Where to connect: host and port, or the path."""

    @property
    def mode(self) -> Mode:
        """What it is told to do; `up` is to forward."""
        return self._mode

    @property
    def connections(self) -> int:
        """How many are open now."""
        return len(self._pairs)

    def cut(self) -> None:
        """Reset all connections, and each that comes."""
        self._become("cut")

    def stall(self) -> None:
        """Pass nothing on, and lose nothing: it arrives after `heal()`. New connections are taken, and wait."""
        self._become("stall")

    def slow(self, seconds: float) -> None:
        """Pass each piece on so much later, in real seconds."""
        if not is_number(seconds) or not 0 <= seconds < float("inf"):
            raise FaultError(f"slow({safe_repr(seconds)}): seconds >= 0")
        self._become("slow", seconds=seconds)

    def drop(self, way: Literal["request", "reply", "both"] = "both") -> None:
        """Lose what goes one way, or both; connections stay, and whoever waits for an answer waits in vain."""
        if way not in ("request", "reply", "both"):
            raise FaultError(f"drop({safe_repr(way)}): 'request', 'reply' or 'both'")
        self._become("drop", lost=("request", "reply") if way == "both" else (way,))

    def lie(self) -> None:
        """Let requests through, and reset the connection in the place of the reply: the acknowledgement is lost."""
        self._become("lie")

    def half(self) -> None:
        """Let the first half of a request through, then reset the connection."""
        self._become("half")

    def heal(self) -> None:
        """Forward again."""
        self._become("up")

    def close(self) -> None:
        """Reset all, and listen no longer; a second time does nothing. From any thread."""
        with self._closing:
            if not self._loop.is_closed():
                self._do(self._stop())
                self._end()
                if self._listen is not None:
                    with suppress(FileNotFoundError):
                        os.unlink(self._listen)  # noqa: PTH108 - a text is what it was given

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:  # Any: what it returns
        try:
            told = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            raise FaultError(f"the link {self.name} is closed") from None
        return told.result(PATIENCE)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def _become(self, mode: Mode, *, seconds: float = 0.0, lost: tuple[str, ...] = ()) -> None:
        async def change() -> None:
            self._mode, self._seconds, self._lost = mode, seconds, lost
            if mode == "stall":
                self._goes_on.clear()
            else:
                self._goes_on.set()
            if mode == "cut":
                self._reset_all()

        self._do(change())

    async def _serve(self) -> asyncio.Server:
        self._goes_on.set()
        if self._listen is not None:
            return await asyncio.start_unix_server(self._connected, self._listen)
        return await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def _stop(self) -> None:
        for listener in self._server.sockets:
            self._loop.remove_reader(listener.fileno())
        while others := asyncio.all_tasks() - {asyncio.current_task()}:  # one may be taking a new connection in
            self._reset_all()
            for pair in self._pairs:
                pair.task.cancel()
            await asyncio.wait(others)
        self._server.close()  # last: a closed one fails for what it is taking in

    def _reset_all(self) -> None:
        for pair in list(self._pairs):
            pair.reset()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pair = _Pair(writer)
        self._pairs.add(pair)  # here, for a task that is cancelled before it begins closes nothing

        def end(_: object) -> None:
            self._pairs.discard(pair)
            pair.reset()

        pair.task = self._loop.create_task(self._passed_on(reader, pair))
        pair.task.add_done_callback(end)

    async def _passed_on(self, reader: asyncio.StreamReader, pair: _Pair) -> None:
        with suppress(OSError):  # one of the two has gone, or is not there
            await self._carry(reader, pair)

    async def _carry(self, reader: asyncio.StreamReader, pair: _Pair) -> None:
        """One connection, until both sides have said all, or it is reset."""
        if self._mode == "cut" or await self._meets("connect") != "pass":
            return
        back, server = await self._reached()
        pair.reaches(server)
        ways = [self._pump(reader, server, "request", pair), self._pump(back, pair.client, "reply", pair)]
        tasks = [asyncio.ensure_future(way) for way in ways]
        try:
            await asyncio.gather(*tasks)
            pair.is_ended = True
        finally:
            for task in tasks:
                task.cancel()

    async def _reached(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._to, tuple):
            return await asyncio.open_connection(*self._to)
        return await asyncio.open_unix_connection(self._to)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way, pair: _Pair) -> None:
        while data := await reader.read(CHUNK):
            how = await self._fate(way)
            if how in ("pass", "half"):
                writer.write(data if how == "pass" else data[: len(data) // 2])
                await writer.drain()
            if how == "half":
                await pair.finish(writer)
            if how in ("cut", "half"):
                pair.reset()
                return
        await self._goes_on.wait()
        with suppress(OSError):
            writer.write_eof()

    async def _fate(self, way: Way) -> How:
        """What becomes of a piece: what a script says of it, else what the link was told."""
        how = await self._meets(way)
        await self._goes_on.wait()
        if self._mode == "slow":
            await asyncio.sleep(self._seconds)
        return how if how != "pass" else self._told(way)

    def _told(self, way: Way) -> How:
        mode = self._mode
        if mode == "cut" or (mode == "lie" and way == "reply"):
            return "cut"
        if mode == "drop" and way in self._lost:
            return "drop"
        return "half" if mode == "half" and way == "request" else "pass"

    async def _meets(self, what: str) -> How:
        try:
            for each in watches():
                await each.await_by(f"{self.name}.{what}", "link")
        except Severed as severed:
            return severed.how
        except Exception:  # noqa: BLE001 - whatever is raised there: a link says so by a reset
            return "cut"
        return "pass"


class _Pair:
    """The two sides of a connection."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self._open = [client]
        self.client = client
        self.is_ended = False
        self.task: asyncio.Task[None]
        """Who passes on; kept, for a loop does not keep it."""

    def reaches(self, server: asyncio.StreamWriter) -> None:
        """The other side is there."""
        self._open.append(server)

    async def finish(self, writer: asyncio.StreamWriter) -> None:
        """Close one side after all that it was sent; a reset could take that back."""
        self._open.remove(writer)
        writer.transport.set_write_buffer_limits(0)
        await writer.drain()
        writer.close()

    def reset(self) -> None:
        """End it: by a reset, unless all has been said."""
        for writer in self._open:
            found = writer.get_extra_info("socket")
            with suppress(OSError):
                if not self.is_ended and found.family != socket.AF_UNIX:
                    found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                (writer.close if self.is_ended else writer.transport.abort)()
