"""The guess what a misspelt word was meant to be."""

from __future__ import annotations

from otpy.core.suggest import did_you_mean


def test_names_the_nearest_word() -> None:
    assert did_you_mean("temporery", ["permanent", "temporary", "transient"]) == "did you mean 'temporary'?"


def test_lists_all_words_when_none_is_near() -> None:
    assert did_you_mean("x", ["b", "a"]) == "known are a, b"
