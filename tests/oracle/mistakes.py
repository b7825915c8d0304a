"""Wrong strategies, put in otpy's place on purpose: what the oracle is worth is which of them it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors import keeper, stopping, supervisor
from otpy.actors.children import ChildTable
from otpy.core.intensity import Window, admit
from otpy.core.reason import Shutdown
from otpy.core.strategy import affected, ends_supervisor, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

__all__ = ["MISTAKES"]


def stops_in_start_order(patch: pytest.MonkeyPatch) -> None:
    """A group is stopped from the first to the last."""
    patch.setattr(supervisor, "affected", lambda *args: _Forwards(affected(*args)))


class _Forwards(list[Any]):
    def __reversed__(self) -> Any:
        return iter(self)


def allows_one_restart_more(patch: pytest.MonkeyPatch) -> None:
    """The intensity is off by one."""
    patch.setattr(keeper, "admit", lambda w, *args: admit(Window(w.max_restarts + 1, w.max_seconds), *args))


def allows_one_restart_less(patch: pytest.MonkeyPatch) -> None:
    """The same in the other direction."""
    patch.setattr(keeper, "admit", lambda w, *args: admit(Window(w.max_restarts - 1, w.max_seconds), *args))


def counts_each_of_a_group(patch: pytest.MonkeyPatch) -> None:
    """A restart of a group counts as often as it has members."""

    def start(self: Any, ident: str, entry: Any, original: Any = supervisor.Supervisor.start_entry) -> Any:
        self._stamps[:0] = [0.0] * (entry.starts > 0)
        return (yield from original(self, ident, entry))

    patch.setattr(supervisor.Supervisor, "start_entry", start)


def forgets_stopped_children(patch: pytest.MonkeyPatch) -> None:
    """A restart of a group brings back only those that ran."""
    original = supervisor.Supervisor.stop_group

    def stop(self: Any, ident: str, entry: Any) -> Any:
        ran = [each for each, other in self._table.items() if other.ref is not None or each == ident]
        group = yield from original(self, ident, entry)
        return [pair for pair in group if pair[0] in ran]

    patch.setattr(supervisor.Supervisor, "stop_group", stop)


def restarts_transient_after_shutdown_x(patch: pytest.MonkeyPatch) -> None:
    """`{shutdown, x}` is taken for a failure."""

    def wrong(restart: Any, reason: Any) -> str:
        failed = restart == "transient" and isinstance(reason, Shutdown) and reason.detail == "x"
        return "restart" if failed else verdict(restart, reason)

    patch.setattr(stopping, "verdict", wrong)


def keeps_temporary_in_a_group(patch: pytest.MonkeyPatch) -> None:
    """A temporary child that was stopped with its group comes back."""
    original, remove = supervisor.Supervisor.stop_group, ChildTable.remove

    def stop(self: Any, ident: str, entry: Any) -> Any:
        patch.setattr(ChildTable, "remove", lambda *_: None)
        try:
            return (yield from original(self, ident, entry))
        finally:
            patch.setattr(ChildTable, "remove", remove)

    patch.setattr(supervisor.Supervisor, "stop_group", stop)


def restarts_all_for_rest(patch: pytest.MonkeyPatch) -> None:
    """rest_for_one takes along the one before, too."""

    def wrong(strategy: Any, children: Any, index: int) -> Any:
        return affected(strategy, children, max(0, index - (strategy == "rest_for_one")))

    patch.setattr(supervisor, "affected", wrong)


def ends_with_the_first_significant(patch: pytest.MonkeyPatch) -> None:
    """all_significant is taken for any_significant."""
    patch.setattr(
        supervisor, "ends_supervisor", lambda auto, **_: auto != "never" and ends_supervisor(auto, significant_left=0)
    )


def restarts_who_died_at_the_same_time(patch: pytest.MonkeyPatch) -> None:
    """An exit that a group's restart has absorbed is acted on once more."""
    patch.setattr(ChildTable, "holding", lambda self, ref: self.by_id.get(ref.id))


MISTAKES: list[Callable[[pytest.MonkeyPatch], None]] = [
    stops_in_start_order,
    allows_one_restart_more,
    allows_one_restart_less,
    counts_each_of_a_group,
    forgets_stopped_children,
    restarts_transient_after_shutdown_x,
    keeps_temporary_in_a_group,
    restarts_all_for_rest,
    ends_with_the_first_significant,
    restarts_who_died_at_the_same_time,
]
