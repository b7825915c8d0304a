"""What is asked of the probes' server, and what it answers."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otpy.health import HealthLine, HealthLook
from otpy.health.http.page import MAX_HEAD, Asked, Page, asked_in, health_page, plain_page, written

END = b"\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "asked"),
    [
        (b"GET /livez HTTP/1.1" + END, Asked("GET", "/livez", frozenset())),
        (b"HEAD /readyz HTTP/1.0\n\n", Asked("HEAD", "/readyz", frozenset())),
        (b"GET /readyz?verbose&x=1 HTTP/1.1" + END, Asked("GET", "/readyz", frozenset({"verbose", "x"}))),
        (b"GET /a HTTP/1.1\r\nHost: x\r\nACCEPT: text/plain" + END, Asked("GET", "/a", frozenset(), "text/plain")),
    ],
)
def test_a_request_is_read(data: bytes, asked: Asked) -> None:
    assert asked_in(data) == asked
    assert [asked_in(data[:size]) for size in range(len(data))] == [None] * len(data)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (END, HTTPStatus.BAD_REQUEST),
        (b"\x16\x03\x01\x02\x00\x01" + END, HTTPStatus.BAD_REQUEST),
        (b"GET /livez" + END, HTTPStatus.BAD_REQUEST),
        (b"GET / x HTTP/1.1" + END, HTTPStatus.BAD_REQUEST),
        (b"GET / HTTP/2.0" + END, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED),
        (b"POST /livez HTTP/1.1" + END, HTTPStatus.METHOD_NOT_ALLOWED),
        (b"GET /" + b"x" * MAX_HEAD, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 2_000 + END, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
    ],
)
def test_what_is_no_request_is_refused(data: bytes, status: HTTPStatus) -> None:
    answer = asked_in(data)

    assert isinstance(answer, Page)
    assert answer.status == status


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda rest: b"GET /" + rest + END)))
def test_whatever_comes_is_read_or_refused_and_never_a_mistake(data: bytes) -> None:
    found = asked_in(data)

    assert found is None or isinstance(found, Asked) or found.status >= HTTPStatus.BAD_REQUEST


def test_a_head_has_the_length_of_the_body_and_no_body() -> None:
    page = plain_page(HTTPStatus.OK, "well")

    assert written(page) == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n"
        b"Cache-Control: no-store\r\nConnection: close\r\n\r\nwell\n"
    )
    assert written(page, is_head=True) == written(page).removesuffix(b"well\n")
    assert b"\r\nAllow: GET, HEAD\r\n" in written(plain_page(HTTPStatus.METHOD_NOT_ALLOWED))


def test_a_look_has_a_line_for_each_problem_or_for_everything() -> None:
    well = HealthLook(lines=(HealthLine(name="turns"), HealthLine(name="old", problem="gone", counts=False)))
    ill = HealthLook(lines=(HealthLine(name="turns"), HealthLine(name="database", problem="no route")))

    assert health_page(well, verbose=False).body == b"old: gone (does not count)\nok\n"
    assert health_page(well, verbose=True).body == b"turns: ok\nold: gone (does not count)\nok\n"
    assert health_page(ill, verbose=False) == plain_page(HTTPStatus.SERVICE_UNAVAILABLE, "database: no route\nnot ok")
