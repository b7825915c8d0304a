"""Requests and answers of HTTP as far as a probe needs them: pure functions over bytes."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from otpy.core.value import value

if TYPE_CHECKING:
    from otpy.health.look import HealthLook

__all__ = ["MAX_HEAD", "TEXT", "Asked", "Page", "asked_in", "health_page", "plain_page", "written"]

MAX_HEAD = 8 * 1024
"""Bytes of a request with its headers: what servers commonly take, and a hundred times what a probe sends."""
TEXT = "text/plain; charset=utf-8"
ENDS = (b"\r\n\r\n", b"\n\n")
METHODS = ("GET", "HEAD")


@value
class Asked:
    """One request."""

    method: str
    """`GET` or `HEAD`."""
    path: str
    """Without the query."""
    query: frozenset[str]
    """The words of the query, as `verbose`, without their values."""
    accept: str = ""
    """The header of this name."""


@value
class Page:
    """One answer."""

    status: HTTPStatus
    """How it is."""
    content_type: str
    """What is in it."""
    body: bytes
    """That."""


def asked_in(data: bytes) -> Asked | Page | None:
    """The request whose head has come, the answer to what is none, or None as long as more must come."""
    ends = [data.index(end) for end in ENDS if end in data]
    if not ends and len(data) <= MAX_HEAD:
        return None
    if not ends or min(ends) > MAX_HEAD:
        return plain_page(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    first, *headers = data[: min(ends)].decode("latin-1").splitlines() or [""]
    return _asked(first, headers)


def _asked(first: str, headers: list[str]) -> Asked | Page:
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/"):  # noqa: PLR2004 - a method, a target and a version
        return plain_page(HTTPStatus.BAD_REQUEST)
    method, target, version = words
    if not version.startswith("HTTP/1."):
        return plain_page(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    if method not in METHODS:
        return plain_page(HTTPStatus.METHOD_NOT_ALLOWED)
    path, _, query = target.partition("?")
    accept = next((text.strip() for name, _, text in (line.partition(":") for line in headers) if _is(name)), "")
    return Asked(method, path, frozenset(word.partition("=")[0] for word in query.split("&") if word), accept)


def _is(name: str) -> bool:
    return name.strip().lower() == "accept"


def plain_page(status: HTTPStatus, text: str | None = None) -> Page:
    """An answer in words; those of the status unless given."""
    return Page(status, TEXT, f"{text or status.phrase}\n".encode())


def health_page(look: HealthLook, *, verbose: bool) -> Page:
    """How it stands: a line for each problem, or for all that was looked at, and at last how it is altogether."""
    shown = [str(line) for line in look.lines if verbose or line.problem is not None]
    status = HTTPStatus.OK if look.is_well else HTTPStatus.SERVICE_UNAVAILABLE
    return plain_page(status, "\n".join([*shown, "ok" if look.is_well else "not ok"]))


def written(page: Page, *, is_head: bool = False) -> bytes:
    """An answer as it goes over the wire; each connection is closed after it."""
    allow = f"Allow: {', '.join(METHODS)}\r\n" if page.status == HTTPStatus.METHOD_NOT_ALLOWED else ""
    head = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
        f"Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        f"Cache-Control: no-store\r\n{allow}"
        "Connection: close\r\n\r\n"
    )
    return head.encode("latin-1", "replace") + (b"" if is_head else page.body)
