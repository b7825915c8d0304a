"""Who is at the other end of a Unix socket, as the kernel tells it."""

from __future__ import annotations

import socket
import struct
import sys

from otpy.core.value import value

__all__ = ["ROOT", "Peer", "may_talk", "peer_of"]

ROOT = 0
_LINUX = struct.Struct("3i")  # struct ucred: pid, uid, gid
_MACOS = struct.Struct("=II")  # the head of struct xucred: version, uid
_MACOS_LEVEL, _MACOS_PEERCRED, _MACOS_PEERPID = 0, 1, 2


@value
class Peer:
    """A process at the other end: the one that connected, or the one that listens."""

    uid: int
    """The user it runs as."""
    pid: int | None
    """Its number, None where the platform tells none."""


def peer_of(connection: socket.socket) -> Peer | None:
    """The peer's credentials; None where the platform tells none, and file modes alone keep others out."""
    try:
        if sys.platform == "linux":
            pid, uid, _ = _LINUX.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX.size))
            return Peer(uid, pid or None)
        return _macos_peer(connection)
    except (OSError, struct.error):
        return None


def may_talk(peer: Peer | None, own_uid: int) -> bool:
    """Whether the peer is the same user or root; an unknown peer came past the directory's mode 0700."""
    return peer is None or peer.uid in {own_uid, ROOT}


def _macos_peer(connection: socket.socket) -> Peer | None:
    if sys.platform != "darwin":
        return None
    _, uid = _MACOS.unpack(connection.getsockopt(_MACOS_LEVEL, _MACOS_PEERCRED, 128)[: _MACOS.size])
    (pid,) = struct.unpack("=i", connection.getsockopt(_MACOS_LEVEL, _MACOS_PEERPID, 4))
    return Peer(uid, pid or None)
