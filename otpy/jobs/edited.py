"""A job's arguments with some of them changed by name, as people do from outside before it is run again."""

from __future__ import annotations

from inspect import Parameter
from typing import TYPE_CHECKING, Any

from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_str, visible
from otpy.errors import SpecError
from otpy.jobs.errors import ArgumentsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.jobs.kind import Kind
    from otpy.jobs.model.job import Job
    from otpy.jobs.spec import JobSpec

__all__ = ["edited"]

MANY = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def edited(kind: Kind[..., Any], job: Job, changes: Mapping[str, object]) -> JobSpec[Any]:
    """The same work with these arguments; those that its function has learnt to take since may be among them.

    Raises:
        SpecError: it takes none of that name, or wants others too.
        ArgumentsError: one of them cannot be carried.
    """
    args, kwargs = job.arguments
    parameters = kind.signature.parameters
    known = [name for name, one in parameters.items() if one.kind not in MANY]
    takes_any = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
    for name in changes:
        if name not in known and not takes_any:
            raise SpecError(kind.name, f"no argument {visible(name, 80)!r}: {did_you_mean(name[:80], known)}")
    try:
        bound = kind.signature.bind_partial(*args, **{**kwargs, **_by_name(changes, known, present=False)})
        bound.arguments.update(_by_name(changes, known, present=True))
        return kind.new(*bound.args, **bound.kwargs)
    except ArgumentsError:
        raise
    except TypeError as error:
        raise SpecError(kind.name, safe_str(error).removeprefix(f"{kind.name}: ")) from None


def _by_name(changes: Mapping[str, object], known: list[str], *, present: bool) -> dict[str, object]:
    """Those that have a parameter of their own; or the others, which go where `**words` collects them."""
    return {name: value for name, value in changes.items() if (name in known) is present}
