"""`HttpHealth`: an actor whose probes are asked over HTTP."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.core.decision import Stop
from otpy.core.number import is_number
from otpy.core.reason import Exit
from otpy.core.spec import ChildSpec, child
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.health.alive import STALLED_AFTER, liveness
from otpy.health.http.page import Asked, Page, health_page, plain_page
from otpy.health.http.scrape import Exposed, Scrape
from otpy.health.http.serving import Serving
from otpy.health.ready import readiness
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["HttpHealth"]

BACKLOG = 128
MAX_PORT = 65_535
MAX_PATIENCE = 3_600.0
"""Seconds; what polls takes no time without end."""

BRIEF = 1.0
"""Seconds to stop: it closes its connections, and waits for nobody."""


class HttpHealth:
    """Answers `/livez`, `/readyz` and `/metrics`: put `HttpHealth(bind="127.0.0.1:9090").child()` first into the tree.

    It has a thread of its own, which reads what is published alone: it answers while all workers of the program are
    stuck, and all through a drain, and as the first child of the tree it is closed last. No client holds up another: a
    visit is one request, with as much as fits into 8 KiB, and has to be over in its time.

    Whoever reaches the port can read paths and exit reasons: bind it to an address that only the platform reaches.

    Args:
        bind: where to listen, as `127.0.0.1:9090`, `0.0.0.0:9090` or `[::1]:9090`; port 0 takes any that is free.
            There is no default: who can reach the port is for you to say.
        name: its id in the tree.
        stalled_after: seconds, as for `liveness`.
        ignore: lines that do not count, as for `readiness`.
        metrics: called with the system, gives what has the `exposition` that `/metrics` shows: `otpy.metrics.Metrics`.
            It is made when the actor starts, and closed with it if it is a context manager.
        patience: seconds for a whole visit, with the making of metrics; below the ten of a scrape by Prometheus.
        max_clients: connections at once; the oldest makes room for the next.

    Raises:
        SpecError: an option that cannot be; the message says why.
    """

    def __init__(
        self,
        *,
        bind: str,
        name: str = "health",
        stalled_after: float = STALLED_AFTER,
        ignore: Collection[str] = (),
        metrics: Callable[[System], Exposed] | None = None,
        patience: float = 8.0,
        max_clients: int = 64,
    ) -> None:
        """Say how; nothing listens before the actor starts."""
        self.host, self.port = _split(bind)
        self.bind, self.name = bind, name
        self.stalled_after, self.ignore, self.metrics = stalled_after, ignore, metrics
        self.patience, self.max_clients = patience, max_clients
        if not (is_number(stalled_after) and stalled_after > 0):
            raise SpecError("HttpHealth", f"stalled_after={safe_repr(stalled_after)}: seconds > 0")
        if not (is_number(patience) and 0 < patience <= MAX_PATIENCE):
            raise SpecError("HttpHealth", f"patience={safe_repr(patience)}: seconds > 0, an hour at most")
        if type(max_clients) is not int or max_clients < 1:
            raise SpecError("HttpHealth", f"max_clients={safe_repr(max_clients)}: a whole number >= 1")
        self.address: str | None = None
        """Where it listens, or has listened last, as `127.0.0.1:43211`; None before."""
        self.kept: tuple[Ref[Any], Serving] | None = None
        """Who serves, and by what."""

    def child(self) -> ChildSpec:
        """The spec of the actor that serves, for the tree."""
        return child(HttpServer, self).opts(id=self.name, shutdown=BRIEF)


class HttpServer(GenServer):
    """Keeps one server of probes; started by `HttpHealth.child()`."""

    def init(self, options: HttpHealth) -> object:
        """Listen; not started when that cannot be."""
        self._options = options
        self._scrape: Scrape | None = None
        if options.kept is not None:
            other, before = options.kept
            if other.is_alive():
                return Stop(Exit(f"{options.bind} is served by {other.path}: each needs an HttpHealth of its own"))
            before.close()  # a killed one's last clients may have longer than its supervisor waits for it to close
        try:
            listener = _listen(options.host, options.port)
        except OSError as error:
            return Stop(Exit(f"HttpHealth cannot listen on {options.bind}: {error.strerror or error}"))
        serving = Serving(
            listener,
            self._answer,
            name=f"otpy-http-{options.name}",
            patience=options.patience,
            max_clients=options.max_clients,
            died=lambda why: self.ref.cast(HttpServer.died, why),
        )
        if options.metrics is not None:
            serving.scrape = self._scrape = Scrape(self._exposed(options.metrics), serving.wake)
        options.address = _shown(listener.getsockname())
        self.use(serving)
        options.kept = self.ref, serving
        return None

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows where it listens."""
        address = self._options.address if hasattr(self, "_options") else None
        return "HttpHealth" if address is None else f"HttpHealth {address}"

    @cast
    def died(self, why: str) -> Stop:
        """Its thread has ended: the supervisor starts another one."""
        return Stop(Exit(f"its thread has ended: {why}"))

    def _exposed(self, metrics: Callable[[System], Exposed]) -> Exposed:
        exposed: Any = metrics(self.system)
        if isinstance(exposed, AbstractContextManager):
            self.use(exposed)
        return exposed  # type: ignore[no-any-return]  # it may be both

    def _answer(self, asked: Asked) -> Page | None:
        """In the thread that serves."""
        options, verbose = self._options, "verbose" in asked.query
        match asked.path:
            case "/livez":
                return health_page(liveness(self.system, stalled_after=options.stalled_after), verbose=verbose)
            case "/readyz":
                return health_page(readiness(self.system, ignore=options.ignore), verbose=verbose)
            case "/metrics" if self._scrape is not None:
                return self._scrape.begin(asked.accept, options.patience)
            case "/metrics":
                return plain_page(HTTPStatus.NOT_FOUND, "no metrics: HttpHealth(…, metrics=otpy.metrics.Metrics)")
        return plain_page(HTTPStatus.NOT_FOUND, "there are /livez, /readyz and /metrics")


def _split(bind: str) -> tuple[str, int]:
    host, colon, port = bind.rpartition(":") if isinstance(bind, str) else ("", "", "")
    if not (host and colon and port.isascii() and port.isdecimal() and int(port) <= MAX_PORT):
        raise SpecError("HttpHealth", f"bind={safe_repr(bind)}: an address and a port, as '127.0.0.1:9090'")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of one before may linger
        listener.bind(address)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _shown(address: Any) -> str:  # Any: two parts or four, by the family
    host, port = address[0], address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
