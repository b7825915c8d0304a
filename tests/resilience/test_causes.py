"""A breaker that opens says by what: the error, the status of the answer, and after how many attempts."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

import otpy
from otpy.events import BreakerChanged
from otpy.resilience import Breaker, RetryError, retry
from otpy.resilience.cause import status_of
from otpy.testing import Recorder

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


class ServiceError(Exception):
    """What a client library raises of an answer."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the service says {status}")
        self.response = SimpleNamespace(status_code=status)


def away() -> NoReturn:
    raise ServiceError(503)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_failure_that_is_one_too_many_is_told_with_its_status_and_its_retries(
    virtual_system: VirtualSystem, *, is_async: bool
) -> None:
    payments = Breaker("payments", failures=3)
    virtual_system.start(payments.child())
    plan = retry(on=ServiceError, attempts=3, breaker=payments, backoff=otpy.Backoff(first=0.0, most=0.0))

    async def awaited() -> NoReturn:
        away()

    with Recorder(virtual_system, BreakerChanged) as recorded:
        with pytest.raises(RetryError):
            asyncio.run(plan.acall(awaited)) if is_async else plan.call(away)
        virtual_system.wait_idle()
    [changed] = recorded.of(BreakerChanged)
    assert (changed.breaker, changed.after, changed.status, changed.attempts) == ("payments", "open", 503, 3)
    assert changed.error == f"{ServiceError.__module__}.ServiceError: the service says 503"
    assert "ServiceError: the service says 503; status 503; after 2 retries); next probe in" in str(changed)


def test_what_is_no_error_has_no_cause(virtual_system: VirtualSystem) -> None:
    payments = Breaker("payments", failures=1)
    virtual_system.start(payments.child())
    with Recorder(virtual_system, BreakerChanged) as recorded:
        payments.allow().failed()
        virtual_system.wait_idle()
        payments.reset()
        payments.force("open")
    assert [(one.after, one.error, one.attempts) for one in recorded.of(BreakerChanged)] == [
        ("open", None, None),
        ("closed", None, None),
        ("forced_open", None, None),
    ]


class Moody:
    @property
    def status(self) -> NoReturn:
        raise RuntimeError("not now")

    response: Any = SimpleNamespace(status=429)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"status": 500}, 500),
        ({"code": 404}, 404),
        ({"status_code": HTTPStatus.BAD_GATEWAY}, 502),
        ({"response": SimpleNamespace(status=429)}, 429),
        ({"code": "E42", "status": True, "response": None}, None),
        ({}, None),
    ],
)
def test_a_status_is_found_where_libraries_keep_it(facts: dict[str, Any], expected: int | None) -> None:
    error = ConnectionError()
    vars(error).update(facts)
    assert status_of(error) == expected


def test_a_property_that_raises_says_nothing() -> None:
    error = type("MoodyError", (Moody, Exception), {})()
    assert status_of(error) == 429
