"""What happens in a system, as frozen values handed to whoever attached; by default they are logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.reason import Restart

if TYPE_CHECKING:
    from otpy.events.crash import ActorCrashed, Neighbour
    from otpy.events.draining import DrainBegun, DrainEnded, DrainFailed, DrainLate, DrainPhase
    from otpy.events.event import Event
    from otpy.events.fleet import FleetAway, FleetCalm, FleetFull, FleetShareFell, FleetShareRecovered, FleetStorm
    from otpy.events.hook import Events
    from otpy.events.jobs import (
        CrewChanged,
        JobFailed,
        JobsDrained,
        StaleWrite,
        StoreExposed,
        StoreFailed,
        StoreRecovered,
    )
    from otpy.events.leading import LeaderElected, LeaderLost, LeaderResigned
    from otpy.events.messages import DeadLetter, MailboxGrew, UnknownMessage
    from otpy.events.names import NameHeld, NameLost, NameResigned
    from otpy.events.processes import ProcessAnswers, ProcessSilent
    from otpy.events.resilience import (
        AutonomyChanged,
        BreakerChanged,
        ConfigurationApplied,
        ConfigurationDegraded,
        ConfigurationFailed,
        ConfigurationProved,
        ConfigurationRecovered,
        ConfigurationRefused,
        ConfigurationSetAside,
        OutboxDegraded,
        OutboxDropped,
        OutboxRecovered,
        OutboxSetAside,
    )
    from otpy.events.rolling import RollBegun, RollEnded, RollStep, RollStopped
    from otpy.events.state import StateFileSetAside, StateRestored, StateSetAside
    from otpy.events.supervision import (
        ChildGivenUp,
        ChildMoved,
        ChildStarted,
        ChildStartFailed,
        ChildTerminated,
        ChildUnstopped,
        RestartDelayed,
        RestartLimitReached,
    )
    from otpy.events.threads import LoopBlocked, ThreadLimitNear, ZombieEnded, ZombieLimitReached, ZombieMade
else:  # a type checker that saw them would take any word for a name of this module's

    def __getattr__(name):  # noqa: ANN001, ANN202 - as above
        """All of them at once when somebody asks for one; a program that does not loads those that it tells of."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        from importlib import import_module  # noqa: PLC0415 - as above
        from pkgutil import iter_modules  # noqa: PLC0415 - as above

        for module in iter_modules(__path__):
            found = import_module(f"{__name__}.{module.name}")
            globals().update({each: getattr(found, each) for each in found.__all__ if each in __all__})
        return globals()[name]

    def __dir__():  # noqa: ANN202 - as above
        return sorted({*globals(), *__all__})


__all__ = [
    "ActorCrashed",
    "AutonomyChanged",
    "BreakerChanged",
    "ChildGivenUp",
    "ChildMoved",
    "ChildStartFailed",
    "ChildStarted",
    "ChildTerminated",
    "ChildUnstopped",
    "ConfigurationApplied",
    "ConfigurationDegraded",
    "ConfigurationFailed",
    "ConfigurationProved",
    "ConfigurationRecovered",
    "ConfigurationRefused",
    "ConfigurationSetAside",
    "CrewChanged",
    "DeadLetter",
    "DrainBegun",
    "DrainEnded",
    "DrainFailed",
    "DrainLate",
    "DrainPhase",
    "Event",
    "Events",
    "FleetAway",
    "FleetCalm",
    "FleetFull",
    "FleetShareFell",
    "FleetShareRecovered",
    "FleetStorm",
    "JobFailed",
    "JobsDrained",
    "LeaderElected",
    "LeaderLost",
    "LeaderResigned",
    "LoopBlocked",
    "MailboxGrew",
    "NameHeld",
    "NameLost",
    "NameResigned",
    "Neighbour",
    "OutboxDegraded",
    "OutboxDropped",
    "OutboxRecovered",
    "OutboxSetAside",
    "ProcessAnswers",
    "ProcessSilent",
    "Restart",
    "RestartDelayed",
    "RestartLimitReached",
    "RollBegun",
    "RollEnded",
    "RollStep",
    "RollStopped",
    "StaleWrite",
    "StateFileSetAside",
    "StateRestored",
    "StateSetAside",
    "StoreExposed",
    "StoreFailed",
    "StoreRecovered",
    "ThreadLimitNear",
    "UnknownMessage",
    "ZombieEnded",
    "ZombieLimitReached",
    "ZombieMade",
]
