"""The catalogue: every metric that there is, with its type, its labels and what it says. Nothing else is exported."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

__all__ = ["CATALOGUE", "FLEET", "Entry", "Type"]

Type: TypeAlias = Literal["counter", "gauge", "histogram"]


class Entry(NamedTuple):
    """One metric."""

    name: str
    """As it is exported, with its unit and with `_total` where it counts."""
    type: Type
    """What it is to Prometheus."""
    labels: tuple[str, ...]
    """Those that it has; their values are bounded."""
    text: str
    """What it says, in one line."""


def _jobs(word: str, text: str) -> Entry:
    return Entry(f"otpy_jobs_{word}_total", "counter", ("engine", "queue", "kind"), text)


def _store(word: str, text: str) -> Entry:
    return Entry(f"otpy_store_{word}_seconds", "histogram", ("engine",), text)


KERNEL = (
    Entry("otpy_info", "gauge", ("system", "version"), "1, for the name of the system and the version of otpy"),
    Entry("otpy_start_time_seconds", "gauge", (), "When the system was made, in seconds since 1970"),
    Entry("otpy_actors", "gauge", (), "Actors that live in this process"),
    Entry("otpy_actors_busy", "gauge", (), "Actors that are in a message now: the work in flight"),
    Entry("otpy_actors_suspended", "gauge", (), "Actors that somebody has suspended"),
    Entry("otpy_in_flight", "gauge", (), "What is inside of blocks of `otpy.in_flight()`"),
    Entry("otpy_process_children", "gauge", (), "Actors that run in a process of their own"),
    Entry("otpy_threads", "gauge", (), "Threads that the system has for its actors"),
    Entry("otpy_run_queue", "gauge", (), "Actors that have something to do and wait for a thread"),
    Entry("otpy_mailbox_messages", "gauge", (), "Messages that wait, of all actors together"),
    Entry("otpy_mailbox_messages_max", "gauge", (), "Messages that wait in the longest mailbox"),
    Entry("otpy_named_mailbox_messages", "gauge", ("name",), "Messages that wait for an actor with a name"),
    Entry("otpy_zombies", "gauge", (), "Killed actors whose code still runs"),
    Entry("otpy_zombies_made_total", "counter", (), "Killed actors whose code went on"),
    Entry("otpy_restarts_total", "counter", (), "Children that were started again"),
    Entry("otpy_crashes_total", "counter", ("kind",), "Actors that ended abnormally, by their class or function"),
    Entry("otpy_start_failures_total", "counter", (), "Children that did not start, or not again"),
    Entry("otpy_restart_limits_total", "counter", (), "Supervisors that gave up, for they reached their limit"),
    Entry("otpy_children_given_up_total", "counter", (), "Children that reached a limit of their own"),
    Entry("otpy_dead_letters_total", "counter", (), "Messages that nobody will handle"),
    Entry("otpy_unknown_messages_total", "counter", (), "Messages that the class of their actor does not handle"),
    Entry("otpy_loop_blocked_total", "counter", (), "Handlers that kept an event loop from all others"),
    Entry("otpy_process_silent_total", "counter", (), "Times that a process child gave no sign of life"),
    Entry("otpy_call_seconds", "histogram", (), "Time of calls, from the request until the caller is woken"),
)

JOBS = (
    _jobs("enqueued", "Jobs that were enqueued through this program, also by cron"),
    _jobs("started", "Attempts that were begun"),
    _jobs("completed", "Jobs that were done"),
    _jobs("failed", "Attempts that failed"),
    _jobs("retried", "Failed attempts after which there is a further one"),
    _jobs("dead", "Jobs that were given up"),
    _jobs("cancelled", "Attempts that ended because their job was cancelled, or said so"),
    _jobs("rescued", "Jobs that were taken back from a program that was not heard of"),
    _jobs("released", "Jobs that were given back, at the cost of no attempt"),
    _jobs("snoozed", "Attempts that put themselves off, at no cost"),
    Entry(
        "otpy_job_wait_seconds", "histogram", ("engine", "queue", "kind"), "How long jobs waited after they were due"
    ),
    Entry("otpy_job_run_seconds", "histogram", ("engine", "queue", "kind"), "Time of attempts, however they ended"),
    Entry("otpy_queue_depth", "gauge", ("engine", "queue", "state"), "Jobs that have not ended well, by state"),
    Entry("otpy_oldest_ready_age_seconds", "gauge", ("engine", "queue"), "How long the first ready job has waited"),
    Entry("otpy_lease_renew_failures_total", "counter", ("engine",), "Renewals of leases that the store has failed"),
    Entry("otpy_leases_lost_total", "counter", ("engine",), "Attempts that were stopped, for their lease was over"),
    Entry("otpy_stale_writes_total", "counter", ("engine",), "Writes about attempts that were over: refused"),
    Entry("otpy_autoscale_desired", "gauge", ("engine", "crew"), "Agents that a crew shall have"),
    Entry("otpy_autoscale_actual", "gauge", ("engine", "crew"), "Agents that it has"),
    Entry("otpy_store_ready", "gauge", ("engine",), "Whether the store keeps what it is given"),
    _store("commit", "Time of transactions of the writer, tries that failed included"),
    _store("look", "Time in which the writer looked whether anything is new"),
    _store("loan", "Time for which a job had the writer for statements of its own"),
    Entry("otpy_store_busy_total", "counter", ("engine",), "Transactions that met somebody else's lock"),
    Entry("otpy_store_failures_total", "counter", ("engine",), "Times that the store began to keep nothing"),
    Entry("otpy_leader", "gauge", ("name",), "Whether this program leads, or holds a name that exists once"),
    Entry("otpy_leader_epoch", "gauge", ("name",), "The last epoch under which it did"),
    Entry("otpy_leader_transitions_total", "counter", ("name",), "Times that this program began or ceased to do so"),
)

RESILIENCE = (
    Entry("otpy_breaker_state", "gauge", ("breaker", "state"), "1 for the state that the breaker is in, 0 for others"),
    Entry("otpy_breaker_transitions_total", "counter", ("breaker", "state"), "Changes to this state"),
    Entry("otpy_breaker_rejected_total", "counter", ("breaker",), "Calls that were refused"),
    Entry("otpy_edge_queue_depth", "gauge", ("outbox",), "Rows that wait in an outbox"),
    Entry("otpy_edge_queue_bytes", "gauge", ("outbox",), "What their payloads have together"),
    Entry("otpy_edge_queue_age_seconds", "gauge", ("outbox",), "Since when the oldest of them waits"),
    Entry("otpy_edge_sent_total", "counter", ("outbox",), "Rows that a receiver has taken"),
    Entry("otpy_edge_dropped_total", "counter", ("outbox", "why"), "Rows that were dropped"),
    Entry("otpy_edge_degraded", "gauge", ("outbox",), "Whether the first sender does not deliver"),
    Entry("otpy_config_age_seconds", "gauge", ("configuration",), "Since when nobody has said that it is current"),
    Entry("otpy_config_version", "gauge", ("configuration",), "The version in use"),
    Entry("otpy_config_degraded", "gauge", ("configuration",), "Whether it is too old, or the hub does not give it"),
    Entry("otpy_autonomy_state", "gauge", ("autonomy", "state"), "1 for the state that it is in, 0 for others"),
)

HUB = (
    Entry("otpy_fleet_agents", "gauge", ("fleet", "state"), "Agents of a `FleetView`, each in one state"),
    Entry("otpy_fleet_share", "gauge", ("fleet",), "The part of them that is alive, of those that should be"),
    Entry("otpy_fleet_storm", "gauge", ("fleet",), "Whether more agents arrive than should"),
    Entry("otpy_fleet_beats_total", "counter", ("fleet",), "Heartbeats that were taken"),
    Entry("otpy_fleet_beats_passed_over_total", "counter", ("fleet", "why"), "Heartbeats that were not"),
)

DRAINS = (
    Entry("otpy_drain_started_total", "counter", ("reason",), "Drains, by who told the program to stop"),
    Entry("otpy_drain_in_progress", "gauge", (), "Drains that go on: of the program, or of parts of it"),
    Entry("otpy_drain_seconds", "histogram", (), "Time of drains, until all has stopped"),
    Entry("otpy_drain_deadline_exceeded_total", "counter", ("phase",), "Phases that went on without somebody"),
    Entry("otpy_drain_jobs_total", "counter", ("outcome",), "Jobs that ran when the program began to drain"),
)

OWN = (
    Entry("otpy_scrape_seconds", "gauge", (), "What it took to gather all of this"),
    Entry("otpy_scrape_failures_total", "counter", ("part",), "Times that a part of it could not be had"),
    Entry("otpy_push_failures_total", "counter", (), "Snapshots that the outbox did not take"),
    Entry("otpy_push_left_out_total", "counter", (), "Metrics left out of snapshots that would have been too large"),
)

FLEET = (
    Entry("otpy_agents", "gauge", (), "Agents whose metrics are here"),
    Entry("otpy_agent_age_seconds", "gauge", ("agent",), "Since when an agent has sent no metrics"),
    Entry("otpy_agent_snapshots_refused_total", "counter", (), "Snapshots that were none, or of too many agents"),
)
"""What `AgentMetrics` says of itself."""

CATALOGUE = {entry.name: entry for entry in (*KERNEL, *JOBS, *RESILIENCE, *HUB, *DRAINS, *OWN)}
"""By name, of what a program says of itself."""
