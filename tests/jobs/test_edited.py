"""Arguments of jobs that are changed by name, while their functions may have changed as well."""

from __future__ import annotations

from typing import Any

import pytest

from otpy.errors import SpecError
from otpy.jobs.args import decode, encode
from otpy.jobs.edited import edited
from otpy.jobs.errors import ArgumentsError
from otpy.jobs.kind import job

from .rows import row


@job(name="pay")
def pay(to: str, amount: int, *, note: str = "") -> None: ...


@job(name="any")
def anything(first: int, /, *rest: int, **words: Any) -> None: ...


@pytest.mark.parametrize(
    ("kind", "before", "changes", "after"),
    [
        (pay, (("a", 1), {}), {"amount": 2}, (("a", 2), {})),
        (pay, (("a", 1), {}), {"note": "late", "to": "b"}, (("b", 1), {"note": "late"})),
        (pay, (("a",), {}), {"amount": 2}, (("a", 2), {})),  # it has learnt to take another one
        (anything, ((1, 2, 3), {"a": 1}), {"first": 0, "b": 2, "a": 3}, ((0, 2, 3), {"a": 3, "b": 2})),
    ],
)
def test_what_is_named_is_changed_and_all_else_stays(kind: Any, before: Any, changes: Any, after: Any) -> None:
    assert decode(edited(kind, row(args=encode(*before)), changes).args) == after


@pytest.mark.parametrize(
    ("before", "changes", "text"),
    [
        (("a", 1), {"amuont": 2}, "^pay: no argument 'amuont': did you mean 'amount'?"),
        (("a",), {"to": "b"}, "missing a required argument: 'amount'"),
        (("a", 1, 2), {"to": "b"}, "too many positional arguments"),
        (("a", 1), {"to": object()}, "object is no plain data"),
    ],
)
def test_what_cannot_be_is_refused(before: Any, changes: Any, text: str) -> None:
    with pytest.raises((ArgumentsError, SpecError), match=text):
        edited(pay, row(args=encode(before, {})), changes)
