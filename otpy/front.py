"""All that `from otpy import …` gives, and with it everything that a program of actors runs on."""

from __future__ import annotations

from otpy.actors.dynamic_supervisor import DynamicSupervisor, dynamic
from otpy.actors.gen_server import GenServer
from otpy.actors.supervisor import Supervisor
from otpy.app.application import Application
from otpy.app.main import main
from otpy.app.run import run
from otpy.app.run_async import run_async
from otpy.core.backoff import Backoff
from otpy.core.decision import Continue, Fail, Ignore, NoReply, Reply, Stop
from otpy.core.intensity import Limit
from otpy.core.reason import (
    Crashed,
    Exit,
    Exited,
    FailedChild,
    Kill,
    Killed,
    NoConnection,
    NoProc,
    Normal,
    Reason,
    RestartLimit,
    Shutdown,
    Signalled,
)
from otpy.core.spec import BRUTAL_KILL, INFINITY, ChildSpec, Name, child, name
from otpy.errors import OtpyError
from otpy.runtime.actor import Actor
from otpy.runtime.awaited import asleep
from otpy.runtime.caller import Caller
from otpy.runtime.drain import Drain
from otpy.runtime.draining import Draining, draining, in_flight
from otpy.runtime.links import Down, ExitSignal, Monitor
from otpy.runtime.named import NamedRef
from otpy.runtime.nap import checkpoint, current, sleep
from otpy.runtime.nap import exit_with as exit  # noqa: A004 - OTP's word; nobody imports it by star
from otpy.runtime.ref import Ref
from otpy.runtime.request import call, cast
from otpy.runtime.restoring import Restored
from otpy.runtime.system import System
from otpy.state.plan import StateFile

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
