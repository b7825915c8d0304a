"""Programs of asyncio with a tree inside, in processes of their own: signals, and ways to end that nobody wanted."""

from __future__ import annotations

import signal
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from otpy.control.client import connect_to
from support.programs import Program

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.any_python

TREE = """
    import asyncio, logging
    class Child(otpy.GenServer):
        trap_exit = True
        async def init(self, name):
            self.name = name
        @otpy.cast
        async def hang(self):
            say("hanging")
            await asyncio.Event().wait()
        async def terminate(self, reason):
            await asyncio.sleep(0)
            say("terminated", self.name)

    class Tree(otpy.Supervisor):
        def children(self):
            return [otpy.child(Child, name).opts(id=name, name=name, shutdown=otpy.INFINITY) for name in "abc"]
"""
MAIN = """
    async def main():
        async with otpy.run_async(Tree, control_directory=FOLDER) as system:
            %s
        say("left")
    %s
"""
RUNNERS = {
    "run": "asyncio.run(main())",
    "runner": "with asyncio.Runner() as runner: runner.run(main())",
    "loop": "loop = asyncio.new_event_loop(); loop.run_until_complete(main()); loop.close()",
    "uvloop": "import uvloop; uvloop.run(main())",
}
WITHOUT_UVLOOP = [pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is an extra")]
ORDERED = ["terminated c", "terminated b", "terminated a"]
ALL = pytest.mark.parametrize(
    "runner", [pytest.param(name, marks=WITHOUT_UVLOOP * (name == "uvloop")) for name in RUNNERS]
)
BOTH = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


@BOTH
@ALL
def test_a_signal_ends_the_wait_and_the_tree_stops_in_reverse(
    tmp_path: Path, number: signal.Signals, runner: str
) -> None:
    body = "say('ready'); say(await system.await_end())"
    with Program(tmp_path, TREE + MAIN % (body, RUNNERS[runner])) as program:
        assert program.line() == "ready"
        program.send(number)
        code, said, complained = program.end()
    assert (code, said.split("\n"), complained) == (0, ["None", *ORDERED, "left"], "")


@BOTH
@pytest.mark.parametrize("runner", ["run", pytest.param("uvloop", marks=WITHOUT_UVLOOP)])
def test_a_third_signal_ends_the_program_at_once(tmp_path: Path, number: signal.Signals, runner: str) -> None:
    """Also while the tree is being stopped, and when something blocks the loop."""
    body = """
            sys.modules["otpy.app.signals"].GRACE = 0.0
            system.ref("b").cast(Child.hang)
            await system.await_end()
            system.events.attach(lambda event: say(event.phase), otpy.events.DrainPhase)
            say("told")
            for _ in range(1_000):  # CPython overlooks a signal that comes as its main thread falls asleep
                time.sleep(0.05)
    """
    with Program(tmp_path, TREE + MAIN % (body, RUNNERS[runner])) as program:
        assert program.line() == "hanging"
        program.send(number)
        assert "told" in iter(program.line, "")  # the drain goes on meanwhile, and may say something first
        program.send(number)
        assert "flush" in iter(program.line, "")
        program.send(number)
        code, said, complained = program.end()
    assert code == 137
    assert "terminated" not in said
    assert "late in drain" in complained


def test_a_body_that_never_waits_is_cancelled_by_sigint_as_asyncio_does_it(tmp_path: Path) -> None:
    """The tree stops first; what comes out at the end is a KeyboardInterrupt."""
    body = "say('ready'); await asyncio.sleep(60)"
    with Program(tmp_path, TREE + MAIN % (body, RUNNERS["run"])) as program:
        assert program.line() == "ready"
        program.send(signal.SIGINT)
        code, said, complained = program.end()
    assert (code, said.split("\n"), complained.split("\n")[-1]) == (-signal.SIGINT, ORDERED, "KeyboardInterrupt")


def test_a_body_that_never_waits_is_cancelled_by_sigterm(tmp_path: Path) -> None:
    body = "say('ready'); await asyncio.sleep(60)"
    with Program(tmp_path, TREE + MAIN % (body, RUNNERS["run"])) as program:
        assert program.line() == "ready"
        program.send(signal.SIGTERM)
        code, said, complained = program.end()
    last = complained.split("\n")[-1]
    assert (code, said.split("\n"), last) == (1, ORDERED, "asyncio.exceptions.CancelledError")


def test_a_signal_before_anybody_waits_is_not_lost(tmp_path: Path) -> None:
    body = "os.kill(os.getpid(), signal.SIGTERM); say('still here'); await system.await_end()"
    with Program(tmp_path, TREE + MAIN % (body, RUNNERS["run"])) as program:
        code, said, complained = program.end()
    assert (code, said.split("\n"), complained) == (0, ["still here", *ORDERED, "left"], "")


def test_a_signal_while_an_init_hangs_ends_the_start_in_time(tmp_path: Path) -> None:
    source = """
    import asyncio, logging
    logging.disable(logging.CRITICAL)
    class Hanging(otpy.GenServer):
        async def init(self):
            say("hanging")
            await asyncio.sleep(60)
    async def main():
        try:
            async with otpy.run_async(Hanging, control_directory=FOLDER, shutdown=0.2):
                say("never")
        except otpy.OtpyError as error:
            say(type(error).__name__)
    asyncio.run(main())
    """
    with Program(tmp_path, source) as program:
        assert program.line() == "hanging"
        program.send(signal.SIGTERM)
        code, said, complained = program.end()
    assert (code, said, complained) == (0, "StartError", "")


def test_signals_are_given_back(tmp_path: Path) -> None:
    source = (
        TREE
        + """
    async def main():
        before = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)]
        async with otpy.run_async(Tree, control="off"):
            async with otpy.run_async(Tree, control="off"):
                pass
            say(before == [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)])
        say(before == [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)])
        say("ready")
        await asyncio.sleep(60)
    asyncio.run(main())
    """
    )
    with Program(tmp_path, source) as program:
        lines = [program.line() for _ in range(9)]
        program.send(signal.SIGINT)
        code, _, complained = program.end()
    assert lines == [*ORDERED, "False", *ORDERED, "True", "ready"]
    assert (code, complained.split("\n")[-1]) == (-signal.SIGINT, "KeyboardInterrupt")


def test_all_systems_of_a_program_are_told(tmp_path: Path) -> None:
    source = (
        TREE
        + """
    async def serve(name):
        async with otpy.run_async(Tree, name=name, control="off") as system:
            say("ready")
            await system.await_end()
    async def main():
        await asyncio.gather(serve("one"), serve("other"))
        say("left")
    asyncio.run(main())
    """
    )
    with Program(tmp_path, source) as program:
        assert [program.line(), program.line()] == ["ready", "ready"]
        program.send(signal.SIGTERM)
        code, said, complained = program.end()
    assert (code, sorted(said.split("\n")), complained) == (0, sorted([*ORDERED, *ORDERED, "left"]), "")


@pytest.mark.parametrize(
    "taking",
    [
        "asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, own)",
        "signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(own))",
    ],
)
def test_a_signal_that_the_program_has_taken_itself_stays_with_it(tmp_path: Path, taking: str) -> None:
    """As a web server does, which leaves the block when it has ended."""
    source = (
        TREE
        + f"""
    async def main():
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        def own():
            say("own")
            told.set()
        {taking}
        async with otpy.run_async(Tree, control="off"):
            say("ready")
            await told.wait()
        told.clear()
        say("again")
        await told.wait()
    asyncio.run(main())
    """
    )
    with Program(tmp_path, source) as program:
        assert program.line() == "ready"
        program.send(signal.SIGTERM)
        assert [program.line() for _ in range(5)] == ["own", *ORDERED, "again"]
        program.send(signal.SIGTERM)
        code, said, complained = program.end()
    assert (code, said, complained) == (0, "own", "")


def test_a_loop_that_is_closed_ends_its_actors_and_nobody_hangs(tmp_path: Path) -> None:
    """Its block was never left, and what is still wanted of them fails at once."""
    source = (
        TREE
        + """
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    loop = asyncio.new_event_loop()
    block = otpy.run_async(Tree, control="off")
    system = loop.run_until_complete(block.__aenter__())
    system.ref("b").cast(Child.hang)
    loop.run_until_complete(asyncio.sleep(0.01))
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False
    loop.close()
    try:
        system.ref("a").within(None).ask("anything")
    except otpy.OtpyError as error:
        say(type(error).__name__)
    """
    )
    with Program(tmp_path, source) as program:
        code, said, complained = program.end()
    assert (code, said) == (0, "hanging\nCallExitError")
    assert "tree/a has ended: RuntimeError: the event loop it ran on was closed" in complained
    assert "tree/b has ended: RuntimeError: the event loop it ran on was closed" in complained
    assert "tree: its `async with otpy.run_async(…)` block was never left" in complained


def test_a_loop_that_only_stopped_keeps_no_program_from_ending(tmp_path: Path) -> None:
    source = (
        TREE
        + """
    import gc, warnings
    logging.disable(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    block = otpy.run_async(Tree, control="off", shutdown=60.0)
    system = loop.run_until_complete(block.__aenter__())
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False
    warnings.simplefilter("ignore", ResourceWarning)
    say("ready")
    """
    )
    with Program(tmp_path, source) as program:
        code, said, _ = program.end()
    assert (code, said) == (0, "ready")


def test_it_is_seen_and_stopped_from_another_terminal(tmp_path: Path) -> None:
    body = "say('ready'); say(await system.await_end())"
    with Program(tmp_path, TREE + MAIN % (body, RUNNERS["run"])) as program:
        assert program.line() == "ready"
        with connect_to("tree", tmp_path) as client:
            shown = client.ask("info", path="tree/b")
            client.ask("stop_system")
        code, said, complained = program.end()
    assert isinstance(shown, dict)
    assert "loop" in str(shown)
    assert (code, said.split("\n"), complained) == (0, ["None", *ORDERED, "left"], "")
