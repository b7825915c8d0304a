"""What an outbox has in its file: rows come in and go out, within the bounds of their topics, and all is counted."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from otpy.resilience.errors import NoSuchTopicError, OutboxFileError, OutboxFullError
from otpy.resilience.outbox.topic import Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from otpy.resilience.outbox.batch import Batch, Receipt, Row
    from otpy.resilience.outbox.books import Books, Why
    from otpy.resilience.outbox.file import OutboxFile
    from otpy.resilience.outbox.tables import Fresh, Tables

__all__ = ["Put", "Shelf"]

Put = tuple[str, str, bytes]
"""What somebody wants to put: topic, key, payload."""


class Shelf:
    """Opened and used by one actor. What cannot be kept raises OutboxFileError, and then nothing of it has changed."""

    def __init__(
        self,
        name: str,
        file: OutboxFile,
        topics: Mapping[str, Topic],
        books: Books,
        now: Callable[[], float],
        wall: Callable[[], int],
    ) -> None:
        """Begin a new incarnation.

        Args:
            name: the outbox's.
            file: open.
            topics: what it takes; of others that are in the file all is sent.
            books: filled here.
            now: the system's clock.
            wall: the time of day, in milliseconds.
        """
        self._name, self._file, self._topics, self._books = name, file, topics, books
        self._now, self._wall, self._opened = now, wall, now()
        self._done: dict[str, int] = {}  # by topic, up to where rows are taken that could not be deleted yet
        self._stretch: dict[str, int] = {}  # by topic, up to where rows were thinned out
        self._turn = 0
        self._unwritten: set[tuple[str, Why]] = set()  # drops that no file knows of yet
        with file.transaction() as tables:
            self._last, self._before = tables.load(books)
            self._life, self.incarnation = tables.begin_life()

    @property
    def last(self) -> int:
        """The highest number that a row has got."""
        return self._last

    @property
    def open_for(self) -> int:
        """Milliseconds for which the outbox has been open, in all its incarnations: the clock of ages."""
        return self._before + int((self._now() - self._opened) * 1_000)

    @property
    def owes(self) -> bool:
        """Whether rows are to be deleted that a full disk has kept."""
        return bool(self._done)

    def put(self, all_of: Sequence[Put]) -> list[int | Exception | None]:
        """Put rows in one commit: of each its number, None where it is dropped, or why it is not taken."""
        with self._transaction() as tables:
            fresh: list[Fresh] = []
            open_for, wall = self.open_for, self._wall()
            answers = [self._shelve(one, fresh, open_for, wall) for one in all_of]
            if fresh:
                tables.insert(fresh)
                for topic in {row[0] for row in fresh}:
                    self._make_room(tables, topic)
        return answers

    def next_batch(self, rows: int, size: int) -> tuple[str, str, list[Row]] | None:
        """The topic whose turn it is, the incarnation, and its oldest rows; None when nothing waits.

        Raises OutboxFileError when they cannot be read.

        Topics take turns, so that a long queue in one of them holds up no other.
        """
        names = sorted(self._books.tallies)
        for step in range(len(names)):
            place = (self._turn + step) % len(names)
            found = self._take(names[place], rows, size)
            if found is not None:
                self._turn = place + 1
                return found
        return None

    def settle(self, batch: Batch, receipt: Receipt) -> int:
        """What of a batch is taken, or refused for good, goes; gives how many rows got on."""
        through = batch.last if receipt.through is None else receipt.through
        taken = [row.sequence for row in batch.rows if row.sequence <= through and row.sequence not in receipt.refused]
        refused = [row.sequence for row in batch.rows if row.sequence in receipt.refused]
        if not taken and not refused:
            return 0
        reach = max([number for number in refused if number <= through], default=0)
        reach = max([reach, *taken])
        try:
            with self._transaction() as tables:
                self._drop(tables, batch.topic, "refused", tables.remove_some(self._books, batch.topic, refused))
                tables.remove(self._books, batch.topic, max(reach, self._done.get(batch.topic, 0)))
                tables.give_back()
            self._done.pop(batch.topic, None)
        except OutboxFileError:  # it is not sent again all the same, as long as this program lives
            self._done[batch.topic] = max(reach, self._done.get(batch.topic, 0))
        self._books.tally(batch.topic).is_full = False
        self._books.sent += len(taken)
        return len(taken) + len(refused)

    def keep_up(self) -> None:
        """Delete what could not be deleted before, and what is too old; note the time."""
        with self._transaction() as tables:
            for topic, through in self._done.items():
                tables.remove(self._books, topic, through)
            for topic in [*self._books.tallies]:
                age = self._topic(topic).age
                if age is not None:
                    gone = tables.expire(self._books, topic, self.open_for - int(age * 1_000))
                    self._drop(tables, topic, "age", gone)
                    self._books.tally(topic).is_full &= not gone[0]
            self._write(tables)
            tables.give_back()
        self._done.clear()

    def close(self) -> None:
        """Note the time, and let go of the file."""
        try:
            with self._transaction() as tables:
                self._write(tables)
        except OutboxFileError:  # ages begin a little younger the next time
            pass
        finally:
            self._file.close()

    def ages(self) -> bool:
        """Whether anything waits that will be too old."""
        return any(tally.rows and self._topic(name).age is not None for name, tally in self._books.tallies.items())

    def _shelve(self, one: Put, fresh: list[Fresh], open_for: int, wall: int) -> int | Exception | None:
        name, key, payload = one
        topic = self._topics.get(name)
        if topic is None:
            return NoSuchTopicError(self._name, name, self._topics)
        tally, size = self._books.tally(name), len(payload)
        is_over = tally.is_full = tally.rows >= topic.rows or tally.size + size > topic.size_bytes
        if is_over and (topic.overflow == "reject" or size > topic.size_bytes):
            return OutboxFullError(self._name, name, tally.rows, tally.size)
        if is_over and topic.overflow == "drop_new":
            self._books.drop(name, "new", 1, size)
            self._unwritten.add((name, "new"))
            return None
        self._last += 1
        fresh.append((name, self._last, self._life, key, wall, open_for, payload))
        tally.rows += 1
        tally.size += size
        if tally.head is None:
            tally.head = (self._last, open_for)
        return self._last

    def _make_room(self, tables: Tables, name: str) -> None:
        topic, tally = self._topic(name), self._books.tally(name)
        for _ in range(topic.rows + tally.rows):  # far more often than it can be needed
            if tally.rows <= topic.rows and tally.size <= topic.size_bytes:
                break
            if topic.overflow == "sample":
                rows, size, end = tables.thin(self._books, name, self._stretch.get(name, 0))
                self._stretch[name] = end
                self._drop(tables, name, "sample", (rows, size))
            else:
                over = (tally.rows - topic.rows, tally.size - topic.size_bytes)
                self._drop(tables, name, "oldest", tables.cut(self._books, name, *over))

    def _write(self, tables: Tables) -> None:
        tables.write_clock(self.open_for)
        tables.write_drops(self._books, self._unwritten)
        self._unwritten.clear()

    def _drop(self, tables: Tables, topic: str, why: Why, gone: tuple[int, int]) -> None:
        if gone[0]:
            self._books.drop(topic, why, *gone)
            tables.write_drops(self._books, [(topic, why)])

    def _take(self, topic: str, rows: int, size: int) -> tuple[str, str, list[Row]] | None:
        if not self._books.tallies[topic].rows:
            return None
        with self._file.reading() as tables:
            incarnation, found, bad = tables.take(topic, self._done.get(topic, 0), rows, size)
        if bad:
            with self._transaction() as tables:
                self._drop(tables, topic, "damaged", tables.remove_some(self._books, topic, bad))
        return (topic, incarnation, found) if found else None

    def _topic(self, name: str) -> Topic:
        return self._topics.get(name) or Topic(name)

    @contextmanager
    def _transaction(self) -> Iterator[Tables]:
        """One that the books go back with."""
        books = self._books
        books.begin()
        try:
            with self._file.transaction() as tables:
                yield tables
        except BaseException:  # the numbers go on: a row of a commit that failed may have got onto the disk
            books.undo()
            raise
