"""The port actor: what stands in the parent's tree for a child that runs in a process of its own.

What users send goes over the pipe from their own threads. The port itself has turns only for births and deaths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from otpy.core.decision import Fail, Ignore
from otpy.core.reason import Exited, NoConnection, Reason
from otpy.core.text import exception_line
from otpy.errors import SpecError, UncarriableError
from otpy.places.process.bounded import BoundedFarBox
from otpy.places.process.child import Child
from otpy.places.process.far import FarBox, stand_in
from otpy.places.process.far_home import FarHome, HiddenToken
from otpy.places.process.limits import limits_of
from otpy.places.process.origin import Origin, refuse_to_start_again
from otpy.places.process.ports import ports_of
from otpy.places.process.say import Born, Say
from otpy.places.process.view import View
from otpy.runtime.actor import Actor
from otpy.runtime.birth import PENDING, conclude, fail_start, started
from otpy.runtime.death import end

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec, Options
    from otpy.runtime.home import Home
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Port", "box_for", "home_of", "port_for"]


class Port(Actor):
    """Stands for a process child; subclasses are made by `stand_in`, with the requests of the class inside."""

    trap_exit = True
    otpy_winds_up = True
    place: ClassVar[str] = "process"
    inside: ClassVar[type[Actor]]

    def boot(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Have a process started and `init` run in it; done when that says so."""
        ref = self.ref
        origin = Origin.of(self.inside, args, kwargs)
        box = ref.mailbox
        assert isinstance(box, FarBox)  # noqa: S101 - made before it
        assert box.options is not None  # noqa: S101 - made with them
        try:
            child = ports_of(ref.system).start(origin, ref, self._on_born, self._on_end, box.options)
        except (OSError, RuntimeError) as error:
            return Fail(NoConnection(f"no process could be started: {exception_line(error)}"))
        ref.waiting = child  # from here on the death of this actor ends the process, whatever its reason
        if ref.reason is not None:  # set, then looked; a death sets its reason, then interrupts who waits
            child.interrupt()
        parent = None if ref.parent is None else ref.parent.path
        child.line.say(Say.PREPARE, ref.path, parent, list(origin.surroundings))
        ref.system.beyonds[ref] = child.view = View(child)
        terms = _terms(box.options) | {
            "redact": _carried(child, ref.system.redact),
            "state": None if ref.system.states is None else ref.system.states.max_bytes,
        }
        child.line.say(Say.START, self.inside, list(args), kwargs, terms)
        box.open(child.line)
        return PENDING

    def otpy_wind_up(self) -> None:
        """Its `shutdown` time is nearly over: the whole group of the process gets SIGTERM."""
        child = self.ref.waiting
        if isinstance(child, Child):
            child.wind_up()

    def terminate(self, reason: Reason) -> None:
        """Nothing to do here: `terminate` runs inside."""

    @property
    def otpy_inside(self) -> dict[str, object] | None:
        """What the process has told of its actor's crash, for the report."""
        child = self.ref.waiting
        return child.report if isinstance(child, Child) else None

    def _on_born(self, own: Ref[Any], kind: int, reason: Reason | None) -> None:
        """The outcome of `init`, in the port's turn; of one that failed when its process has ended."""
        match kind:
            case Born.STARTED:
                started(own, None)
            case Born.IGNORED:
                conclude(own, Ignore())
            case Born.DECLINED:
                conclude(own, Fail(reason or Exited(0)))
            case _:
                fail_start(own, reason or Exited(0))

    def _on_end(self, own: Ref[Any], reason: Reason) -> None:
        """The process has ended, and all of its group."""
        if own.is_starting():
            fail_start(own, reason)
        else:
            own.current = None  # it is in no message here; what was being handled inside is not known
            end(own, reason)


def _terms(options: Options) -> dict[str, object]:
    """What a child must know of its own spec."""
    return {"max_queue": options.max_queue, "overflow": options.overflow, "limits": limits_of(options)}


def _carried(child: Child, redact: object) -> object:
    """The system's `redact` as the child gets it; True hides all, when it cannot be carried."""
    try:
        child.line.encoder.encode(redact)
    except UncarriableError:
        return True
    return redact


def home_of(system: System, ref: Ref[Any]) -> Home:
    """The home of a port; called where its ref is made. Raises SpecError."""
    if not issubclass(ref.actor_class, Port):
        return system.pool  # a seeded run has one order of turns for all
    ref.tok = HiddenToken()
    return FarHome(system)


def box_for(ref: Ref[Any], options: Options) -> FarBox | None:
    """The mailbox of a port; None where none stands for the child."""
    if not issubclass(ref.actor_class, Port):
        return None
    inside = ref.actor_class.inside
    return FarBox(ref, inside, 0, options) if options.max_queue is None else BoundedFarBox(ref, inside, 0, options)


def port_for(system: System, cls: type[Actor], spec: ChildSpec) -> type[Actor]:
    """The port class for what is to run in a process. Raises SpecError."""
    refuse_to_start_again(spec.id)
    if system.pool.is_seeded:
        return cls
    if cls.is_supervisor and spec.options.max_queue is not None:
        raise SpecError(spec.id, "a supervisor must hear of each of its children: it cannot have a max_queue")
    made: type[Actor] = stand_in(Port, cls)
    return made
