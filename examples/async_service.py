"""A program of asyncio with a tree inside: a server asks supervised actors, all on one event loop but for one.

    python examples/async_service.py

prints:

    hit 1
    hit 2
    sorry: ValueError: bad
    hit 1
    stopped in order
"""

from __future__ import annotations

import asyncio

import otpy
from otpy.errors import CallExitError


class Hits(otpy.GenServer):
    """Runs in the pool, where it may block."""

    def init(self) -> None:
        self.count = 0

    @otpy.call
    def add(self, word: str) -> int:
        if word == "bad":
            raise ValueError(word)
        self.count += 1
        return self.count


class Greeter(otpy.GenServer):
    """Runs on the program's own event loop, so it may share its sessions, queues and locks."""

    async def init(self, lock: asyncio.Lock) -> None:
        self.lock = lock
        self.hits = self.system.ref(HITS).within(5.0, wait_for_name=5.0)

    @otpy.call
    async def greet(self, word: str) -> str:
        async with self.lock:
            try:
                return f"hit {await self.hits.acall(Hits.add, word)}"
            except CallExitError as error:
                return f"sorry: {error.reason}"


class Tree(otpy.Supervisor):
    def init(self, lock: asyncio.Lock) -> None:
        self.lock = lock

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Hits).opts(name=HITS), otpy.child(Greeter, self.lock).opts(name=GREETER)]


HITS = otpy.name(Hits, "hits")
GREETER = otpy.name(Greeter, "greeter")


async def ask(port: int, word: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{word}\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.decode()


async def main() -> None:
    async with otpy.run_async(Tree, asyncio.Lock(), name="service") as system:

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            word = (await reader.readline()).decode().strip()
            writer.write((await system.ref(GREETER).acall(Greeter.greet, word)).encode())
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            for word in ("good", "good", "bad", "good"):
                print(await ask(server.sockets[0].getsockname()[1], word))
            asyncio.get_running_loop().call_later(0.01, system.request_stop)  # as Ctrl-C and `otpy stop service` do
            await system.await_end()
    print("stopped in order")


if __name__ == "__main__":
    asyncio.run(main())
