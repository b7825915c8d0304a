"""One tree whose actors run in four places, and one that calls them all in the same way.

    python examples/four_places.py

prints:

    order 1: 2 lamps for 84 each, 5 left, invoice "2 X LAMP: 168"
    order 2: 3 lamps for 84 each, 2 left, invoice "3 X LAMP: 252"
    its printer was killed between them, and runs in another process: True
"""

from __future__ import annotations

import asyncio
import os
import sqlite3

import otpy


class Stock(otpy.GenServer):
    place = "thread"  # sqlite3's connections belong to the thread that has made them

    def init(self) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table stock (item text, left_over integer)")
        self.db.execute("insert into stock values ('lamp', 7)")

    @otpy.call
    def take(self, item: str, number: int) -> int:
        text = "update stock set left_over = left_over - ? where item = ? returning left_over"
        return int(self.db.execute(text, (number, item)).fetchone()[0])


class Prices(otpy.GenServer):
    @otpy.call
    async def best(self, item: str) -> int:  # a coroutine function: this actor runs on the event loop
        offers = await asyncio.gather(*(self.ask_dealer(dealer, item) for dealer in (84, 90, 87)))
        return min(offers)

    async def ask_dealer(self, price: int, _: str) -> int:
        await asyncio.sleep(0)  # a real one would wait for the network
        return price


class Printer(otpy.GenServer):
    place = "process"  # a library that takes the interpreter down takes only this one along

    @otpy.call
    def invoice(self, item: str, number: int, price: int) -> tuple[str, int]:
        return f"{number} x {item}: {number * price}".upper(), os.getpid()


STOCK, PRICES = otpy.name(Stock, "stock"), otpy.name(Prices, "prices")
PRINTER = otpy.name(Printer, "printer")


class Orders(otpy.GenServer):
    @otpy.call
    def order(self, item: str, number: int) -> tuple[str, int]:  # in the pool, as most actors are
        price = self.system.ref(PRICES).call(Prices.best, item)
        left = self.system.ref(STOCK).call(Stock.take, item, number)
        text, pid = self.system.ref(PRINTER).call(Printer.invoice, item, number, price)
        return f'{number} {item}s for {price} each, {left} left, invoice "{text}"', pid


class Shop(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Stock).opts(name=STOCK),
            otpy.child(Prices).opts(name=PRICES),
            otpy.child(Printer).opts(name=PRINTER),
            otpy.child(Orders).opts(name="orders"),
        ]


def main() -> None:
    with otpy.run(Shop, name="four_places", control="off") as system:
        orders = system.ref(otpy.name(Orders, "orders"))
        first, _ = orders.call(Orders.order, "lamp", 2)
        print(f"order 1: {first}")
        system.ref(PRINTER).kill()
        system.find("four_places").call(otpy.Supervisor.count_children)  # answered when the replacement is up
        second, pid = orders.call(Orders.order, "lamp", 3)
        print(f"order 2: {second}")
        print(f"its printer was killed between them, and runs in another process: {pid != os.getpid()}")


if __name__ == "__main__":
    main()
