"""Kinds that stand in the file that is run: `python shop.py`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from support.forked import run

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
import otpy
from otpy import jobs


@jobs.job(killable=True)
def double(number: int) -> int:
    return number * 2


if __name__ == "__main__":
    engine = jobs.engine("jobs.db", [double], crews=[jobs.Crew(name="one", size=1, spare=0, place="process")])
    with otpy.run(engine, name="main-program", control="off") as system:
        made = jobs.of(system).enqueue(double.new(21))
        job = jobs.of(system).wait(made.id, 30.0)
        print(job.kind, job.state, job.result_value, job.crashes)
"""


def test_a_kind_of_the_program_s_own_file_runs_in_a_process(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SOURCE)
    done = run([sys.executable, "shop.py"], cwd=tmp_path, text=True, timeout=50)
    assert done.stdout == "shop.double done 42 0\n", done.stderr
