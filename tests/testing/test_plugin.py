"""The pytest plugin: its fixtures, and the look after each test whether something was left behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Runner = Callable[[str], pytest.RunResult]

pytest_plugins = ["pytester"]

HEAD = """
import threading
import otpy, pytest

class Server(otpy.GenServer):
    @otpy.call
    def ping(self):
        return "pong"

go = threading.Event()

"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> Runner:
    """Runs a file of tests with the plugin alone, in this process."""

    def runner(body: str) -> pytest.RunResult:
        pytester.makepyfile(HEAD + body)
        return pytester.runpytest_inprocess(
            "-q", "-p", "no:otpy", "-p", "otpy.testing.plugin", "-p", "no:cacheprovider"
        )

    return runner


def test_a_test_that_leaves_nothing_passes(run: Runner) -> None:
    result = run("""
def test_it():
    system = otpy.System("own")
    assert system.start(Server).call(Server.ping) == "pong"
    system.stop()

def test_with_the_program(tmp_path):
    with otpy.run(Server, control_directory=tmp_path / "control") as system:
        system.wait_idle()
""")

    result.assert_outcomes(passed=2)


def test_the_fixtures_stop_what_the_test_started(run: Runner) -> None:
    result = run("""
def test_real(otpy_system):
    assert otpy_system.start(Server).call(Server.ping) == "pong"

def test_virtual(virtual_system):
    virtual_system.start(lambda: otpy.sleep(5.0))
    virtual_system.clock.advance(5.0)
    assert (virtual_system.alive, virtual_system.clock.now()) == (0, 5.0)

def test_fresh(otpy_system, virtual_system):
    assert otpy_system is not virtual_system
    assert otpy_system.alive == virtual_system.alive == 0
""")

    result.assert_outcomes(passed=3)


def test_a_forgotten_system_fails_its_test_and_no_later_one(run: Runner) -> None:
    result = run("""
kept = []

def test_forgets():
    system = otpy.System("forgotten")
    kept.append(system)
    system.start(Server)

def test_next():
    kept[0].stop()
""")

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "left behind by the test:",
            "  system forgotten was not stopped: forgotten/Server",
        ]
    )


def test_a_forgotten_thread_fails_its_test(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otpy.testing.remains.LAST_BREATH", 0.01)
    result = run("""
def test_forgets():
    threading.Thread(target=go.wait, name="otpy-mine", daemon=True).start()

def test_next():
    go.set()
""")

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["left behind by the test:", "  otpy-mine: a thread that runs"])


def test_a_forgotten_control_socket_fails_its_test(run: Runner) -> None:
    result = run("""
from otpy.control.claim import claim_name
kept = []

def test_forgets(tmp_path):
    kept.append(claim_name("shop", tmp_path / "control"))

def test_next():
    kept[0].release()
""")

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["left behind by the test:", "  *control/shop.sock: a name that is held"])


def test_a_system_that_would_not_stop_fails_its_test(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otpy.testing.plugin.STOP", 0.01)
    monkeypatch.setattr("otpy.testing.remains.LAST_BREATH", 0.01)
    result = run("""
class Stuck(otpy.GenServer):
    @otpy.cast
    def hang(self, started):
        started.set()
        go.wait()

def test_hangs(otpy_system):
    started = threading.Event()
    otpy_system.start(Stuck).cast(Stuck.hang, started)
    started.wait()

def test_next():
    go.set()
""")

    assert result.parseoutcomes()["passed"] == 2
    result.stdout.fnmatch_lines(
        [
            "*left behind by the test:",
            "*test/Stuck: was killed, but its code still runs",
            "*the system did not stop:",
            "*test/Stuck did not stop: it is on otpy-* in hang",
        ]
    )


def test_a_system_of_a_wider_fixture_is_left_alone(run: Runner) -> None:
    result = run("""
@pytest.fixture(scope="module")
def shared():
    system = otpy.System("shared")
    yield system
    system.stop()

def test_first(shared):
    shared.start(Server)
    shared.timers.after(60.0, print)

def test_second(shared):
    assert shared.find("shared/Server").call(Server.ping) == "pong"
    shared.start(otpy.child(Server).opts(place="thread", id="threaded"))
""")

    result.assert_outcomes(passed=2)
