"""A plugin for pytest: whoever may send signals can hold up single threads, as `stress.holding` does.

A thread that gets `HOLD` stands still until it gets `GO_ON`, in C and wherever it is, also in programs that are forked;
those that are started anew are not held. Handlers of Python would be called in the main thread alone.
"""

from __future__ import annotations

import ctypes
import signal

HOLD, GO_ON = signal.SIGRTMAX - 3, signal.SIGRTMAX - 2

_libc = ctypes.CDLL(None)
_libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
_libc.signal.restype = ctypes.c_void_p
for _number, _function in ((HOLD, _libc.pause), (GO_ON, _libc.getpid)):
    _libc.signal(_number, ctypes.cast(_function, ctypes.c_void_p))
