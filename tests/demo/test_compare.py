"""Two readings side by side: equal, unequal, and set aside where a file changed in between."""

from __future__ import annotations

from otpy.demo.compare import Result, compare, plain_loop, total
from otpy.demo.files import Count, File, Problem

ONE, TWO, THREE = (File(name, (0, 0, 0, 0)) for name in ("one", "two", "three"))


def counted(file: File, size: int = 1) -> Result:
    return file, Count(1, size, 0, 0, size)


def unread(file: File, text: str = "gone") -> Result:
    return file, Problem(file.path, text)


def test_the_order_does_not_matter() -> None:
    found = compare([counted(TWO, 2), counted(ONE)], [counted(ONE), counted(TWO, 2)])
    assert found.is_equal
    assert found.agents == found.plain == Count(2, 3, 0, 0, 3)


def test_a_file_that_was_counted_twice_makes_the_difference() -> None:
    assert not compare([counted(ONE), counted(ONE)], [counted(ONE)]).is_equal


def test_a_file_that_was_left_out_makes_the_difference() -> None:
    assert not compare([counted(ONE)], [counted(ONE), counted(TWO)]).is_equal


def test_another_content_makes_the_difference() -> None:
    assert not compare([(ONE, Count(1, 1, 0, 0, 8))], [(ONE, Count(1, 1, 0, 0, 9))]).is_equal


def test_what_neither_could_read_is_told_once_by_what_the_loop_met() -> None:
    found = compare([unread(ONE, "busy")], [unread(ONE, "gone")])
    assert found.is_equal
    assert (found.problems, found.changed) == ((Problem("one", "gone"),), ())


def test_what_only_one_could_read_counts_on_neither_side() -> None:
    found = compare([counted(ONE), unread(TWO), counted(THREE)], [unread(ONE), counted(TWO), counted(THREE)])
    assert found.is_equal
    assert found.agents == Count(1, 1, 0, 0, 1)
    assert found.changed == (Problem("two", "gone"), Problem("one", "gone"))


def test_the_plain_loop_reads_one_after_the_other() -> None:
    results = plain_loop([ONE, TWO])
    assert next(results) == (ONE, Problem("one", "No such file or directory"))
    assert [file for file, _ in results] == [TWO]


def test_problems_add_nothing_to_a_total() -> None:
    assert total([counted(ONE, 5), unread(TWO)]) == Count(1, 5, 0, 0, 5)
