"""Each case of OTP's behaviour is proved by a test, or stands in the table of what otpy does otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass

from support.otp_cases import CASES, claims
from support.source import ROOT

PAGE = ROOT / "docs/reference/not-as-otp.md"
ROW = re.compile(r"^\| (?P<numbers>\d+(?:, \d+)*) \| (?P<followed>[^|]*) \|(?P<rest>.*)\|$", re.MULTILINE)

PROVED = {claim.number for claim in claims()}


@dataclass(frozen=True, slots=True)
class Row:
    """One case in the table."""

    number: int
    followed: str
    otp: str
    otpy: str
    why: str


def _rows() -> list[Row]:
    found = ROW.finditer(PAGE.read_text())
    return [
        Row(int(number), row["followed"], *(cell.strip() for cell in row["rest"].split("|")))
        for row in found
        for number in row["numbers"].split(", ")
    ]


ROWS = _rows()
TABLE = {row.number for row in ROWS}


def test_marks_name_cases_that_exist() -> None:
    wrong = [f"{claim.place} names {claim.number!r}" for claim in claims() if claim.number not in CASES]

    assert wrong == []


def test_marks_stand_on_tests() -> None:
    texts = (path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    uses = sum(len(re.findall(r"^@pytest\.mark\.otp_case\b", text, re.MULTILINE)) for text in texts)

    assert uses == len({claim.place for claim in claims()})


def test_the_table_names_cases_that_exist_and_each_once() -> None:
    numbers = [row.number for row in ROWS]

    assert numbers == sorted(set(numbers))
    assert set(numbers) - set(CASES) == set()


def test_each_row_of_the_table_has_what_otp_does_what_otpy_does_and_why() -> None:
    bare = [row for row in ROWS if not (row.otp and row.otpy and row.why)]

    assert bare == []
    assert {row.followed for row in ROWS} == {"partly", "no"}


def test_each_case_is_proved_or_in_the_table() -> None:
    missing = {number: what for number, what in CASES.items() if number not in PROVED | TABLE}

    assert missing == {}


def test_the_table_says_of_each_case_whether_tests_prove_a_part_of_it() -> None:
    wrong = [row.number for row in ROWS if (row.followed == "partly") is not (row.number in PROVED)]

    assert wrong == []


def test_the_table_is_read_whole() -> None:
    """A row that the pattern does not see would be a case nobody answers for."""
    cases = PAGE.read_text().partition("## Cases")[2].partition("\n## ")[0]

    assert len(ROW.findall(cases)) == cases.count("\n|") - 2
