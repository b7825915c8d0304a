"""A laboratory for supervision: workers that do as planned, and a trace of what happened, in the notation of OTP cases.

`+x` child x started, `!x` a start of it failed, `~x` its init said Ignore, `-x(r)` it ended with reason r and its
terminate ran, `✝x` it was killed by the test, `SUP(r)` the watched supervisor ended with reason r.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import otpy
from otpy.core.reason import Exit, FailedChild, Reason, RestartLimit, Shutdown
from otpy.runtime.links import Monitor, watch
from otpy.testing.clock import VirtualClock
from otpy.testing.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Asker", "Lab", "Parent", "Worker", "dynamic", "ids", "short", "started", "states", "tree"]

T = TypeVar("T", bound=otpy.Supervisor)

BOOM = Exit("boom")


class Lab:
    """One system on virtual time, and what its workers did."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.system = otpy.System("lab", clock=self.clock)
        self.refs: dict[str, otpy.Ref[Worker]] = {}
        self.starts: dict[str, int] = {}
        self.gates: list[Gate] = []
        self._notes: list[str] = []
        self._taken = 0

    # Building trees.

    def worker(self, id: str, plan: str = "+", *, traps: bool = True, at_start: Any = None, at_stop: Any = None) -> Any:
        """The spec of a worker.

        Args:
            id: its id.
            plan: what its starts do, one letter each: `+` goes well, `!` fails, `~` says Ignore, `*` as the one before
                for ever; after its end they go well.
            traps: whether it traps exits; without that it ends without a trace.
            at_start: called with the number of the start, from 1, before its init does anything.
            at_stop: called in its terminate, before it leaves its trace.
        """
        return otpy.child(Worker, self, id, plan, traps=traps, at_start=at_start, at_stop=at_stop).opts(id=id)

    def workers(self, letters: str) -> list[otpy.ChildSpec]:
        """One ordinary worker for each letter."""
        return [self.worker(letter) for letter in letters]

    def gate(self) -> Gate:
        """A gate that is open at the end of the test."""
        self.gates.append(Gate())
        return self.gates[-1]

    # Acting.

    def start(self, tree: Any, *args: Any) -> otpy.Ref[Any]:
        """Start a supervisor without a parent, and note its end."""
        sup = self.system.start(tree, *args)
        self.note_end(sup)
        return sup

    def start_under_parent(self, tree: otpy.ChildSpec) -> tuple[otpy.Ref[Parent], otpy.Ref[Any]]:
        """Start a supervisor linked to a parent that traps exits, and note its end."""
        parent = self.system.start(Parent)
        sup = parent.call(Parent.start_child, tree)
        self.note_end(sup)
        return parent, sup

    def note_end(self, sup: otpy.Ref[Any], word: str = "SUP") -> None:
        """Note `SUP(reason)` when it ends."""
        watch(_EndNote(self, sup, word))

    def note(self, text: str) -> None:
        """Add to the trace."""
        self._notes.append(text)

    def kill(self, *idents: str) -> None:
        """Kill workers, noting it, one after another."""
        for ident in idents:
            self.note(f"✝{ident}")
            self.refs[ident].kill()

    def end(self, ident: str, reason: Reason = BOOM) -> None:
        """Have a worker end by itself; its trace says `-x(reason)`."""
        self.refs[ident].cast(Worker.end, reason)

    def settle(self) -> None:
        """Wait until nobody has anything to do."""
        self.system.wait_idle()

    # Looking.

    def trace(self) -> str:
        """What was noted since the last look, after everything has come to rest."""
        self.settle()
        return self.trace_now()

    def trace_now(self) -> str:
        """The same at once."""
        new = self._notes[self._taken :]
        self._taken += len(new)
        return " ".join(new)

    def close(self) -> None:
        """Stop everything."""
        for gate in self.gates:
            gate.open()
        assert self.system.stop(timeout=30.0) == []


class _EndNote(Monitor):
    """Notes the end of a supervisor in the moment of its death."""

    __slots__ = ("lab", "word")

    def __init__(self, lab: Lab, sup: otpy.Ref[Any], word: str) -> None:
        super().__init__(sup, sup, None)
        self.lab = lab
        self.word = word

    def fire(self, reason: Reason) -> None:
        self.lab.note(f"{self.word}({short(reason)})")


class Worker(otpy.GenServer):
    """Does as planned and leaves its trace."""

    def init(
        self,
        lab: Lab,
        ident: str,
        plan: str = "+",
        *,
        traps: bool = True,
        at_start: Callable[[int], object] | None = None,
        at_stop: Callable[[], object] | None = None,
    ) -> object:
        self.trap_exit = traps
        self.lab, self.ident, self.at_stop = lab, ident, at_stop
        number = lab.starts[ident] = lab.starts.get(ident, 0) + 1
        if at_start is not None:
            at_start(number)
        outcome = _planned(plan, number)
        lab.note(f"{outcome}{ident}")
        if outcome == "!":
            return otpy.Stop(BOOM)
        if outcome == "~":
            return otpy.Ignore()
        lab.refs[ident] = self.ref
        return None

    def terminate(self, reason: Reason) -> None:
        if self.at_stop is not None:
            self.at_stop()
        self.lab.note(f"-{self.ident}({short(reason)})")

    @otpy.cast
    def end(self, reason: Reason) -> object:
        return otpy.Stop(reason)

    @otpy.cast
    def crash(self, error: BaseException) -> None:
        raise error

    @otpy.cast
    def do(self, work: Callable[[], object]) -> None:
        work()

    @otpy.call
    def ask_to_do(self, work: Callable[[Worker], object]) -> object:
        return work(self)

    def handle_info(self, message: object) -> None:
        """Expect nothing, mind nothing."""


class Asker(otpy.GenServer):
    """Asks a supervisor, one request at a time, and keeps the answers, errors included."""

    def init(self, sup: otpy.Ref[Any], answers: list[Any]) -> None:
        self.sup, self.answers = sup, answers

    @otpy.cast
    def ask(self, request: Any, args: tuple[Any, ...]) -> None:
        try:
            self.answers.append(self.sup.within(None).call(request, *args))
        except otpy.OtpyError as error:
            self.answers.append(error)


class Parent(otpy.GenServer):
    """Starts one supervisor linked to itself, and outlives it."""

    trap_exit = True

    def init(self) -> None:
        self.child: otpy.Ref[Any] | None = None

    @otpy.call
    def start_child(self, tree: otpy.ChildSpec) -> otpy.Ref[Any]:
        self.child = self.spawn_link(tree)
        return self.child

    @otpy.cast
    def send_exit(self, reason: Reason) -> None:
        assert self.child is not None
        self.child.exit(reason)

    def handle_info(self, message: object) -> None:
        """Its child's exit."""


def _planned(plan: str, number: int) -> str:
    if plan.endswith("*"):
        return plan[min(number - 1, len(plan) - 2)]
    return plan[number - 1] if number <= len(plan) else "+"


def tree(*specs: otpy.ChildSpec, id: str = "top", base: type[T] = otpy.Supervisor, **flags: Any) -> otpy.ChildSpec:
    """The spec of a supervisor with these children: one_for_one, 5 restarts in 10 s unless flags say otherwise."""
    body = {"max_restarts": 5, "max_seconds": 10.0, **flags, "children": lambda _: list(specs)}
    return otpy.child(type(id.title(), (base,), body)).opts(id=id)


def started(lab: Lab, *specs: otpy.ChildSpec, **flags: Any) -> otpy.Ref[Any]:
    """The supervisor of a `tree` that is up; what its start did is out of the trace."""
    sup = lab.start(tree(*specs, **flags))
    lab.trace()
    return sup


def dynamic(lab: Lab, start: Any = None, *args: Any, **options: Any) -> otpy.Ref[Any]:
    """A dynamic supervisor `dyn`, as `otpy.dynamic` declares it, whose end is traced."""
    ref = lab.system.start(otpy.dynamic(start, *args, **options).opts(id="dyn"))
    lab.note_end(ref)
    return ref


def short(reason: Reason) -> str:
    """A reason as in the traces: `boom`, `shutdown` also for the details otpy itself adds."""
    match reason:
        case Exit(term=term):
            return str(term)
        case Shutdown(detail=RestartLimit() | FailedChild()):
            return "shutdown"
    return str(reason)


def ids(sup: otpy.Ref[Any]) -> str:
    """The ids of which_children, as it lists them: the last started first."""
    return " ".join(info.id for info in sup.call(otpy.Supervisor.which_children))


def states(sup: otpy.Ref[Any]) -> dict[str, str]:
    """The state of each child, first started first."""
    return {info.id: info.state for info in reversed(sup.call(otpy.Supervisor.which_children))}
