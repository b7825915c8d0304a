"""Answers requests: checks them, runs their verb, writes the reply. No socket and no thread here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from otpy.control.errors import BadRequestError, ControlError, RightsError, VersionError, WireError
from otpy.control.rights import allows
from otpy.control.verbs import ASKER
from otpy.control.wire import PROTOCOL, decode, encode, otpy_version
from otpy.core.text import exception_line, safe_str, visible
from otpy.core.value import value
from otpy.errors import OtpyError
from otpy.runtime.timebox import TimeBox

if TYPE_CHECKING:
    from otpy.control.limits import Limits
    from otpy.control.peers import Peer
    from otpy.control.rights import Rights
    from otpy.control.snapshot import Inspected
    from otpy.control.verbs import Verb, VerbTable

__all__ = ["Desk", "Request"]

ERROR_LIMIT = 2_000
"""Characters of an error's text in a reply."""
SMALL = 1024 * 1024
"""Bytes that a greeting or an error never reaches, however long the id it repeats."""


@value
class Request:
    """One request that may be run."""

    number: object
    """The client's own, which comes back with the reply."""
    verb: Verb
    """What is to be done."""
    params: dict[str, object]
    """With what; paths begin with the system's own name."""


class Desk:
    """What a server says, for one system."""

    def __init__(self, system: Inspected, name: str, rights: Rights, verbs: VerbTable, limits: Limits) -> None:
        """Answer for `system`, which people call `name`."""
        self._system = system
        self._name = name
        self._rights: Rights = rights
        self._verbs = verbs
        self._limits = limits
        self._box = TimeBox()

    def hello(self, refused: str | None = None, *, is_ending: bool = False) -> bytes:
        """The first frame on every connection; the keys of protocol 1 stay readable in all later ones."""
        facts: dict[str, object] = {
            "protocol": PROTOCOL,
            "version": otpy_version(),
            "name": self._name,
            "pid": os.getpid(),
            "rights": self._rights,
        }
        if refused is not None:
            facts |= {"refused": refused, "ending": is_ending}
        return encode(facts, max_bytes=SMALL)

    def read(self, frame: bytes, peer: Peer | None = None) -> Request | bytes:
        """The request in a frame that came from `peer`, or the frame that says why it is not run.

        Raises:
            WireError: it is no request of any protocol; the connection is of no further use.
        """
        value = decode(frame, max_depth=self._limits.max_depth)
        if not isinstance(value, dict):
            raise WireError("a request is a map")
        number = value.get("id")
        try:
            return self._checked(number, value, peer)
        except ControlError as error:
            return self.failure(error, number)

    def waits(self, request: Request) -> bool:
        """Whether its answer may have to wait for anything."""
        return request.verb.waits(self._system)

    def answer(self, request: Request) -> bytes:
        """Run a request and write its reply; whatever goes wrong is in the reply."""
        try:
            result = request.verb.run(self._system, request.params)
            return encode({"id": request.number, "ok": result}, max_bytes=self._limits.max_reply_bytes)
        except BaseException as error:  # noqa: BLE001 - a verb may be anybody's, and the server outlives it
            return self.failure(error, request.number)

    def failure(self, error: BaseException, number: object = None) -> bytes:
        """The frame that tells of an error."""
        if isinstance(error, OtpyError):
            text = safe_str(error, ERROR_LIMIT, box=self._box)
        else:
            text = f"failed inside the program: {exception_line(error, ERROR_LIMIT, box=self._box)}"
        kind = visible(type(error).__name__, 80)
        return encode({"id": number, "error": {"kind": kind, "text": text}}, max_bytes=SMALL)

    def _checked(self, number: object, value: dict[object, object], peer: Peer | None) -> Request:
        if value.get("protocol") != PROTOCOL:
            theirs = visible(str(value.get("protocol")), 20)
            raise VersionError("the client", theirs, "unknown", PROTOCOL, otpy_version())
        if isinstance(number, dict | list):
            raise BadRequestError("the id of a request is a number or a text")
        verb = self._verbs.get(value.get("verb"))
        if not allows(self._rights, verb.right):
            raise RightsError(verb.name, verb.right, self._rights)
        params = value.get("params", {})
        if not isinstance(params, dict) or not all(isinstance(key, str) for key in params):
            raise BadRequestError("the parameters of a request are a map with names")
        return Request(number, verb, self._localised(params) | {ASKER: _who(peer)})

    def _localised(self, params: dict[str, object]) -> dict[str, object]:
        """Paths as the system knows them: its own name differs from the one on the socket if that one was taken."""
        path = params.get("path")
        if not isinstance(path, str) or self._name == self._system.name:
            return params
        first, slash, rest = path.partition("/")
        return params | {"path": self._system.name + slash + rest} if first == self._name else params


def _who(peer: Peer | None) -> str:
    """Who asks, in words."""
    if peer is None:
        return "somebody"
    return f"user {peer.uid}" if peer.pid is None else f"user {peer.uid}, process {peer.pid}"
