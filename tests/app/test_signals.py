"""Programs in processes of their own: signals, forks, and the end of the interpreter."""

from __future__ import annotations

import os
import select
import signal
from typing import TYPE_CHECKING

import pytest

from support.programs import Program

if TYPE_CHECKING:
    from pathlib import Path

TREE = """
    class Child(otpy.GenServer):
        trap_exit = True
        def init(self, name):
            self.name = name
        def terminate(self, reason):
            say("terminated", self.name)

    class Tree(otpy.Supervisor):
        def children(self):
            return [otpy.child(Child, name).opts(id=name) for name in "abc"]
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.report("B59", "jodal/pykka#51")
def test_a_signal_stops_the_tree_in_reverse(tmp_path: Path, number: signal.Signals) -> None:
    source = (
        TREE
        + """
    def ready(system):
        say("ready")
        system.wait()
    with otpy.run(Tree, control_directory=FOLDER) as system:
        ready(system)
    """
    )
    with Program(tmp_path, source) as program:
        assert program.line() == "ready"
        program.send(number)
        code, said, complained = program.end()
    assert (code, said.split("\n"), complained) == (0, ["terminated c", "terminated b", "terminated a"], "")


STUCK = """
    class Stuck(otpy.GenServer):
        trap_exit = True
        @otpy.cast
        def hang(self):
            say("hanging")
            time.sleep(60)
    class Tree(otpy.Supervisor):
        def children(self):
            return [otpy.child(Stuck).opts(name="stuck", shutdown=otpy.INFINITY)]
"""


@pytest.mark.otp_case(233)
@pytest.mark.report("D97", "thejerf/suture#37")
@pytest.mark.report("B59", "jodal/pykka#51")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_did_not_stop_is_reported_and_does_not_keep_the_program(tmp_path: Path, number: signal.Signals) -> None:
    """Path, thread and line; exit code 75."""
    source = (
        STUCK
        + """
    import logging
    logging.basicConfig(level=logging.ERROR)
    class Late(otpy.GenServer):
        def init(self):
            self.system.ref("stuck").cast(Stuck.hang)
    class Both(otpy.Supervisor):
        def children(self):
            return [otpy.child(Tree), otpy.child(Late)]
    sys.exit(otpy.main(Both, control_directory=FOLDER, shutdown=0.2))
    """
    )
    with Program(tmp_path, source) as program:
        assert program.line() == "hanging"
        program.send(number)
        code, _, complained = program.end()
    assert code == 75
    assert "both/Tree/Stuck did not stop: it is on otpy-" in complained


IMPATIENT = (
    STUCK
    + """
    import otpy.app.signals
    otpy.app.signals.GRACE = 0.0
    with otpy.run(Tree, control_directory=FOLDER) as system:
        system.events.attach(lambda event: say(event.phase), otpy.events.DrainPhase)
        system.ref("stuck").cast(Stuck.hang)
        system.wait()
        say("told")
"""
)


@pytest.mark.report("D122", "goodboy/tractor#188", "goodboy/tractor#145")
def test_a_second_signal_has_a_program_drain_no_longer_and_a_third_ends_it_at_once(tmp_path: Path) -> None:
    """Also while the tree is being stopped; a doubled signal is one wish, but here no two are so near."""
    with Program(tmp_path, IMPATIENT) as program:
        assert program.line() == "hanging"
        program.send(signal.SIGTERM)
        assert [program.line(), program.line()] in (["told", "quiesce"], ["quiesce", "told"])
        program.send(signal.SIGINT)
        assert [program.line() for _ in range(3)] == ["drain", "checkpoint", "flush"]
        program.send(signal.SIGTERM)
        code, _, complained = program.end()
    assert code == 137
    assert "tree/Stuck: late in drain: " in complained


def test_a_third_signal_leaves_nothing_of_what_runs_in_processes(tmp_path: Path) -> None:
    """Neither the child, which hears nothing, nor what it has started."""
    (tmp_path / "deaf.py").write_text(
        "import os, subprocess, time\n"
        "import otpy\n"
        "def deaf(path):\n"
        "    other = subprocess.Popen(['sleep', '60'])\n"
        "    with open(path, 'w') as file:\n"
        "        file.write(f'{os.getpid()} {other.pid}\\n')\n"
        "    with otpy.in_flight():\n"
        "        time.sleep(60)\n"
    )
    source = """
    sys.path.insert(0, str(FOLDER))
    import deaf, otpy.app.signals
    otpy.app.signals.GRACE = 0.0
    os.mkfifo(FOLDER / "pids")
    if __name__ == "__main__":
        spec = otpy.child(deaf.deaf, str(FOLDER / "pids")).opts(place="process", shutdown=otpy.INFINITY)
        with otpy.run(spec, control="off") as system:
            system.events.attach(lambda event: say(event.phase), otpy.events.DrainPhase)
            say((FOLDER / "pids").read_text())
            system.wait()
            say("told")
    """
    with Program(tmp_path, source) as program:
        fds = [os.pidfd_open(int(word)) for word in program.line().split()]
        assert program.line() == ""
        program.send(signal.SIGTERM)
        assert "told" in iter(program.line, None)
        program.send(signal.SIGTERM)
        assert "flush" in iter(program.line, None)
        program.send(signal.SIGTERM)
        code, _, _ = program.end()
    assert code == 137
    for fd in fds:
        assert select.select([fd], [], [], 10.0)[0] == [fd]
        os.close(fd)


def test_sigquit_shows_where_all_threads_are_and_has_a_program_drain_no_longer(tmp_path: Path) -> None:
    with Program(tmp_path, IMPATIENT.replace("STUCK", "").replace("otpy.INFINITY", "0.1")) as program:
        assert program.line() == "hanging"
        program.send(signal.SIGQUIT)
        code, _, complained = program.end()
    assert code == 0
    assert "Thread 0x" in complained
    assert "in hang" in complained


def test_a_signal_while_an_init_hangs_ends_the_start_in_time(tmp_path: Path) -> None:
    source = """
    import logging
    logging.disable(logging.CRITICAL)
    class Hanging(otpy.GenServer):
        def init(self):
            say("hanging")
            time.sleep(60)
    class Tree(otpy.Supervisor):
        def children(self):
            return [otpy.child(Hanging)]
    sys.exit(otpy.main(Tree, control_directory=FOLDER, shutdown=0.2))
    """
    with Program(tmp_path, source) as program:
        assert program.line() == "hanging"
        program.send(signal.SIGTERM)
        code, _, complained = program.end()
    assert (code, complained) == (70, "")


def test_a_signal_before_anybody_waits_is_not_lost(tmp_path: Path) -> None:
    source = (
        TREE
        + """
    with otpy.run(Tree, control_directory=FOLDER) as system:
        os.kill(os.getpid(), signal.SIGTERM)
        say("still here")
        system.wait()
    """
    )
    with Program(tmp_path, source) as program:
        code, said, complained = program.end()
    assert (code, said.split("\n")[0], complained) == (0, "still here", "")


@pytest.mark.report("D103", "akkadotnet/akka.net#3815")
def test_a_system_stopped_by_a_signal_handler_does_not_deadlock(tmp_path: Path) -> None:
    source = (
        TREE
        + """
    system = otpy.System("t")
    system.start(Tree)
    signal.signal(signal.SIGTERM, lambda *_: say("left", len(system.stop())))
    say("ready")
    for _ in range(200):
        time.sleep(0.05)
        if system.alive == 0:
            break
    """
    )
    with Program(tmp_path, source) as program:
        assert program.line() == "ready"
        program.send(signal.SIGTERM)
        code, said, complained = program.end()
    assert (code, said.split("\n")[-1], complained) == (0, "left 0", "")


@pytest.mark.report("D103", "akkadotnet/akka.net#3815")
@pytest.mark.report("D134", "python/cpython#113964", "python/cpython#87950")
def test_a_system_stopped_at_exit_does_not_deadlock(tmp_path: Path) -> None:
    """No traceback, exit 0, although the interpreter gives out no threads any more."""
    source = (
        TREE
        + """
    import atexit
    system = otpy.System("t")
    system.start(Tree)
    atexit.register(lambda: say("left", len(system.stop())))
    """
    )
    with Program(tmp_path, source) as program:
        code, said, complained = program.end()
    assert (code, said.split("\n")[-1], complained) == (0, "left 0", "")
    assert said.split("\n")[:3] == ["terminated c", "terminated b", "terminated a"]


def test_a_program_that_leaves_its_block_by_sys_exit_stops_its_tree(tmp_path: Path) -> None:
    source = (
        TREE
        + """
    with otpy.run(Tree, control_directory=FOLDER) as system:
        sys.exit(3)
    """
    )
    with Program(tmp_path, source) as program:
        code, said, complained = program.end()
    assert (code, said.split("\n"), complained) == (3, ["terminated c", "terminated b", "terminated a"], "")


@pytest.mark.otp_case(233)
def test_a_program_that_ends_stops_its_tree_in_reverse_around_a_stuck_actor(tmp_path: Path) -> None:
    source = (
        TREE
        + """
    inside = threading.Event()
    class Stuck(otpy.GenServer):
        @otpy.cast
        def hang(self):
            inside.set()
            time.sleep(60)
    class Around(otpy.Supervisor):
        def children(self):
            a, b, c = Tree.children(self)
            return [a, b, otpy.child(Stuck).opts(name="stuck", shutdown=0.1), c]
    with otpy.run(Around, control_directory=FOLDER, shutdown=2.0) as system:
        system.ref("stuck").cast(Stuck.hang)
        inside.wait()
    """
    )
    with Program(tmp_path, source) as program:
        code, said, _ = program.end()
    assert (code, said.split("\n")) == (0, ["terminated c", "terminated b", "terminated a"])


@pytest.mark.otp_case(233)
@pytest.mark.parametrize(
    "hang", ["time.sleep(60)", "exec('while True: pass')", "threading.Lock().__enter__() or l.acquire()"]
)
def test_the_interpreter_ends_although_an_actor_is_stuck(tmp_path: Path, hang: str) -> None:
    """An unsupervised one, in a system nobody stopped."""
    source = f"""
    l = threading.Lock(); l.acquire()
    class Stuck(otpy.GenServer):
        @otpy.cast
        def hang(self):
            say("hanging")
            {hang}
    system = otpy.System("t")
    for place in ("pool", "thread"):
        system.start(otpy.child(Stuck).opts(place=place)).cast(Stuck.hang)
    while system.counts()["run_queue"]:
        time.sleep(0.01)
    """
    with Program(tmp_path, source) as program:
        code, said, complained = program.end()
    assert (code, complained) == (0, "")
    assert "hanging" in said


@pytest.mark.report("B49", "jodal/pykka#187")
def test_a_crash_is_printed_though_logging_is_not_configured(tmp_path: Path) -> None:
    source = """
    class Failing(otpy.GenServer):
        def handle_info(self, message):
            raise ValueError(message)
    system = otpy.System("t")
    ref = system.start(Failing)
    monitor = ref.monitor()
    ref.tell("dreadful")
    monitor.wait()
    system.stop()
    """
    with Program(tmp_path, source) as program:
        code, _, complained = program.end()
    assert code == 0
    assert "t/Failing (Failing) crashed during info 'dreadful': ValueError: dreadful" in complained


FORKING = (
    TREE
    + """
    import warnings
    warnings.simplefilter("ignore", DeprecationWarning)
    with otpy.run(Tree, control_directory=FOLDER) as system:
        sockets = lambda: sorted(os.path.join(p, f) for p, _, fs in os.walk(FOLDER) for f in fs)
        before = sockets()
        pid = os.fork()
        if pid == 0:
            %s
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        say(status, before == sockets() != [], system.find("tree/a").is_alive())
"""
)


@pytest.mark.parametrize(
    ("child", "status"),
    [("os._exit(5)", 5), ("sys.exit(6)", 6), ("raise SystemExit(0)", 0), ("system.stop(); sys.exit(7)", 7)],
)
def test_a_forked_child_ends_without_touching_its_parents_program(tmp_path: Path, child: str, status: int) -> None:
    """It runs the end of the block and the handlers at exit, too."""
    with Program(tmp_path, FORKING % child) as program:
        code, said, complained = program.end()
    assert complained == ""
    assert code == 0
    assert said.split("\n") == [f"{status} True True", "terminated c", "terminated b", "terminated a"]


def test_a_signal_ends_a_forked_child_as_any_process(tmp_path: Path) -> None:
    """The parent's handler is not the child's."""
    with Program(tmp_path, FORKING % "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)") as program:
        code, said, complained = program.end()
    assert (code, complained) == (0, "")
    assert said.split("\n")[0] == "-15 True True"


@pytest.mark.report("B59", "jodal/pykka#51")
def test_ctrl_c_in_a_call_of_a_plain_program_is_a_keyboard_interrupt(tmp_path: Path) -> None:
    """With a system of one's own: Python's own handling of Ctrl-C works."""
    source = """
    class Slow(otpy.GenServer):
        @otpy.call
        def slow(self):
            say("waiting")
            otpy.sleep(60)
        @otpy.call
        def quick(self):
            return "works on"
    def once(*_):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt
    signal.signal(signal.SIGINT, once)
    system = otpy.System("t")
    ref, other = system.start(Slow), system.start(Slow)
    try:
        ref.within(None).call(Slow.slow)
    except KeyboardInterrupt:
        say("interrupted")
    say(other.call(Slow.quick))
    ref.kill()
    system.stop()
    """
    with Program(tmp_path, source) as program:
        assert program.line() == "waiting"
        program.send_until_it_speaks(signal.SIGINT)
        assert program.line() == "interrupted"
        code, said, complained = program.end()
    assert (code, said, complained) == (0, "works on", "")
