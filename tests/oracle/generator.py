"""Draws scenarios. What OTP itself leaves open, and where otpy differs on purpose, is never drawn.

Each scenario is of one family; a family is what may stand together so that the outcome is certain:

- `limits`: all strategies, limits of 0 to 3 restarts, starts that fail for ever, significant children, children that
  hang in `terminate` and are killed after 20 ms;
- `groups`: the same without reaching a limit, so that a script goes on for long;
- `gates`: starts and handlers that wait until the script lets them go, and what is asked meanwhile;
- `links`: links, monitors, `trap_exit`, helpers, exit signals between workers;
- `kills`: supervisors are killed too.

In the first three everything happens in one certain order, and the order is compared. In the last two several actors
act at the same time, so each incarnation has a lane of its own. So have the children of dynamic supervisors.

Never drawn, for OTP leaves it open:

- an actor that sees another's end both by a link and by a monitor, or along two ways: which message is first is open;
- links or monitors between workers while a supervisor that keeps one of them stops: whether the other's exit message is
  handled before its own end is open (all let go before the end; `links` stops no supervisor before);
- a supervisor with links below it that is killed: the same;
- `continue` in a worker that an exit signal could end before it runs: only trapping ones that are not killed (and
  one that crashes, `x`, only where a restart concerns nobody else);
- an end while the start of its own supervisor waits at a gate: when the gate opens, that supervisor acts on the end
  while the one above goes on, too (gates only below the top, and where the script adds a child);
- a message to a worker whose `init` waits at a gate: the same (the step then says `starting`);
- the order of what dynamic supervisors list, and of what their children do when they stop.

Never drawn, for otpy differs on purpose (docs/reference/not-as-otp.md, docs/explanation/semantics.md):

- windows of time: all are a million seconds wide, for OTP counts in whole seconds;
- ids of dynamic children, the `specs` they count as, terminating a dead one (Elixir's `not_found`), a restart of one
  that is ignored (a ghost entry on OTP 25), counting one whose end is not yet, or never, heard (active in OTP);
- a link to a dead actor by one that does not trap: an error in OTP, an exit signal in otpy;
- starts that fail for actors other than supervisors: OTP 25 leaves an exit message behind;
- `{error, Reason}` from `init`: no proper return value on OTP 25; `throw` and other bad returns;
- suspended actors whose supervisor or parent stops: they obey in OTP, and wait until resumed in otpy;
- an actor that sends an exit signal to itself, and goes on in otpy until its handler returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from .families import FAMILIES
from .model import Scenario
from .scripts import Script
from .trees import Forest

if TYPE_CHECKING:
    from .families import Family

__all__ = ["scenarios"]


@st.composite
def scenarios(draw: Any, families: tuple[Family, ...] = FAMILIES) -> Scenario:
    """Any scenario of these families."""
    family = draw(st.sampled_from(families))
    forest = Forest(draw, family)
    tree = forest.top()
    script = Script(draw, family, forest)
    return Scenario(tree, script.steps(), draw(st.integers(0, 999)))
