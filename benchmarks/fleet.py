"""`python -m benchmarks.fleet [--quick] [--json] [--rows outbox_drain]`: measure parts of a fleet, print a table."""

from __future__ import annotations

import sys

from benchmarks.fleet_plan import DECORRELATED, EACH, FLEET, ONE
from benchmarks.jobs import open_sides
from benchmarks.kernel import main
from benchmarks.model import FLOOR, OTPY

MODULES = {
    OTPY: "fleet_side",
    EACH: "fleet_floors",
    ONE: "fleet_floors",
    FLOOR: "fleet_floors",
    DECORRELATED: "fleet_herds",
}

if __name__ == "__main__":
    sys.exit(main(plan=FLEET, sides=lambda folder: open_sides(MODULES, folder), program="benchmarks.fleet"))
