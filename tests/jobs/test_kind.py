"""What a job declares, and what is refused of it where it is declared."""

from __future__ import annotations

from typing import Any

import pytest

import otpy
from otpy import jobs
from otpy.jobs.labels import label_problem, subsets, written


def send(to: str) -> None:
    """The work itself does not matter here."""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"que": "mail"}, "no option 'que': did you mean 'queue'?"),
        ({"queue": ""}, "queue='': a text"),
        ({"needs": "gpu"}, "needs='gpu': a set of texts"),
        ({"needs": {"a,b"}}, "needs: 'a,b': a text without commas"),
        ({"breakers": "mail"}, "breakers='mail': a tuple of them"),
        ({"unique": "to"}, "unique='to': a function of its arguments, or None"),
        ({"until": "ever"}, "until='ever': started, finished, forever, or seconds > 0"),
        ({"timeout": 0}, "timeout=0: seconds > 0, or None"),
        ({"until": 0}, "until=0: started, finished, forever, or seconds > 0"),
        (
            {"until": "finished", "on_conflict": "debounce", "max_wait": 9.0},
            "until='finished': on_conflict='debounce' goes with started, or what comes while one runs is lost",
        ),
        (
            {"on_conflict": "debounce"},
            "on_conflict='debounce' and max_wait=, seconds after which it is put off no longer, go together",
        ),
        ({"on_conflict": "debounce", "max_wait": "1"}, "max_wait='1': seconds > 0"),
        ({"replaces": "args"}, "replaces='args': some of args, time, priority, tenant, deadline"),
        ({"replaces": {"queue"}}, "replaces={'queue'}: some of args, time, priority, tenant, deadline"),
        ({"start_within": "1"}, "start_within='1': seconds > 0, or None"),
        ({"limit": True}, "limit=True: a whole number >= 1, or None"),
    ],
)
def test_an_option_that_cannot_be_is_refused_where_it_is_declared(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(otpy.errors.SpecError) as refused:
        jobs.job(name="send", **options)(send)

    assert str(refused.value) == f"send: {problem}"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"delay": -1.0}, "delay=-1.0: seconds >= 0"),
        ({"deadline": float("inf")}, "deadline=inf: seconds > 0, or None"),
        ({"start_within": 0}, "start_within=0: seconds > 0, or None"),
        ({"priority": 10**7}, "priority=10000000: a whole number, less is sooner"),
        ({"tenant": 7}, "tenant=7: a text"),
    ],
)
def test_an_option_of_one_enqueue_is_refused_where_it_is_written(options: dict[str, Any], problem: str) -> None:
    kind = jobs.job(name="send")(send)

    with pytest.raises(otpy.errors.SpecError) as refused:
        kind.new("a@b").opts(**options)

    assert str(refused.value) == f"send: {problem}"


def test_a_key_is_not_promised_for_longer_than_it_is_known() -> None:
    kind = jobs.job(name="send", unique=lambda to: to, until=3_600.0)(send)

    with pytest.raises(otpy.errors.SpecError, match="until=3600 s, but what has ended is forgotten after keep=60 s"):
        jobs.engine("jobs.db", [kind], keep=60.0)


def test_what_a_kind_says_of_its_key_goes_with_each_job() -> None:
    kind = jobs.job(name="send", unique=lambda to: to, on_conflict="debounce", max_wait=2.5, replaces=["args"])(send)
    hourly = jobs.job(name="send", unique=lambda to: to, until=3_600)(send)

    put_off, once = kind.new("a@b").unique, hourly.new("a@b").unique

    assert put_off is not None
    assert once is not None
    assert (put_off.key, put_off.until, put_off.max_wait_ms, put_off.replaces) == (
        "send:a@b",
        "started",
        2_500,
        ("args",),
    )
    assert (once.until, once.period_ms, once.on_conflict) == ("period", 3_600_000, "keep")


def test_a_crew_whose_labels_are_a_text_is_refused() -> None:
    """It would have had the labels g, p and u."""
    kind = jobs.job(name="send")(send)

    with pytest.raises(otpy.errors.SpecError, match="crew 'a': labels='gpu': a set of texts"):
        jobs.engine("jobs.db", [kind], crews=[jobs.Crew(name="a", labels="gpu")])  # type: ignore[arg-type]


def test_whatever_an_agent_can_do_is_a_subset_of_its_labels() -> None:
    assert subsets({"smtp", "gpu"}) == ("", "gpu", "smtp", "gpu,smtp")
    assert written(["smtp", "gpu", "smtp"]) == "gpu,smtp"


def test_a_crew_has_no_more_labels_than_a_claim_can_name() -> None:
    assert label_problem("labels", {str(number) for number in range(11)}) == "labels: 11 labels, more than 10"


def test_wrong_arguments_are_refused_by_the_kind_that_does_not_take_them() -> None:
    with pytest.raises(TypeError, match=r"^send: missing a required argument"):
        jobs.job(name="send")(send).new()  # type: ignore[call-arg]


def test_who_is_no_system_has_no_jobs() -> None:
    with pytest.raises(TypeError, match=r"jobs.of takes a system, as otpy.run gives it, .* not None"):
        jobs.of(None)  # type: ignore[arg-type]
