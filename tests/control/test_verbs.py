"""The verbs, and the desk that decides about them: rights, versions, parameters, and errors as text."""

from __future__ import annotations

import msgpack
import pytest

import otpy.app.settings  # noqa: F401 - with the verbs of all floors
from otpy.control.desk import Desk, Request
from otpy.control.errors import BadRequestError, WireError
from otpy.control.limits import Limits
from otpy.control.peers import Peer
from otpy.control.rights import Rights, allows, check_rights
from otpy.control.snapshot import Detail, Snapshot, Summary, from_plain, to_plain
from otpy.control.verbs import VERBS, Verb, VerbTable, register
from otpy.control.wire import PROTOCOL
from otpy.core.record import ActorRecord
from otpy.errors import SpecError
from support.fake_system import FakeSystem, shop, supervisor, worker

LIMITS = Limits()


def table(*verbs: Verb) -> VerbTable:
    made = VerbTable()
    for verb in [*VERBS, *verbs]:
        made.add(verb)
    return made


def desk(system: FakeSystem, rights: Rights = "operate", *, name: str = "shop", verbs: VerbTable = VERBS) -> Desk:
    return Desk(system, name, rights, verbs, LIMITS)


def ask(desk: Desk, verb: object, **params: object) -> dict[str, object]:
    """The reply as the client reads it."""
    return asked(desk, {"protocol": PROTOCOL, "id": 1, "verb": verb, "params": params})


def asked(desk: Desk, request: object) -> dict[str, object]:
    read = desk.read(msgpack.packb(request))
    reply: dict[str, object] = msgpack.unpackb((desk.answer(read) if isinstance(read, Request) else read)[4:])
    return reply


def test_each_right_includes_those_before_it() -> None:
    rights: tuple[Rights, ...] = ("off", "read", "operate", "full")
    needs = ("read", "operate", "full")

    allowed = [[allows(given, needed) for needed in needs] for given in rights]  # type: ignore[arg-type]

    assert allowed == [[False] * 3, [True, False, False], [True, True, False], [True] * 3]


def test_a_misspelt_right_is_refused_with_a_hint() -> None:
    with pytest.raises(SpecError, match="did you mean 'operate'"):
        check_rights("operat")


@pytest.mark.parametrize("change", [{"max_clients": 0}, {"frame_time": -1.0}, {"idle_time": float("nan")}])
def test_a_limit_nobody_could_keep_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(SpecError, match="must be more than 0"):
        Limits(**change)  # type: ignore[arg-type]


def test_the_tree_comes_as_it_was_published(system: FakeSystem) -> None:
    system.dead = [worker("shop/old", status="zombie")]

    reply = ask(desk(system), "tree")
    snapshot = from_plain(Snapshot, reply["ok"])

    assert list(snapshot.records) == shop()
    assert list(snapshot.zombies) == system.dead
    assert snapshot.system.name == "shop"
    assert snapshot.system.counts == {"actors": 6, "zombies": 1, "threads": 3, "run_queue": 0}
    assert snapshot.left_out == 0


def test_part_of_the_tree_can_be_asked_for(system: FakeSystem) -> None:
    snapshot = from_plain(Snapshot, ask(desk(system), "tree", path="shop/sessions", limit=1)["ok"])

    assert [record.path for record in snapshot.records] == ["shop/sessions", "shop/sessions/1"]


def test_a_tree_that_is_too_large_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch, system: FakeSystem) -> None:
    monkeypatch.setattr("otpy.control.verbs.MAX_RECORDS", 4)

    snapshot = from_plain(Snapshot, ask(desk(system), "tree")["ok"])

    assert (len(snapshot.records), snapshot.left_out) == (4, 2)


def test_one_actor_comes_with_its_stack(system: FakeSystem) -> None:
    running = from_plain(Detail, ask(desk(system), "info", path="shop/feed")["ok"])
    idle = from_plain(Detail, ask(desk(system), "info", path="shop/cache")["ok"])

    assert running == Detail(record=system.record("shop/feed"), stack='  File "feed.py", line 7, in poll')
    assert idle.stack is None


@pytest.mark.parametrize("verb", ["stop", "restart", "kill"])
def test_an_operating_verb_reaches_the_system(system: FakeSystem, verb: str) -> None:
    assert ask(desk(system), verb, path="shop/cache") == {"id": 1, "ok": None}
    assert system.done == [(verb, "shop/cache")]


@pytest.mark.parametrize(
    ("peer", "who"), [(Peer(1000, 42), "user 1000, process 42"), (Peer(0, None), "user 0"), (None, "somebody")]
)
def test_who_asks_is_said_by_the_server_and_not_by_the_client(system: FakeSystem, peer: Peer, who: str) -> None:
    served = desk(system)
    request = {"protocol": PROTOCOL, "id": 1, "verb": "stop_system", "params": {"asker": "root"}}

    read = served.read(msgpack.packb(request), peer)
    assert isinstance(read, Request)
    served.answer(read)

    assert system.told == (f"otpy stop by {who}", 25.0)
    summary = from_plain(Summary, ask(served, "summary")["ok"])
    assert (summary.draining, summary.left) == (f"otpy stop by {who}", 25.0)


def test_the_program_can_be_asked_to_stop(system: FakeSystem) -> None:
    assert ask(desk(system), "stop_system") == {"id": 1, "ok": None}
    assert system.stopping.is_set()


@pytest.mark.parametrize("verb", ["stop", "restart", "kill"])
def test_the_root_is_no_child(system: FakeSystem, verb: str) -> None:
    assert error_of(ask(desk(system), verb, path="shop")) == ("BadRequestError", "'shop' is the whole program")
    assert system.done == []


def error_of(reply: dict[str, object]) -> tuple[str, str]:
    """Kind and first half sentence of an error."""
    error = reply["error"]
    assert isinstance(error, dict)
    return error["kind"], error["text"].partition(":")[0]


@pytest.mark.parametrize(
    ("rights", "verb", "given"),
    [("read", "stop", False), ("read", "stop_system", False), ("read", "tree", True), ("operate", "deep", False)],
)
def test_a_verb_needs_its_right(system: FakeSystem, rights: Rights, verb: str, given: bool) -> None:  # noqa: FBT001
    verbs = table(Verb(name="deep", right="full", run=lambda _system, _params: None))

    reply = ask(desk(system, rights, verbs=verbs), verb, path="shop")

    assert ("ok" in reply) is given
    assert given or error_of(reply)[0] == "RightsError"
    assert system.done == []


def test_an_unknown_verb_names_the_nearest(system: FakeSystem) -> None:
    reply = ask(desk(system), "restrat")

    assert reply["error"] == {"kind": "BadRequestError", "text": "no verb 'restrat': did you mean 'restart'?"}


@pytest.mark.parametrize(
    ("verb", "params", "expected"),
    [
        ("info", {}, "the parameter 'path' is missing"),
        ("info", {"path": 3}, "the parameter 'path' is missing"),
        ("info", {"path": ""}, "the parameter 'path' is missing"),
        ("tree", {"limit": -1}, "the parameter 'limit' must be a whole number, 0 or more"),
        ("tree", {"limit": True}, "the parameter 'limit' must be a whole number, 0 or more"),
        ("tree", {"limit": "9"}, "the parameter 'limit' must be a whole number, 0 or more"),
        (7, {}, "no verb '7'"),
        ([], {}, "no verb '[]'"),
    ],
)
def test_a_request_that_makes_no_sense_is_named(
    system: FakeSystem, verb: object, params: dict[str, object], expected: str
) -> None:
    assert error_of(ask(desk(system), verb, **params)) == ("BadRequestError", expected)


@pytest.mark.parametrize("params", [3, [1], "x", {b"path": 1}, None])
def test_parameters_are_a_map_with_names(system: FakeSystem, params: object) -> None:
    reply = asked(desk(system), {"protocol": PROTOCOL, "id": 1, "verb": "summary", "params": params})

    assert error_of(reply) == ("BadRequestError", "the parameters of a request are a map with names")


@pytest.mark.parametrize("request_", [None, 3, [], "tree"])
def test_what_is_no_request_ends_the_connection(system: FakeSystem, request_: object) -> None:
    with pytest.raises(WireError, match="a request is a map"):
        desk(system).read(msgpack.packb(request_))


@pytest.mark.parametrize("protocol", [None, 0, 2, "1", [[1]]])
def test_another_protocol_is_answered_with_both_versions(system: FakeSystem, protocol: object) -> None:
    reply = asked(desk(system), {"protocol": protocol, "id": 5, "verb": "tree"})

    assert reply["id"] == 5
    assert error_of(reply)[0] == "VersionError"


def test_the_id_of_a_request_is_simple(system: FakeSystem) -> None:
    reply = asked(desk(system), {"protocol": PROTOCOL, "id": [1], "verb": "tree"})

    assert error_of(reply)[0] == "BadRequestError"


class TerribleError(Exception):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError("no \x1b[31mgood"), r"failed inside the program: ValueError: no \x1b[31mgood"),
        (SystemExit(3), "failed inside the program: SystemExit: 3"),
        (KeyboardInterrupt(), "failed inside the program: KeyboardInterrupt"),
        (TerribleError(), f"failed inside the program: {__name__}.TerribleError: <raised SystemExit>"),
        (BadRequestError("as it says"), "as it says"),
    ],
    ids=["error", "exit", "interrupt", "terrible", "own"],
)
def test_whatever_a_verb_raises_is_in_the_reply(system: FakeSystem, raised: BaseException, text: str) -> None:
    def fail(_system: object, _params: object) -> None:
        raise raised

    reply = ask(desk(system, verbs=table(Verb(name="fail", right="read", run=fail))), "fail")

    assert reply == {"id": 1, "error": {"kind": type(raised).__name__, "text": text}}


@pytest.mark.parametrize("result", [object(), "x" * (LIMITS.max_reply_bytes + 1)], ids=["no plain data", "too long"])
def test_a_reply_that_cannot_be_sent_is_an_error(system: FakeSystem, result: object) -> None:
    verbs = table(Verb(name="odd", right="read", run=lambda _system, _params: result))

    assert error_of(ask(desk(system, verbs=verbs), "odd"))[0] == "WireError"


def test_other_floors_register_their_verbs(system: FakeSystem) -> None:
    verbs = table()

    @register("sweep", right="operate", table=verbs)
    def sweep(system: object, params: object) -> object:
        return [system.name, dict(params)]  # type: ignore[attr-defined, call-overload]

    assert ask(desk(system, verbs=verbs), "sweep", queue="mail") == {
        "id": 1,
        "ok": ["shop", {"queue": "mail", "asker": "somebody"}],
    }
    with pytest.raises(ValueError, match="'sweep' is there already"):
        register("sweep", right="read", table=verbs)(sweep)


def test_paths_may_begin_with_the_name_on_the_socket(system: FakeSystem) -> None:
    numbered = desk(system, name="shop-2")

    for path in ("shop-2/cache", "shop/cache"):
        ask(numbered, "stop", path=path)
    elsewhere = ask(numbered, "stop", path="shop-3/cache")

    assert system.done == [("stop", "shop/cache")] * 2
    assert error_of(elsewhere)[0] == "NoSuchActorError"
    assert error_of(ask(numbered, "stop", path="shop-2"))[0] == "BadRequestError"


INLINE = {"drain_look", "health", "info", "mailbox", "summary", "tree", "why"}


def test_only_operating_verbs_leave_the_servers_own_thread() -> None:
    assert {verb.name for verb in VERBS if verb.inline} == INLINE
    assert all(verb.right == "read" for verb in VERBS if verb.inline)


@pytest.mark.parametrize(
    "value",
    [
        worker("a/b", busy=1.5, links=("x", "y"), uptime=3.0),
        supervisor("a", 3),
        Summary(name="s", pid=3, counts={"actors": 1}),
        Detail(record=worker("a"), stack="x"),
        Snapshot(system=Summary(name="s", pid=3, counts={}), records=(worker("a"),), zombies=(), left_out=2),
    ],
)
def test_what_is_told_survives_the_wire(value: object) -> None:
    assert from_plain(type(value), msgpack.unpackb(msgpack.packb(to_plain(value)))) == value


@pytest.mark.report(
    "F154",
    "zhongwencool/observer_cli#62",
    "zhongwencool/observer_cli#86",
    "zhongwencool/observer_cli#38",
    "zhongwencool/observer_cli#71",
    "zhongwencool/observer_cli#96",
)
def test_a_newer_program_may_tell_more_and_an_older_one_less() -> None:
    record = from_plain(ActorRecord, {"path": "a/b", "id": "b", "invented": [1]})

    assert (record.path, record.kind, record.uptime, record.busy, record.links) == ("a/b", "", 0.0, None, ())


@pytest.mark.parametrize(
    "plain",
    [None, 3, [], {"path": 3}, {"queue": "x"}, {"links": {}}, {"links": [1]}, {"uptime": "1"}, {"trap_exit": "no"}],
)
def test_a_record_of_the_wrong_shape_is_refused(plain: object) -> None:
    with pytest.raises(WireError):
        from_plain(ActorRecord, plain)
