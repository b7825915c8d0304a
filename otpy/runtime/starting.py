"""What a system can be asked to start: actors without a supervisor, its root, and what actors start themselves."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from otpy.core.spec import ChildSpec, child
from otpy.core.spec_check import check_spec
from otpy.errors import StartError
from otpy.runtime.awaited import AwaitedSlot
from otpy.runtime.awaiting import Awaiting
from otpy.runtime.birth import begin, expire_start
from otpy.runtime.death import kill
from otpy.runtime.extras import nobody
from otpy.runtime.seat import here
from otpy.runtime.spawn import actor_class, check_process_options, new_ref, start_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["Starting"]

A = TypeVar("A")
P = ParamSpec("P")
S = TypeVar("S", Awaiting, AwaitedSlot)

FEW = 100
"""Siblings among whom a free id is looked for one by one."""


class Starting:
    """Mixed into `System`; any thread may call these, and waits until `init` is done."""

    @property
    def _system(self) -> System:
        return cast("System", self)

    @overload
    def start(self, start: ChildSpec, /) -> Ref[Any]: ...
    @overload
    def start(self, start: type[A], /, *args: Any, **kwargs: Any) -> Ref[A]: ...
    @overload
    def start(self, start: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> Ref[Any]: ...
    def start(self, start: Callable[..., Any] | ChildSpec, /, *args: Any, **kwargs: Any) -> Ref[Any]:
        """Start an actor without a supervisor, from any thread; returns after its `init`.

        Raises:
            StartError: its `init` failed; the exception says why. Nothing of it is left.
        """
        return self._start(None, start, args, kwargs)

    @overload
    async def astart(self, start: ChildSpec, /) -> Ref[Any]: ...
    @overload
    async def astart(self, start: type[A], /, *args: Any, **kwargs: Any) -> Ref[A]: ...
    @overload
    async def astart(self, start: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> Ref[Any]: ...
    async def astart(self, start: Callable[..., Any] | ChildSpec, /, *args: Any, **kwargs: Any) -> Ref[Any]:
        """As `start`, awaited from a coroutine on any event loop."""
        return await self._astart(None, start, args, kwargs)

    def start_soon(self, spec: ChildSpec) -> Ref[Any]:
        """Start an actor without a supervisor, and wait for nothing; one that does not start has ended."""
        ref, spec = self._prepare(here(), None, spec, (), {}, root=False)
        args, kwargs = start_arguments(ref.actor_class, spec)
        begin(ref, args, kwargs, nobody)
        return ref

    def start_root(self, spec: ChildSpec) -> Ref[Any]:
        """Start the actor whose path is the system's name; the rest of the tree is below it."""
        return self._start(None, spec, (), {}, root=True)

    async def astart_root(self, spec: ChildSpec) -> Ref[Any]:
        """The same, awaited."""
        return await self._astart(None, spec, (), {}, root=True)

    def _beside(self, *, root: bool) -> dict[str, Any]:
        """What stands below the root already: an actor without a supervisor shares the first part of its path."""
        top = None if root else self._system.root
        actor = None if top is None else top.actor  # read once: one that ends lets go of it in its own thread
        table = None if actor is None else actor.otpy_children()
        return {} if table is None else {str(ident): None for ident in table.by_id.copy()}

    def start_linked(
        self, parent: Ref[Any], start: Callable[..., Any] | ChildSpec, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Ref[Any]:
        """Start an actor linked to the one that asks; called in its turn."""
        return self._start(parent, start, args, kwargs)

    async def astart_linked(
        self, parent: Ref[Any], start: Callable[..., Any] | ChildSpec, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Ref[Any]:
        """The same, awaited."""
        return await self._astart(parent, start, args, kwargs)

    def _start(
        self,
        parent: Ref[Any] | None,
        start: Callable[..., Any] | ChildSpec,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        root: bool = False,
    ) -> Ref[Any]:
        seat = here()
        seat.may_block()
        ref, spec = self._prepare(seat, parent, start, args, kwargs, root=root)
        self._shake_hands(ref, spec, Awaiting(seat, ref, "start"))
        return ref

    async def _astart(
        self,
        parent: Ref[Any] | None,
        start: Callable[..., Any] | ChildSpec,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        root: bool = False,
    ) -> Ref[Any]:
        ref, spec = self._prepare(here(), parent, start, args, kwargs, root=root)
        with self._handshake(ref, spec, AwaitedSlot(ref, "start")) as slot:
            await slot.hold()
        return ref

    def _prepare(
        self,
        seat: Seat,
        parent: Ref[Any] | None,
        start: Callable[..., Any] | ChildSpec,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        root: bool,
    ) -> tuple[Ref[Any], ChildSpec]:
        """A checked control block at its place in the tree, and its spec."""
        seat.fence()
        spec = start if isinstance(start, ChildSpec) else child(start, *args, **kwargs)
        above = self._system.name if parent is None else parent.path
        check_spec(above, spec)
        cls = actor_class(f"{above}/{spec.id}", spec.start, spec.options.place, spec.options.loop)
        check_process_options(f"{above}/{spec.id}", cls, spec)
        siblings = self._system.tops if parent is None else parent.extras().spawned
        with self._system.lock:
            ident = _free_id(spec.id, siblings if parent is not None else siblings | self._beside(root=root))
            ref = new_ref(self._system, cls, spec, ident, parent)
            siblings[ident] = ref
            if root:
                self._system.root = ref
        return ref, spec

    def _shake_hands(self, ref: Ref[Any], spec: ChildSpec, slot: Awaiting) -> None:
        """Have `init` run and wait for its outcome."""
        with self._handshake(ref, spec, slot):
            slot.hold(None)

    @contextmanager
    def _handshake(self, ref: Ref[Any], spec: ChildSpec, slot: S) -> Iterator[S]:
        """Have `init` run; the block waits for its outcome."""
        args, kwargs = start_arguments(ref.actor_class, spec)
        timeout = spec.options.start_timeout
        timer = None
        try:
            begin(ref, args, kwargs, slot.resolve)
            if timeout is not None:
                timer = self._system.timers.after(timeout, expire_start, ref, timeout)
            yield slot
        except BaseException:  # an interrupt may come at any of these steps
            slot.abandon()
            slot.withdraw()
            kill(ref)  # nobody would know of it
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if isinstance(slot.value, StartError):
            raise slot.value


def _free_id(wanted: str, taken: dict[str, Any]) -> str:
    """The wanted id, or with a number behind it."""
    if wanted not in taken:
        return wanted
    number = 2 if len(taken) < FEW else len(taken) + 1  # of many most have the same name: do not try them all
    while f"{wanted}-{number}" in taken:
        number += 1
    return f"{wanted}-{number}"
