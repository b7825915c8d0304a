"""Is otpy fast and small enough to be the ground of a service? `python -m benchmarks.kernel` measures the kernel.

Each row runs otpy, bare pykka, the fastest living Python rivals, raw threads as the floor and Erlang, in turn, in
processes of their own. Caveats: figures of one machine are not another's, read the ratios; the rivals on asyncio are
driven from inside their loop, which is the best they can do; a network, a disk and real work are in no row.
"""

from __future__ import annotations
