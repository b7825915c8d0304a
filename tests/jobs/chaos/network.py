"""A network of the tests' own: three hosts and a server, each in a namespace, and a router between them that can cut.

A cut drops what goes one way, or both; nobody is told of it, as when a cable is pulled. It is made by rules of the
router (iproute2), and the namespaces are gone with the process that has made them.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Literal

__all__ = ["SERVER", "Network", "Ways", "problem"]

Ways = Literal["both", "to the server", "from the server"]

SERVER = "10.99.9.2"
"""The server's address."""
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def problem() -> str | None:
    """Why there can be none here; None when there can."""
    if shutil.which("ip") is None:
        return "no network of our own: no `ip` on the path (Debian: iproute2)"
    unshare = shutil.which("unshare") or "unshare"
    made = (
        "ip link set lo up && ip link add name here type veth peer name there && ip rule add from 10.99.0.1 blackhole"
    )
    try:
        done = subprocess.run([unshare, "-n", "sh", "-c", made], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"no network of our own: {error}"
    return None if done.returncode == 0 else f"no network of our own: {done.stderr.strip()} (it takes root)"


class Network:
    """This process is in the server's namespace from now on; what it starts is so, too, unless it goes elsewhere."""

    def __init__(self, hosts: int) -> None:
        """With so many hosts."""
        self._router = _new_namespace()
        _up("lo")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        self._hosts = {number: self._joined(number) for number in range(1, hosts + 1)}
        self._server = self._joined(int(SERVER.split(".")[2]))
        _enter(self._server)

    def enter(self, host: int) -> None:
        """Have this process, and all that it starts, be on this host."""
        _enter(self._hosts[host])

    def cut(self, host: int, ways: Ways) -> None:
        """Drop what this host and the others send each other, from now on."""
        self._rules("add", host, ways)

    def heal(self, host: int, ways: Ways) -> None:
        """Let it through again."""
        self._rules("del", host, ways)

    def _rules(self, verb: str, host: int, ways: Ways) -> None:
        for way, word in (("to the server", "from"), ("from the server", "to")):
            if ways in ("both", way):
                self._ip(self._router, "rule", verb, word, f"10.99.{host}.2", "blackhole")

    def _joined(self, number: int) -> int:
        """Another namespace, with a link to the router's."""
        made, router = _new_namespace(), f"10.99.{number}.1"
        _up("lo")
        _enter(self._router)
        self._ip(made, "link", "add", "up", "type", "veth", "peer", "name", f"to{number}", "netns", str(os.getpid()))
        self._ip(made, "link", "set", "veth0", "up")
        self._ip(made, "address", "add", f"10.99.{number}.2/24", "dev", "veth0")
        self._ip(self._router, "address", "add", f"{router}/24", "dev", f"to{number}")
        _up(f"to{number}")
        self._ip(made, "route", "add", "default", "via", router)
        return made

    def _ip(self, where: int, *words: str) -> None:
        """In the namespace `where`."""
        command = ["ip", *words]
        done = subprocess.run(command, preexec_fn=lambda: _enter(where), capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def _up(link: str) -> None:
    subprocess.run(["ip", "link", "set", link, "up"], check=True)  # noqa: S607 - Debian's is in /usr/sbin or /usr/bin


def _new_namespace() -> int:
    """Be in a new one; what keeps it is this descriptor."""
    _checked(LIBC.unshare(CLONE_NEWNET))
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _enter(namespace: int) -> None:
    _checked(LIBC.setns(namespace, CLONE_NEWNET))


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
