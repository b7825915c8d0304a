"""The guess what a misspelt word was meant to be."""

from __future__ import annotations

from difflib import get_close_matches

import pytest

from otpy.core.suggest import MAX_REMEMBERED, did_you_mean, nearest, nearest_option

WORDS = [
    "strategy",
    "strategies",
    "startegy",
    "children",
    "child",
    "max_seconds",
    "seconds_max",
    "max",
    "x",
    "tree",
    "eert",
]


def test_names_the_nearest_word() -> None:
    assert did_you_mean("temporery", ["permanent", "temporary", "transient"]) == "did you mean 'temporary'?"


def test_lists_all_words_when_none_is_near() -> None:
    assert did_you_mean("x", ["b", "a"]) == "known are a, b"


def test_where_there_are_no_words_that_is_said() -> None:
    assert did_you_mean("x", []) == "there is none"


def test_of_very_many_words_the_first_are_listed() -> None:
    assert did_you_mean("x", [f"{number:03}" for number in range(500)]).endswith("018, 019 and 480 more")


def test_a_word_beyond_all_measure_is_compared_by_its_head() -> None:
    assert nearest("n" * 60_000, ["n" * 200]) == "n" * 200


@pytest.mark.parametrize("cutoff", [0.3, 0.6, 0.85, 1.0])
@pytest.mark.parametrize("word", WORDS)
def test_what_is_left_out_before_difflib_is_asked_is_never_the_nearest(word: str, cutoff: float) -> None:
    others = [each for each in WORDS if each != word]

    assert [nearest(word, others, cutoff=cutoff)] == (get_close_matches(word, others, 1, cutoff) or [None])


def test_what_is_remembered_of_a_word_is_what_was_found_among_those_words() -> None:
    few, many = ("seconds", "child"), ("max_seconds", "children")
    for _ in range(2):
        assert [nearest_option("childs", known, 0.6) for known in (few, many)] == ["child", "children"]
        assert nearest_option("childs", few, 1.0) is None


def test_no_more_words_are_remembered_than_programs_have() -> None:
    for number in range(MAX_REMEMBERED + 10):
        nearest_option(f"word_{number}", ("x",), 0.8)

    assert nearest_option.cache_info().currsize == MAX_REMEMBERED
