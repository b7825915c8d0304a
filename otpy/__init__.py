"""otpy: Erlang/OTP-style supervision trees for Python services.

Its names are those of `otpy.front`, which is loaded when the first of them is asked for: a command that looks at a
program from outside, as `otpy tree`, asks for none, and needs half the time without all that runs one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otpy.front import (
        BRUTAL_KILL,
        INFINITY,
        Actor,
        Application,
        Backoff,
        Caller,
        ChildSpec,
        Continue,
        Crashed,
        Down,
        Drain,
        Draining,
        DynamicSupervisor,
        Exit,
        Exited,
        ExitSignal,
        Fail,
        FailedChild,
        GenServer,
        Ignore,
        Kill,
        Killed,
        Limit,
        Monitor,
        Name,
        NamedRef,
        NoConnection,
        NoProc,
        NoReply,
        Normal,
        OtpyError,
        Reason,
        Ref,
        Reply,
        RestartLimit,
        Restored,
        Shutdown,
        Signalled,
        StateFile,
        Stop,
        Supervisor,
        System,
        asleep,
        call,
        cast,
        checkpoint,
        child,
        current,
        draining,
        dynamic,
        exit,  # noqa: A004 - OTP's word; nobody imports it by star
        in_flight,
        main,
        name,
        run,
        run_async,
        sleep,
    )
else:  # a type checker that saw them would take any word for a name of otpy's
    import sys as _sys
    from importlib import import_module as _import

    def __getattr__(name):  # noqa: ANN001, ANN202 - as above
        if not name.startswith("__"):
            front = _import("otpy.front")
            for each in __all__:  # but what somebody has put in the place of one stays
                globals().setdefault(each, getattr(front, each))
            if name in globals():  # one of its names, or a part of the house that came with them, as `errors`
                return globals()[name]
        raise AttributeError(f"module 'otpy' has no attribute {name!r}", name=name, obj=_sys.modules[__name__])

    def __dir__():  # noqa: ANN202 - as above
        return sorted({*globals(), *__all__})


__all__ = [
    "BRUTAL_KILL",
    "INFINITY",
    "Actor",
    "Application",
    "Backoff",
    "Caller",
    "ChildSpec",
    "Continue",
    "Crashed",
    "Down",
    "Drain",
    "Draining",
    "DynamicSupervisor",
    "Exit",
    "ExitSignal",
    "Exited",
    "Fail",
    "FailedChild",
    "GenServer",
    "Ignore",
    "Kill",
    "Killed",
    "Limit",
    "Monitor",
    "Name",
    "NamedRef",
    "NoConnection",
    "NoProc",
    "NoReply",
    "Normal",
    "OtpyError",
    "Reason",
    "Ref",
    "Reply",
    "RestartLimit",
    "Restored",
    "Shutdown",
    "Signalled",
    "StateFile",
    "Stop",
    "Supervisor",
    "System",
    "asleep",
    "call",
    "cast",
    "checkpoint",
    "child",
    "current",
    "draining",
    "dynamic",
    "exit",
    "in_flight",
    "main",
    "name",
    "run",
    "run_async",
    "sleep",
]
