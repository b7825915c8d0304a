"""States of real programs: one that is told to stop leaves them to the next one."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from support.programs import Program
from support.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = f"""
    sys.path.insert(0, {str(ROOT / "tests")!r})
    from support.states import AsyncCounter, Counter
    class Shop(otpy.Supervisor):
        def children(self):
            return [
                otpy.child(Counter).opts(id="counter"),
                otpy.child(AsyncCounter).opts(id="async"),
            ]
    with otpy.run(Shop, control="off", state=FOLDER / "shop.state", shutdown=10.0) as shop:
        counter = shop.find("shop/counter")
        say(*counter.call(Counter.look))
        say(counter.call(Counter.add))
        shop.wait()
"""


def test_a_program_that_ends_in_order_leaves_its_state_to_the_next_one_and_a_killed_one_what_it_began_with(
    tmp_path: Path,
) -> None:
    for count, is_fresh, number in ((0, None, signal.SIGTERM), (1, True, signal.SIGKILL), (1, False, signal.SIGTERM)):
        with Program(tmp_path, SOURCE) as program:
            assert program.line() == f"{count} {is_fresh}"
            assert program.line() == f"{count + 1}"
            program.send(number)
            assert program.end() == (0 if number == signal.SIGTERM else -number, "", "")
