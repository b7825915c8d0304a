"""The text of an interpreter that waits for programs to become, each in a copy of itself: `support.forked` starts it.

It is handed over by `-c` and imports nothing of the tests, for a program shall find none of them. It has one thread and
leaves signals as they are. Each program is the child of whoever asks: who has made it ends before it begins.
"""

from __future__ import annotations

import builtins
import fcntl
import gc
import importlib
import io
import json
import os
import runpy
import socket
import sys
import threading
import types
from importlib.machinery import BuiltinImporter, SourceFileLoader
from typing import Any

HEADER = 4
"""Bytes that tell how long a wish is."""
HANDLES = 32
"""How many open files a program may be given, at most."""
ABOVE = 500
"""Where they lie until each has its number."""


def wait_for_a_program(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """What to become, told in the copy of this process that is to; the process itself never comes back."""
    while True:
        header, handles, _, _ = socket.recv_fds(control, HEADER, HANDLES)
        if not header:
            os._exit(0)
        length = int.from_bytes(header, "big")
        with control.makefile("rb") as wishes:
            asked = json.loads(wishes.read(length))
        told, tell = os.pipe()
        if (mother := os.fork()) == 0:
            if child := os.fork():
                os.write(tell, b"%d" % child)
                os._exit(0)
            for handle in (told, tell):
                os.close(handle)
            return asked, handles
        os.waitpid(mother, 0)  # from here on the program is the child of whoever may have orphans
        control.send(os.read(told, 20).ljust(20))
        for handle in (*handles, told, tell):
            os.close(handle)


def become(asked: dict[str, Any], handles: list[int]) -> tuple[types.CodeType, dict[str, Any]]:
    """Take over what an interpreter is started with; what it is to run, and the names it has."""
    begin, *handles = handles
    os.read(begin, 1)
    os.close(begin)
    aside = [fcntl.fcntl(handle, fcntl.F_DUPFD, ABOVE) for handle in handles]
    for handle in handles:
        os.close(handle)
    for number, handle in zip(asked["numbers"], aside, strict=True):
        os.dup2(handle, number)
        os.close(handle)
    for number, (name, mode) in STREAMS.items():
        stream = opened(number, name, mode, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if asked["session"]:
        os.setsid()
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    threading.main_thread()._native_id = threading.get_native_id()  # a copy of a program has its father's, until 3.12
    sys.orig_argv[1:] = asked["words"]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__.update(__annotations__={}, __builtins__=builtins, __loader__=BuiltinImporter)
    kind, what, *rest = asked["program"]
    sys.argv[:] = [what if kind == "file" else kind, *rest]
    return KINDS[kind](what, main.__dict__)


def opened(number: int, name: str, mode: str, like: io.TextIOWrapper) -> io.TextIOWrapper:
    """A stream as Python opens it when it starts: what it leads to decides how it is buffered, and whether it seeks."""
    is_bare = like.write_through and mode == "w"
    buffer = open(number, f"{mode}b", 0 if is_bare else -1, closefd=False)  # noqa: SIM115 - for good
    raw = buffer if is_bare else buffer.raw
    raw.name = f"<{name}>"
    by_line = not like.write_through and mode == "w" and (number == 2 or raw.isatty())
    stream = io.TextIOWrapper(buffer, like.encoding, like.errors, "\n", by_line, like.write_through)
    stream.mode = mode
    return stream


def text(code: str, names: dict[str, Any]) -> tuple[types.CodeType, dict[str, Any]]:
    """As `python -c`."""
    sys.path[0] = ""
    return compile(code, "<string>", "exec", dont_inherit=True), names


def module(name: str, _: dict[str, Any]) -> tuple[types.CodeType, dict[str, Any]]:
    """As `python -m`, which calls this very function."""
    sys.path[0] = os.getcwd()  # noqa: PTH109 - as Python has it
    return compile("_run_module_as_main(name)", "<frozen runpy>", "eval"), {**vars(runpy), "name": name}


def file(path: str, names: dict[str, Any]) -> tuple[types.CodeType, dict[str, Any]]:
    """As `python file.py`."""
    whole = os.path.abspath(path)  # noqa: PTH100 - as Python has it
    sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - the same
    names.update(__file__=whole, __cached__=None, __loader__=SourceFileLoader("__main__", whole))
    with io.open_code(whole) as opened:
        return compile(opened.read(), whole, "exec", dont_inherit=True), names


STREAMS = {0: ("stdin", "r"), 1: ("stdout", "w"), 2: ("stderr", "w")}
KINDS = {"-c": text, "-m": module, "file": file}

if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # at the end of each program all of it would be looked through, which is most of what programs take
    with socket.socket(fileno=int(sys.argv[1])) as control:
        control.send(b"%d" % len(os.listdir("/proc/self/task")))  # noqa: PTH208 - as numbers
        wish = wait_for_a_program(control)
    exec(*become(*wish))  # noqa: S102 - the program
