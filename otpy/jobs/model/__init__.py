"""What is known of jobs, as plain values: no clock and no I/O.

Times are whole milliseconds of the wall clock: what two programs share is compared as numbers, in one unit.
What is made once for each job is a named tuple: a frozen dataclass of thirty fields costs more than its row in SQLite.
"""

from __future__ import annotations

__all__: list[str] = []
