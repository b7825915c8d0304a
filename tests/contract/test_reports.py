"""Public reports of other systems: each row is told on its page, and each that can occur here has its test."""

from __future__ import annotations

from collections import defaultdict

from support.reports import marks, rows

NUMBERS = {
    "A": "1 2 4 5 7 8 10 11 13 14 16 17 19 20 22 23 25 26 28 29 31 32 34 35 37 38 40 41 43 44 46 47",
    "B": "49 50 52 53 55 56 58 59 61 62 64 65 67 68 70 71 73 74 76 77 79 80 82 83",
    "C": "85 86 88 89 91 92 94",
    "D": "95 97 98 100 101 103 104 106 107 109 110 112 113 115 116 118 119 121 122 124 125 127 128 130 131 133 134 136",
    "F": "148 149 151 152 154 155 157",
    "J": "1 2 4 5 7 8 10 11 13 14 16 17 19 20 22 23 25 26 28 29 31 32 34 35 37 38 40 41 43 44 46 47 49 "
    "50 52 53 55 56 58 59 61 62 64 65 67 68 70",
}
"""All reports about supervision, messages, timers, stopping and inspection that were found; of those about jobs (J, a
collection of its own), the ones about what is there of them."""

TABLE = rows()
MARKS = marks()


def test_the_table_has_every_report_once_in_order() -> None:
    assert [row.row for row in TABLE] == [
        f"{letter}{number}" for letter in NUMBERS for number in NUMBERS[letter].split()
    ]


def test_a_row_names_the_files_that_test_it_or_says_why_none_does() -> None:
    """`tested in` files, and what of it is missing; or `not here yet:` what brings it; or `cannot occur:` why."""
    marked = {row.row: {mark.file for mark in MARKS if mark.row == row.row} for row in TABLE}

    assert [(row.row, row.files, marked[row.row]) for row in TABLE if row.files != marked[row.row]] == []
    ways = {True: "tested in `", False: ("not here yet: ", "cannot occur: ")}
    assert [row for row in TABLE if not row.here.startswith(ways[bool(marked[row.row])])] == []


def test_a_marker_names_a_report_of_its_row() -> None:
    named = defaultdict[str, set[str]](set)
    for row in TABLE:
        named[row.row] |= {*row.names}

    assert [str(mark) for mark in MARKS if not mark.names or set(mark.names) - named[mark.row]] == []
