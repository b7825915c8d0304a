"""Mistakes that otpy must not get away with: edits of its source, and the tests of which at least one must fail then.

`test_mutations.py` applies them to a copy, one at a time. When a line here is changed in the source, change its row.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MUTATIONS", "Mutation"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mistake."""

    name: str
    """What goes wrong."""
    file: str
    """Below `otpy/`."""
    old: str
    """What stands there, once."""
    new: str
    """What stands there instead."""
    tests: str
    """Below `tests/`, with a blank between two: where it should be caught."""


MUTATIONS = [
    # A message, and its turn.
    Mutation(
        "crash path disabled",
        "runtime/turn.py",
        "        crash(ref, error)\n",
        "        pass\n",
        "runtime/test_crashes.py",
    ),
    Mutation("mailbox reversed", "runtime/turn.py", "= box.popleft()", "= box.pop()", "runtime/test_mailboxes.py"),
    Mutation(
        "message before its bounded mailbox is full refused",
        "runtime/mailbox.py",
        "len(self) < self._limit or",
        "len(self) + 1 < self._limit or",
        "runtime/test_mailboxes.py",
    ),
    Mutation(
        "drop_old drops the new one",
        "runtime/mailbox.py",
        '"drop_new":\n            return message',
        '"drop_new" or self._overflow == "drop_old":\n            return message',
        "runtime/test_mailboxes.py",
    ),
    Mutation(
        "dead letter not told",
        "runtime/mailbox.py",
        "            dead_letter(ref, message, why)\n",
        "            pass",
        "runtime/test_ends.py runtime/test_mailboxes.py runtime/test_names.py",
    ),
    Mutation(
        "resume loses the message that was put back",
        "runtime/turn.py",
        "        ref.mailbox.appendleft(message)\n",
        "        pass\n",
        "runtime/test_races.py",
    ),
    Mutation(
        "turns run in the context of their thread",
        "runtime/pool.py",
        "context.run(turn, item, batch, worker)",
        "turn(item, batch, worker)",
        "runtime/test_contexts.py",
    ),
    # Calls.
    Mutation(
        "caller in a dead mailbox not told",
        "runtime/mailbox.py",
        "            message.fail(reason)\n",
        "            pass\n",
        "runtime/test_replies.py runtime/test_calls.py",
    ),
    Mutation(
        "caller of the message in hand not told",
        "runtime/death.py",
        "        current.fail(ref.reason or NoProc())\n",
        "        pass\n",
        "runtime/test_replies.py runtime/test_calls.py kernel/test_calls.py",
    ),
    Mutation(
        "deferred callers not told",
        "runtime/death.py",
        "        caller.fail(ref.reason or NoProc())\n",
        "        pass\n",
        "runtime/test_decisions.py runtime/test_replies.py",
    ),
    Mutation(
        "circles of callers not seen",
        "runtime/circle.py",
        "    chain: list[Waiter] = [me]\n",
        "    return []\n    chain: list[Waiter] = [me]\n",
        "runtime/test_deadlocks.py",
    ),
    Mutation(
        "deadline on a virtual clock forgotten",
        "runtime/caller.py",
        "    return system.timers.after(timeout, caller.expire, timeout)",
        "    return system.timers.after(timeout, int)",
        "testing/test_virtual_clock.py",
    ),
    Mutation(
        "whoever was answered before it waits counted as resting",
        "runtime/seat.py",
        "        if self.claim:\n            seat.waiting = True\n            if not self.claim:",
        "        if True:\n            seat.waiting = True\n            if False:",
        "testing/test_wait_idle.py",
    ),
    # Ends.
    Mutation(
        "terminate skipped",
        "runtime/turn.py",
        "reason = death.terminate(ref, reason)",
        "pass",
        "runtime/test_ends.py kernel/test_ends.py",
    ),
    Mutation(
        "unlink forgotten",
        "runtime/links.py",
        "        other.links = _without(other.links, one)\n",
        "",
        "runtime/test_links_and_monitors.py kernel/test_links_and_monitors.py",
    ),
    Mutation(
        "demonitor forgotten",
        "runtime/links.py",
        "            del target.monitors[self]\n",
        "            pass\n",
        "runtime/test_links_and_monitors.py kernel/test_links_and_monitors.py",
    ),
    Mutation(
        "monitor fired twice",
        "runtime/death.py",
        "        if not monitor.is_outside:\n            monitor.fire(reason)\n",
        "        if not monitor.is_outside:\n            monitor.fire(reason)\n            monitor.fire(reason)\n",
        "runtime/test_links_and_monitors.py kernel/test_links_and_monitors.py",
    ),
    Mutation(
        "DOWN before the name is free",
        "runtime/death.py",
        "        system.forget(ref)\n",
        "        for monitor in ref.monitors or ():\n            monitor.fire(reason)\n"
        "        ref.monitors = None\n        system.forget(ref)\n",
        "runtime/test_races.py",
    ),
    Mutation(
        "flushed Down delivered",
        "runtime/links.py",
        "return None if down.monitor.muted else actor.on_down(down)",
        "return actor.on_down(down)",
        "runtime/test_links_and_monitors.py kernel/test_links_and_monitors.py",
    ),
    Mutation(
        "trap_exit ignored",
        "runtime/ref.py",
        "return self.actor is not None and bool(self.actor.trap_exit)",
        "return False",
        "runtime/test_exit_signals.py kernel/test_ends.py",
    ),
    Mutation(
        "exit normal kills",
        "runtime/death.py",
        "    elif is_own or not isinstance(reason, Normal):\n",
        "    else:\n",
        "runtime/test_exit_signals.py runtime/test_links_and_monitors.py kernel/test_links_and_monitors.py",
    ),
    Mutation(
        "timers not cancelled at death",
        "runtime/death.py",
        "        timer.cancel()\n",
        "        pass\n",
        "runtime/test_timers.py testing/test_explored_time.py",
    ),
    Mutation(
        "resources not closed",
        "runtime/death.py",
        "    while more is not None and more.resources:\n",
        "    while False:\n",
        "runtime/test_resources.py",
    ),
    Mutation(
        "resources closed in the order of their opening",
        "runtime/death.py",
        "resource = resources.pop()",
        "resource = resources.pop(0)",
        "runtime/test_resources.py",
    ),
    Mutation(
        "fence of zombies off",
        "runtime/seat.py",
        "ref.reason is not None and ref in ref.system.undead:",
        "False:",
        "runtime/test_zombies.py",
    ),
    Mutation(
        "zombie listed for ever",
        "runtime/death.py",
        "        drop_zombie(ref)\n",
        "        pass\n",
        "runtime/test_zombies.py",
    ),
    Mutation(
        "interval makes up for what it missed",
        "runtime/timers.py",
        "self.due = max(self.due + self.period, now + self.period / 2)",
        "self.due = self.due + self.period",
        "runtime/test_timers.py",
    ),
    # Supervisors.
    Mutation(
        "intensity off by one",
        "core/intensity.py",
        "len(stamps) <= window",
        "len(stamps) < window",
        "core/test_intensity.py",
    ),
    Mutation(
        "restart at the edge of the window forgotten",
        "core/intensity.py",
        "bisect_left(stamps, now - window.max_seconds)",
        "bisect_left(stamps, now - window.max_seconds + 1e-9)",
        "core/test_intensity.py",
    ),
    Mutation(
        "stop order reversed",
        "actors/keeper.py",
        "in reversed(self._table.entries()):",
        "in self._table.entries():",
        "actors/test_supervisor_shutdown.py actors/test_supervisor_start_and_stop.py",
    ),
    Mutation(
        "rest_for_one takes the earlier ones",
        "core/strategy.py",
        "children[index:]",
        "children[: index + 1]",
        "core/test_strategy.py",
    ),
    Mutation(
        "group stopped in start order",
        "actors/supervisor.py",
        "        for other in reversed(group):\n",
        "        for other in group:\n",
        "actors/test_supervisor_restarts.py",
    ),
    Mutation(
        "temporary child kept after a group restart",
        "actors/supervisor.py",
        '            if member.spec.options.restart == "temporary":\n                self._table.remove(other)\n',
        "",
        "actors/test_supervisor_restarts.py",
    ),
    Mutation(
        "all_significant ends with the last but one",
        "core/strategy.py",
        "significant_left == 0",
        "significant_left <= 1",
        "core/test_strategy.py",
    ),
    Mutation(
        "significant child that is being restarted not counted",
        "actors/supervisor.py",
        "(e.ref is not None or e.restarting)",
        "e.ref is not None",
        "actors/test_supervisor_ends.py",
    ),
    Mutation(
        "start_timeout ignored by supervisors",
        "actors/keeper.py",
        "timer = None if timeout is None else self.system",
        "timer = None if timeout is not None else self.system",
        "actors/test_supervisor_kills.py",
    ),
    Mutation(
        "start_timeout ignored by the system",
        "runtime/starting.py",
        "timer = self._system.timers.after(timeout, expire_start, ref, timeout)",
        "pass",
        "runtime/test_starts.py runtime/test_handshakes.py",
    ),
    Mutation(
        "max_children off by one",
        "actors/dynamic_supervisor.py",
        ">= self.max_children:",
        "> self.max_children:",
        "actors/test_dynamic_supervisor.py",
    ),
    Mutation(
        "shutdown time ignored",
        "actors/stopping.py",
        "            self.system.timers.after(seconds, _kill_all, refs)\n",
        "            self.system.timers.after(seconds, int)\n",
        "actors/test_supervisor_shutdown.py",
    ),
    Mutation(
        "children of a killed supervisor not waited for",
        "actors/stopping.py",
        "        orphans = _orphans(ref)\n",
        "        orphans: Sequence[Ref[Any]] = ()\n",
        "actors/test_supervisor_kills.py",
    ),
    Mutation(
        "signal of a living child taken for its end",
        "actors/keeper.py",
        "if ended is None:",
        "if False:",
        "actors/test_supervisor_start_and_stop.py",
    ),
    Mutation(
        "stop by hand does not end the attempts to restart",
        "actors/supervisor.py",
        "        entry.restarting = False\n        yield from self.stop_entry(entry)\n",
        "        yield from self.stop_entry(entry)\n",
        "actors/test_supervisor_failing_restarts.py",
    ),
    # A circuit breaker, a retry.
    Mutation(
        "report of another phase heard",
        "resilience/machine.py",
        "if generation != self.generation or outcome == EXCLUDED:",
        "if outcome == EXCLUDED:",
        "resilience/test_breaker_probes.py",
    ),
    Mutation(
        "cool-down not longer after a failed probe",
        "resilience/machine.py",
        "self.reopens + 1 if",
        "0 if",
        "resilience/test_breaker_probes.py",
    ),
    Mutation(
        "success forgets the failures in the window",
        "resilience/machine.py",
        "            self.in_a_row = 0\n            return None",
        "            self.in_a_row = 0\n            self.window.clear()\n            return None",
        "resilience/test_breaker_trips.py",
    ),
    Mutation(
        "rate counts before there are enough calls",
        "resilience/machine.py",
        "if calls < rules.min_calls:",
        "if calls < 1:",
        "resilience/test_breaker_trips.py",
    ),
    Mutation(
        "hanging probe never overdue",
        "resilience/server.py",
        "self.send_after(self._machine.rules.probe_timeout, Overdue(probe))",
        "self.send_after(1e9, Overdue(probe))",
        "resilience/test_breaker_probes.py",
    ),
    Mutation(
        "holder of a probe not watched",
        "resilience/server.py",
        "if watch.monitor is None and probe.holder is not None:",
        "if False:",
        "resilience/test_breaker_probes.py",
    ),
    Mutation(
        "permit of an excluded probe not given back",
        "resilience/server.py",
        "if outcome == EXCLUDED:",
        "if False:",
        "resilience/test_breaker_probes.py",
    ),
    Mutation(
        "killed caller reports",
        "resilience/switch.py",
        "if matters and _is_dead(here().ref):",
        "if False:",
        "resilience/test_breaker_probes.py",
    ),
    Mutation(
        "call in a job takes a permit of its own",
        "resilience/permit.py",
        "if isinstance(ticket, Probe) and ahead in (-1, 0):",
        "if False:",
        "jobs/test_breakers_inside.py",
    ),
    Mutation(
        "job counted beside its calls",
        "resilience/permit.py",
        "if was_open and self._last is not None:",
        "if False:",
        "jobs/test_breakers_inside.py",
    ),
    Mutation(
        "lost permit not looked for",
        "resilience/switch.py",
        "if verdict == 0.0 and now - self._checked_at >= PATIENCE:",
        "if False:",
        "resilience/test_breaker_probes.py",
    ),
    Mutation(
        "pause beyond the deadline made",
        "resilience/attempts.py",
        "now + state.upcoming_sleep > self._begun",
        "now > self._begun",
        "resilience/test_retry.py",
    ),
    Mutation(
        "retry budget without end",
        "resilience/budget.py",
        "if retries + 1 > self._rules.ratio * firsts:",
        "if False:",
        "resilience/test_budget.py",
    ),
]
