"""The public API as users type it; only mypy reads this. Each refused line is proved by its `type: ignore`.

Strict mypy reports an unused ignore, so a line that should be refused and is not fails the gate.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any, assert_type

import otpy
from otpy import jobs, logs
from otpy.errors import CallExitError, OtpyError
from otpy.events import ActorCrashed, Event
from otpy.fleet import (
    AgentLook,
    Beat,
    BeatError,
    FleetError,
    FleetFullError,
    FleetLook,
    FleetView,
    GroupLook,
    Heartbeat,
    HeartbeatLook,
    Watch,
)
from otpy.health import STALLED_AFTER, Check, Checks, HealthLine, HealthLook, HttpHealth, liveness, readiness
from otpy.metrics import CATALOGUE, METRICS_TOPIC, AgentMetrics, Entry, Metrics, MetricsPush, SnapshotError
from otpy.resilience import (
    Autonomy,
    AutonomyLook,
    Batch,
    BatchError,
    Breaker,
    BreakerOpenError,
    Configuration,
    ConfigurationError,
    ConfigurationFileError,
    ConfigurationLook,
    Document,
    LaterError,
    NoConfigurationError,
    NoSuchTopicError,
    Outbox,
    OutboxError,
    OutboxFileError,
    OutboxFullError,
    OutboxLook,
    PayloadError,
    Permit,
    Receipt,
    RetryBudget,
    RetryError,
    RetryPlan,
    Row,
    Sender,
    Topic,
    Turns,
    received,
    retry,
)
from otpy.testing import faults

# --- actors ---------------------------------------------------------------------------------------------------------


class Cache(otpy.GenServer):
    def init(self, size: int, *, label: str = "cache") -> None:
        self.items: dict[str, bytes] = {}
        self.size = size
        self.trap_exit = True
        timer = self.send_interval(5.0, "sweep")
        self.cancel_timer(timer)
        self.send_after(1.0, "once")

    def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        assert_type(drain.remaining(), float)
        assert_type(drain.reason, str)
        drain.working(2, ["a", "b"])
        drain.done()
        return otpy.NoReply()

    def persist(self) -> dict[str, object]:
        return {"size": self.size}

    async def handle_flush(self, drain: otpy.Drain) -> None:
        drain.working("two")  # type: ignore[arg-type]

    @otpy.call
    def get(self, key: str) -> bytes | None:
        return self.items.get(key)

    @otpy.cast
    def put(self, key: str, value: bytes, *, fresh: bool = False) -> None:
        self.items[key] = value

    def inner(self) -> None:
        assert_type(self.get("a"), bytes | None)

    def handle_info(self, message: object) -> None:
        match message:
            case otpy.Down(reason=otpy.Crashed(type=kind)):
                assert_type(kind, str)
            case otpy.ExitSignal(reason=reason):
                assert_type(reason, otpy.Reason)

    def terminate(self, reason: otpy.Reason) -> None:
        self.items.clear()

    def redact(self, name: str, value: object) -> object:
        return len(self.items) if name == "items" else value


class Lasting(otpy.GenServer):
    def init(self) -> None:
        assert_type(self.restored, otpy.Restored | None)
        if self.restored is not None:
            assert_type(self.restored.saved_at, float)

    def persist(self) -> dict[str, object]:
        return {}

    @otpy.call
    def save(self) -> None:
        self.save_state()

    @otpy.call
    async def save_later(self) -> None:
        await self.asave_state()


def run_with_state() -> None:
    with otpy.run(Lasting, state=otpy.StateFile("shop.state", damaged="set_aside")):
        pass


class Raw(otpy.GenServer):
    def init(self) -> object:
        return otpy.Ignore() if self.trap_exit else otpy.Continue("warm up")

    def handle_call(self, request: object, caller: otpy.Caller) -> object:
        match request:
            case "later":
                return otpy.NoReply()
            case "end":
                return otpy.Stop(otpy.Shutdown("asked"), "bye")
        return otpy.Reply(request)

    @otpy.call
    def ping(self) -> int:
        return 1


def poll_feed(url: str, *, every: float = 5.0) -> None:
    while True:
        otpy.checkpoint()
        assert_type(otpy.current(), otpy.Ref[Any])
        otpy.sleep(every)


async def follow(url: str) -> None:
    await otpy.asleep(1.0)


class Feed(otpy.GenServer):
    max_concurrency = 8

    async def init(self, url: str) -> None:
        assert_type(await self.ause(asyncio.timeout(None)), asyncio.Timeout)
        self.cache = await self.aspawn_link(Cache, 10)
        assert_type(self.cache, otpy.Ref[Any])

    @otpy.call
    async def fetch(self, key: str) -> bytes:
        assert_type(await self.fetch("a"), bytes)
        return await self.cache.acall(Cache.get, key) or b""

    @otpy.call
    async def decide(self, key: str) -> int | otpy.Stop:
        return 1 if key else otpy.Stop(otpy.Normal())

    @otpy.cast
    async def note(self, key: str) -> None:
        await self.note(key)

    async def handle_info(self, message: object) -> None: ...

    async def terminate(self, reason: otpy.Reason) -> None: ...


async def use_awaited(system: otpy.System, feed: otpy.Ref[Feed], named: otpy.NamedRef[Feed]) -> None:
    assert_type(feed.call(Feed.fetch, "a"), bytes)
    assert_type(await feed.acall(Feed.fetch, "a"), bytes)
    assert_type(await feed.within(0.5).acall(Feed.fetch, "a"), bytes)
    assert_type(await named.acall(Feed.fetch, "a"), bytes)
    assert_type(await feed.acall(Feed.decide, "a"), int)
    feed.cast(Feed.note, "a")
    await feed.acall(Feed.fetch, 1)  # type: ignore[arg-type]
    await feed.acall(Cache.get, "a")  # type: ignore[arg-type]
    assert_type(await feed.aask("raw"), Any)
    assert_type(await feed.monitor().await_down(), otpy.Down)
    assert_type(await system.astart(Feed, "url"), otpy.Ref[Feed])
    assert_type(await feed.astop(), bool)


CACHE = otpy.name(Cache, "cache")
assert_type(CACHE, otpy.Name[Cache])

# --- trees ----------------------------------------------------------------------------------------------------------


class Shop(otpy.Supervisor):
    strategy = "rest_for_one"
    max_restarts, max_seconds = 3, 5.0

    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Cache, 10_000, label="front").opts(name=CACHE),
            otpy.child(Raw).opts(id="raw", place="thread", shutdown=otpy.BRUTAL_KILL),
            otpy.child(poll_feed, "url", every=1.0).opts(restart="transient", shutdown=2.0, start_timeout=10.0),
            otpy.child(follow, "url").opts(restart="temporary"),
            otpy.child(Shop).opts(id="nested", shutdown=otpy.INFINITY),
            otpy.child(Raw).opts(
                backoff=otpy.Backoff(first=0.5, most=30.0), limit=otpy.Limit(5, 60.0, then="escalate")
            ),
            otpy.child(Feed, "https://shop").opts(id="images", loop="images"),
            otpy.child(Raw).opts(id="stuck", on_stuck="process", silence=30.0),
            otpy.child(Raw).opts(id="confined", place="process", max_memory_bytes=1 << 30, max_cpu=60.0, nice=5),
            otpy.dynamic(Cache, max_children=50_000).opts(id="sessions"),
        ]


def use(system: otpy.System) -> None:
    cache = system.ref(CACHE)
    assert_type(cache, otpy.NamedRef[Cache])
    assert_type(cache.call(Cache.get, "a"), bytes | None)
    assert_type(cache.within(0.2).call(Cache.get, key="a"), bytes | None)
    cache.cast(Cache.put, "a", b"x", fresh=True)
    cache.tell("sweep")
    cache.ask("anything", timeout=0.2)
    assert_type(cache.within(0.2, wait_for_name=1.0).call(Cache.get, "a"), bytes | None)
    cache.ask("anything", block=False).get(timeout=1.0)
    cache.proxy().items.get(timeout=1.0)
    cache.exit(otpy.Exit("why"))
    assert_type(cache.whereis(), otpy.Ref[Cache] | None)


def hold(cache: otpy.Ref[Cache]) -> None:
    assert_type(cache.call(Cache.get, "a"), bytes | None)
    assert_type(cache.within(0.2).call(Cache.get, key="a"), bytes | None)
    assert_type(cache.path, str)
    assert_type(cache.is_alive(), bool)
    assert_type(cache.reason, otpy.Reason | None)
    cache.exit(otpy.Exit("why"))
    cache.kill()
    cache.stop(otpy.Normal(), timeout=1.0)


def watch(system: otpy.System, cache: otpy.Ref[Cache]) -> None:
    monitor = cache.monitor()
    assert_type(monitor.wait(1.0), otpy.Down)
    match monitor.wait().reason:
        case otpy.Killed() | otpy.Kill() | otpy.NoProc():
            pass
        case otpy.Exited(code=number) | otpy.Signalled(number=number):
            assert_type(number, int)
        case otpy.NoConnection(text=text):
            assert_type(text, str)

    def note(event: Event) -> None:
        assert_type(event.path, str)

    detach = system.events.attach(note, ActorCrashed)
    detach()


def supervise(shop: otpy.Ref[Shop], sessions: otpy.Ref[otpy.DynamicSupervisor]) -> None:
    shop.call(otpy.Supervisor.start_child, otpy.child(Raw))
    shop.call(otpy.Supervisor.terminate_child, "raw")
    shop.call(otpy.Supervisor.which_children)
    shop.call(otpy.Supervisor.renew_child, "cache")
    sessions.call(otpy.DynamicSupervisor.start_child, otpy.child(Cache, 1))
    sessions.call(otpy.DynamicSupervisor.start_children, [otpy.child(Cache, 1)])
    sessions.call(otpy.DynamicSupervisor.count_children)


def run() -> None:
    with otpy.run(Shop, name="shop", control="read", shutdown=10.0) as system:
        assert_type(system, otpy.Application)
        try:
            use(system)
        except CallExitError as error:
            assert_type(error.reason, otpy.Reason)
        except OtpyError:
            pass
        assert_type(system.wait(), otpy.Reason | None)


async def run_async() -> None:
    async with otpy.run_async(Shop, name="shop", shutdown=10.0, loop_blocked_after=0.5) as system:
        assert_type(system, otpy.Application)
        assert_type(await system.await_end(), otpy.Reason | None)
        await system.astop(timeout=1.0)
    otpy.run_async(Shop, colour="red")  # type: ignore[call-arg]


def program() -> None:
    assert_type(otpy.main(Shop, name="shop"), int)


class Later(otpy.Actor):
    def on_receive(self, message: object) -> object:
        return otpy.Fail(otpy.Exit(message))

    def watch(self, other: otpy.Ref[Cache]) -> otpy.Monitor:
        self.monitor(self.system.ref("cache"))
        return self.monitor(other)

    @otpy.call
    def answer(self) -> int | otpy.NoReply:
        return otpy.NoReply()


def later(ref: otpy.Ref[Later]) -> None:
    assert_type(ref.call(Later.answer), int)


def explain(reason: otpy.Reason) -> str:
    match reason:
        case otpy.Shutdown(detail=otpy.RestartLimit(child=child, max_restarts=limit)):
            return f"{child}: {limit}"
        case otpy.Shutdown(detail=otpy.FailedChild(child=child)):
            return child
    return str(reason)


# --- refused --------------------------------------------------------------------------------------------------------


def refused(system: otpy.System, cache: otpy.Ref[Cache]) -> None:
    cache.call(Cache.get, 3)  # type: ignore[arg-type]  # a key is a str
    cache.call(Cache.get)  # type: ignore[call-arg]  # the key is missing
    cache.call(Raw.ping)  # type: ignore[arg-type]  # another actor's method
    cache.call(Cache.inner)  # type: ignore[arg-type]  # not part of its public vocabulary
    cache.cast(Cache.put, "a", "x")  # type: ignore[arg-type]  # a value is bytes
    otpy.child(Cache, "no")  # type: ignore[call-overload]  # a size is an int
    otpy.child(poll_feed, 7)  # type: ignore[call-overload]  # a url is a str
    otpy.child(Cache, 1).opts(restart="transiemt")  # type: ignore[arg-type]  # misspelt value
    otpy.child(Cache, 1).opts(restrat="transient")  # type: ignore[call-arg]  # misspelt option


# --- services that fail ---------------------------------------------------------------------------------------------

payments = Breaker("payments", failures=3, rate=None, excludes=(ValueError, KeyError), counts=lambda error: True)
Breaker("payments", failure=3)  # type: ignore[call-arg]
Breaker("payments", cooldown="long")  # type: ignore[arg-type]


@payments
def charge(card: str, *, amount: int) -> float:
    return amount / 2


@payments
async def acharge(card: str) -> float:
    async with payments:
        return 1.0


async def pay() -> None:
    assert_type(charge("visa", amount=3), float)
    charge("visa")  # type: ignore[call-arg]
    assert_type(await acharge("visa"), float)
    await acharge(3)  # type: ignore[arg-type]
    with payments:
        pass
    permit = payments.allow()
    assert_type(permit, Permit)
    assert_type(permit.breaker, Breaker)
    permit.cut()
    permit.failed(OSError())
    payments.force("open")
    payments.force("half")  # type: ignore[arg-type]
    await payments.areset()
    assert_type(payments.child(), otpy.ChildSpec)
    assert_type(payments.retry_after(), float | None)
    try:
        charge("visa", amount=1)
    except BreakerOpenError as error:
        assert_type(error.retry_after, float | None)


again = retry(on=(OSError, TimeoutError), attempts=3, deadline=30.0, breaker=payments, budget=RetryBudget(ratio=0.1))
assert_type(again, RetryPlan)
retry()  # type: ignore[call-arg]
retry(on=OSError, backoff=3.0)  # type: ignore[arg-type]


@again
def fetch(url: str, *, depth: int = 1) -> bytes:
    return b""


@again
async def afetch(url: str) -> bytes:
    return b""


async def fetch_all() -> None:
    assert_type(fetch("a", depth=2), bytes)
    fetch(3)  # type: ignore[arg-type]
    assert_type(await afetch("a"), bytes)
    assert_type(again.call(fetch, "a", depth=2), bytes)
    again.call(fetch, url=3)  # type: ignore[arg-type]
    assert_type(await again.acall(afetch, "a"), bytes)
    try:
        fetch("a")
    except RetryError as error:
        assert_type(error.attempts, int)


# Jobs.


@jobs.job(queue="mail", retry=jobs.Retry(errors=3, table={OSError: "retry"}), timeout=5.0, needs={"smtp"})
def send_mail(to: str, subject: str, *, urgent: bool = False) -> int:
    return jobs.current().attempt


@jobs.job(killable=True, stall_timeout=10.0)
def read_lines(path: str) -> str:
    own = jobs.current()
    assert_type(own.is_cancelled, bool)
    assert_type(own.draining, float | None)
    assert_type(own.deadline, float | None)
    own.progress({"line": 1})
    own.checkpoint(own.resume_from or 0)
    own.raise_if_cancelled()
    with own.tx() as tx:
        assert_type(tx, jobs.Tx)
        assert_type(tx.executemany("insert into a values (?)", [(1,)]), int)
        assert_type(tx.enqueue(fetch_page.new("a")), list[jobs.Enqueued])
        tx.result = len(tx.execute("select 1"))
    return assert_type(own.once("open", lambda: path), str)


@jobs.job
async def fetch_page(url: str) -> bytes | jobs.Snooze:
    async def page() -> bytes:
        return url.encode()

    found = await jobs.current().aonce("page", page)
    assert_type(found, bytes)
    return found or jobs.Snooze(5.0)


def look_after_jobs(engine: jobs.Client) -> None:
    assert_type(engine.backup("copy.db"), int)
    assert_type(engine.store(), jobs.StoreLook)
    assert_type(engine.store().stale, int)
    assert_type(engine.readiness(), jobs.Readiness)
    assert_type(engine.readiness().problem, str | None)
    if (server := engine.server()) is not None:
        assert_type(server, jobs.ServerLook)
        assert_type(server.oldest, float | None)
        assert_type(server.hindrances, tuple[jobs.Hindrance, ...])
        assert_type(server.tables, tuple[jobs.TableLook, ...])
    for look in engine.hosts():
        assert_type(look, jobs.HostLook)
        assert_type(look.host, jobs.Host)
        assert_type(look.host.labels, tuple[str, ...])
    assert_type(engine.active(), str | None)
    assert_type(engine.activate("2026.11", force=True), str | None)
    engine.activate(2026)  # type: ignore[arg-type]
    found = engine.get(1)
    assert found is not None
    assert_type(found.earlier, tuple[jobs.Earlier, ...])


def bill(fence: jobs.Fence, bank: str) -> None: ...


GREEN: otpy.ChildSpec = jobs.engine("postgresql:///shop", [], version="green", labels={"gpu"})
BILLING: otpy.ChildSpec = jobs.singleton("billing", lambda fence: otpy.child(bill, fence, "bank"), lease=30.0)
FIRST: otpy.ChildSpec = jobs.singleton("first", otpy.child(print, "first"), engine="mail", max_restarts=0)
jobs.singleton("billing", lambda fence: otpy.child(bill, "bank", fence))  # type: ignore[call-overload]
jobs.singleton("billing", bill)  # type: ignore[arg-type]


def use_names(engine: jobs.Client, fence: jobs.Fence) -> None:
    assert_type(engine.under(fence), jobs.Client)
    assert_type(engine.whereis("billing"), jobs.NameLook | None)
    assert_type(engine.names(), list[jobs.NameLook])
    assert_type(fence.epoch, int)


async def use_jobs(system: otpy.System) -> None:
    assert_type(send_mail("a", "b"), int)
    assert_type(send_mail.new("a", "b", urgent=True), jobs.JobSpec[int])
    send_mail.new("a")  # type: ignore[call-arg]
    send_mail.new("a", 3)  # type: ignore[arg-type]
    send_mail.new("a", "b").opts(
        delay=1.0, priority=1, key="k", tenant="t", deadline=60.0, start_within=5.0, version="2"
    )
    send_mail.new("a", "b").opts(dely=1.0)  # type: ignore[call-arg]
    jobs.job(unique=lambda name: name, until="started", on_conflict="replace")
    jobs.job(early_ack=True, start_within=5.0)
    jobs.job(unique=lambda name: name, until=60.0)
    jobs.job(unique=lambda name: name, on_conflict="debounce", max_wait=60.0, replaces={"args"})
    jobs.job(on_conflict="drop")  # type: ignore[call-overload]
    jobs.job(timeuot=3.0)  # type: ignore[call-overload]
    jobs.Retry(table={OSError: "again"})  # type: ignore[dict-item]

    engine = jobs.of(system)
    assert_type(engine, jobs.Client)
    assert_type(engine.enqueue(send_mail.new("a", "b")), jobs.Enqueued)
    engine.enqueue(send_mail)  # type: ignore[arg-type]
    engine.enqueue(send_mail("a", "b"))  # type: ignore[arg-type]
    assert_type(await engine.aenqueue_all([fetch_page.new("a"), send_mail.new("a", "b")]), list[jobs.Enqueued])
    assert_type(engine.get(1), jobs.Job | None)
    assert_type(engine.wait(1, timeout=2.0), jobs.Job)
    assert_type(await engine.await_end(1), jobs.Job)
    assert_type(engine.find(state="dead", limit=3), list[jobs.Job])
    engine.find(state="gone")  # type: ignore[arg-type]
    assert_type(engine.queues(), list[jobs.QueueLook])
    assert_type(engine.cancel(1, 2, reason="no"), list[jobs.Job])
    assert_type(engine.retry(1), list[jobs.Job])
    connection = sqlite3.connect("jobs.db")
    assert_type(jobs.enqueue_in(connection, send_mail.new("a", "b"), fetch_page.new("a")), list[jobs.Enqueued])
    fence = jobs.Fence(name="billing", epoch=1)
    assert_type(jobs.enqueue_in(connection, under=fence), list[jobs.Enqueued])
    jobs.enqueue_in(connection, send_mail.new("a", "b"), under=1)  # type: ignore[arg-type]
    jobs.enqueue_in(connection, send_mail)  # type: ignore[arg-type]
    engine.retry("1")  # type: ignore[arg-type]
    assert_type(engine.replay(1, force=True, per_second=2.0), list[jobs.Replayed])
    assert_type(engine.replay_with(1, send_mail.new("a", "b"), force=True), jobs.Replayed)
    engine.replay_with(1, send_mail)  # type: ignore[arg-type]
    assert_type(engine.wants(), list[jobs.Want])
    assert_type(engine.unroutable(), list[jobs.Want])
    assert_type(engine.crews(), list[jobs.CrewLook])
    assert_type(engine.scale("mail", 8, spare=2), jobs.CrewLook)
    engine.scale("mail", 8, 2)  # type: ignore[call-arg]
    assert_type(engine.schedules(), list[jobs.ScheduleLook])
    engine.pause_schedule("weekly", "daily")
    engine.resume_schedule("weekly")
    engine.drop_schedule("weekly")
    assert_type(engine.pause("mail"), list[str])
    assert_type(engine.paused(), dict[str, int])
    engine.resume("mail")
    assert_type(engine.replay_all(kind="k", dry_run=True), list[jobs.Replayed])


ENGINE: otpy.ChildSpec = jobs.engine(
    "jobs.db",
    [send_mail, fetch_page],
    queues=[jobs.Queue("mail", limit=2, weights={"gold": 3}, rate=jobs.Rate(100, per=60.0))],
    crews=[jobs.Crew(name="mail", size=2, labels=frozenset({"smtp"})), jobs.Crew(name="net", place="loop")],
    cron=[jobs.cron("0 8 * * 1", send_mail.new("a", "b"), tz="Europe/Berlin", missed="skip")],
)
jobs.engine("jobs.db", [send_mail], redact=lambda text: text.replace("secret", "***"))
jobs.engine("jobs.db", [read_lines], lease=30.0, beat=4.0, busy=6.0, grace=2.0)
jobs.engine("jobs.db", [send_mail], profile="quick")  # type: ignore[arg-type]
jobs.cron("0 8 * * 1", send_mail.new("a", "b"), missed="never")  # type: ignore[arg-type]


# --- store and forward ----------------------------------------------------------------------------------------------


def post(batch: Batch) -> Receipt:
    assert_type(batch.rows, tuple[Row, ...])
    assert_type(Batch.unpack(batch.pack()), Batch)
    if (wait := Turns(50.0).ask(batch.agent)) is not None:
        raise LaterError(wait)
    return Receipt(through=batch.last, refused=(3,))


async def apost(batch: Batch) -> int | None:
    return batch.last


outbox = Outbox(
    "readings", "readings.db", senders=[Sender(post, timeout=5.0), apost], topics=[Topic("t", overflow="sample"), "u"]
)
Topic("t", overflow="drop_old")  # type: ignore[arg-type]
Topic("t", row=3)  # type: ignore[call-arg]
Sender(lambda: None)  # type: ignore[arg-type, misc]
Outbox("o", "o.db", senders=[post])  # type: ignore[call-arg]


async def forward(connection: sqlite3.Connection, data: bytes) -> None:
    assert_type(outbox.put("t", 1, key="k"), int | None)
    assert_type(await outbox.aput("t", 1), int | None)
    outbox.flush(timeout=5.0)
    await outbox.aflush()
    assert_type(outbox.look(), OutboxLook)
    assert_type(outbox.child(), otpy.ChildSpec)
    try:
        with received(connection, Batch.unpack(data)) as fresh:
            assert_type(fresh, tuple[Row, ...])
    except (NoSuchTopicError, OutboxFullError, OutboxFileError, PayloadError) as error:
        assert_type(isinstance(error, OutboxError), bool)
    except BatchError:
        pass


# --- configuration and autonomy -------------------------------------------------------------------------------------


async def settings(version: int | None) -> Document | None:
    return Document(1, {"celsius": 80}, signature=b"mine") if version is None else None


def celsius_of(data: dict[str, int]) -> int:
    return data["celsius"]


def heed(celsius: int) -> None:
    assert_type(celsius, int)


hub = Autonomy("hub", connect=lambda: None, lost_on=ConnectionError)
celsius = Configuration("c", "folder", fetch=settings, check=celsius_of, apply=heed, expired="degrade", autonomy=hub)
Configuration("c", "folder", fetch=settings, expired="never")  # type: ignore[arg-type]
Configuration("c", "folder")  # type: ignore[call-arg]
Autonomy("hub")  # type: ignore[call-arg]


async def go_on() -> None:
    assert_type(celsius.look(), ConfigurationLook)
    assert_type(hub.look(), AutonomyLook)
    assert_type(hub.ask(lambda: 1, otherwise=lambda: "own"), int | str)
    assert_type([celsius.child(), hub.child()], list[otpy.ChildSpec])
    try:
        assert_type(celsius.current(), int)
        assert_type(celsius.refresh(), int)
        assert_type(await celsius.arefresh(timeout=5.0), int)
    except NoConfigurationError as error:
        assert_type(isinstance(error, ConfigurationError), bool)
    except ConfigurationFileError as error:
        celsius.reject(error.problem, version=2)


# --- metrics --------------------------------------------------------------------------------------------------------


def metrics_of(system: otpy.System) -> None:
    with Metrics(system, most=50, seconds=0.5) as metrics:
        assert_type(metrics.exposition(), tuple[str, bytes])
        metrics.exposition("application/openmetrics-text")
    assert_type(CATALOGUE["otpy_actors"], Entry)


def metrics_of_agents(outbox: Outbox, batch: Batch) -> None:
    otpy.child(MetricsPush, outbox, every=60.0, topic=METRICS_TOPIC.name, most_bytes=10_000)
    agents = AgentMetrics(keep=60.0, most=10)
    assert_type(agents.receive(batch), Receipt | None)
    try:
        assert_type(agents.take("a17", batch.rows[0].payload), bool)
    except SnapshotError:
        assert_type(agents.exposition(), tuple[str, bytes])
    Metrics("shop")  # type: ignore[arg-type]


def work_while_it_may() -> None:
    told = otpy.draining()
    if told is not None:
        assert_type(told, otpy.Draining)
        assert_type(told.reason, str)
        assert_type(told.deadline, float)
    with otpy.in_flight():
        pass


def drain_a_part(system: otpy.Application) -> None:
    course = system.request_drain("shop/feed", within=5.0, reason="told by hand")
    assert_type(course.wait(1.0), bool)
    assert_type(course.undone, list[str])
    system.request_stop("enough", within=2.0)
    assert_type(system.draining, otpy.Draining | None)
    with system.in_flight():
        pass


# --- fleets ---------------------------------------------------------------------------------------------------------

view = FleetView("boilers", period=10.0, watches=[Watch(label="region", below=0.8)])


async def tell(beat: Beat) -> None:
    assert_type(view.beats([beat, beat.plain()]), int)


beats = Heartbeat("beats", send=tell, labels={"region": "eu"}, figures=lambda: {"jobs": 3}, autonomy=hub, outbox=outbox)
Heartbeat("beats")  # type: ignore[call-arg]
Heartbeat("beats", send=lambda: None)  # type: ignore[arg-type]


def see() -> None:
    view.expect(count=100, labels={"region": "eu"})
    view.beat("b-1", state="well")  # type: ignore[arg-type]
    view.agents("gone")  # type: ignore[arg-type]
    assert_type(view.look(), FleetLook)
    assert_type(view.groups("region"), list[GroupLook])
    assert_type(view.agents("silent", labels={"region": "eu"}) + view.silences(10), list[AgentLook])
    assert_type(view.agent("b-1"), AgentLook | None)
    beats.say("draining", "scale-in")
    assert_type(beats.look(), HeartbeatLook)
    assert_type([view.child(), beats.child()], list[otpy.ChildSpec])
    try:
        view.expect(["b-1"])
        view.beats([Beat.read({"agent": "b-1"})])
    except (FleetFullError, BeatError) as error:
        assert_type(isinstance(error, FleetError), bool)


# Health.


async def is_there() -> bool:
    return True


PROBES = HttpHealth(bind="127.0.0.1:9090", metrics=Metrics, ignore=["shop/feed"], stalled_after=2 * STALLED_AFTER)
HttpHealth()  # type: ignore[call-arg]
CHECKS = Checks({"database": is_there, "disk": Check(lambda: None, every=60.0, within=1.0)})


def watched(system: otpy.System) -> list[otpy.ChildSpec]:
    assert_type(liveness(system, stalled_after=60.0), HealthLook)
    assert_type(readiness(system).lines, tuple[HealthLine, ...])
    assert_type(PROBES.address, str | None)
    return [PROBES.child(), CHECKS.child()]


# Logs.

logs.configure("logfmt", level="DEBUG", allowance=None).addFilter(logs.ActorKeys())
logs.configure("jsn")  # type: ignore[arg-type]
logs.Formatter("console")
assert_type(logs.actor_keys(None, "info", {"event": "said"})["event"], Any)


# Faults.

SCRIPT = faults.Script(seed=7, record="fired").at("p", faults.kill(), chance=0.1, after=3, times=None)
SCRIPT.at("p", faults.raises(ConnectionError, "away")).at("q", faults.jump(60.0, clock="system"))
SCRIPT.at("p", faults.kill)  # type: ignore[arg-type]
faults.jump(1.0, clock="moon")  # type: ignore[arg-type]


async def meet() -> None:
    faults.point("p")
    await faults.apoint("p")
    with faults.armed(SCRIPT) as script, faults.Link(("127.0.0.1", 80), name="line") as link:
        link.drop("reply")
        link.drop("all")  # type: ignore[arg-type]
        assert_type(link.mode == "up", bool)
    assert_type(script.fired, tuple[faults.Firing, ...])
    assert_type(faults.fired_in("fired"), list[faults.Firing])
    assert_type(faults.from_environment(), faults.Script | None)
