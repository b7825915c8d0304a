"""What systemd's variables mean, and what goes to its socket."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from otpy.health.notify import Manager, Post, manager_in, taken_from

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("environment", "manager"),
    [
        ({}, None),
        ({"NOTIFY_SOCKET": ""}, None),
        ({"NOTIFY_SOCKET": "vsock:2:1"}, None),
        ({"WATCHDOG_USEC": "1000000"}, None),
        ({"NOTIFY_SOCKET": "/run/n"}, Manager("/run/n", None)),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "500000"}, Manager("@n", 0.5)),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "500000", "WATCHDOG_PID": "7"}, Manager("/n", 0.5)),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "500000", "WATCHDOG_PID": "8"}, Manager("/n", None)),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "0"}, Manager("/n", None)),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "soon"}, Manager("/n", None)),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "9" * 5_000}, Manager("/n", None)),
    ],
)
def test_who_listens_and_how_often_it_wants_to_hear(environment: dict[str, str], manager: Manager | None) -> None:
    assert manager_in(environment, pid=7) == manager


def test_the_variables_are_taken_out_of_an_environment() -> None:
    environment = {"NOTIFY_SOCKET": "/n", "WATCHDOG_PID": "7", "HOME": "/"}

    assert taken_from(environment) == {"NOTIFY_SOCKET": "/n", "WATCHDOG_PID": "7"}
    assert environment == {"HOME": "/"}


def test_words_are_lines_and_a_text_is_one_line(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        post = Post(str(tmp_path / "n"))
        assert post.say(READY=1, STATUS="a\nREADY=0")
        post.close()
        assert manager.recv(4_096) == b"READY=1\nSTATUS=a\\nREADY=0"


@pytest.mark.parametrize("address", ["/nowhere/at/all", "@nobody", "/" + "x" * 300, "/\0", "/\udcff"])
def test_a_manager_that_cannot_be_reached_is_no_trouble(address: str) -> None:
    post = Post(address)
    assert not post.say(READY=1)
    post.close()
    assert not post.say(READY=1)


def test_a_manager_that_takes_nothing_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        post = Post(str(tmp_path / "n"))
        while post.say(WATCHDOG=1):
            pass
        post.close()
