"""The socket directory: where it is, and that an unsafe one is refused."""

from __future__ import annotations

import os
import stat
import tempfile
from typing import TYPE_CHECKING

import pytest

from otpy.control.directory import (
    default_directory,
    examine_directory,
    open_directory,
    opened_directory,
    search,
    socket_address,
)
from otpy.control.errors import DirectoryError

if TYPE_CHECKING:
    from pathlib import Path


def refusal(path: Path, *, create: bool = True) -> str:
    with pytest.raises(DirectoryError) as caught:
        os.close(open_directory(path, create=create))
    return str(caught.value)


def test_it_lies_in_the_runtime_directory_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    assert default_directory() == tmp_path / "otpy"


def test_without_one_it_lies_in_the_directory_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)

    last = search()[-1]

    assert str(last) == f"{tempfile.gettempdir()}/otpy-{os.geteuid()}"


@pytest.mark.parametrize("place", ["", "/nowhere/at/all", "\0"])
def test_a_runtime_directory_that_is_not_there_is_passed_over(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"XDG_RUNTIME_DIR": place})

    assert all(place not in str(found.parent) or not place for found in search())


def test_a_runtime_directory_of_another_user_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    assert tmp_path / "otpy" not in search()


def test_it_is_made_for_the_user_alone(tmp_path: Path) -> None:
    with_it = tmp_path / "otpy"

    os.close(open_directory(with_it, create=True))
    os.close(open_directory(with_it, create=True))

    assert stat.S_IMODE(with_it.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o777, 0o750])
def test_one_that_others_may_enter_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "otpy"
    path.mkdir()
    path.chmod(mode)

    assert f"has mode {mode:04o}, so others may enter it: chmod 700 it" in refusal(path)


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    link = tmp_path / "otpy"
    link.symlink_to(tmp_path / "real")

    assert "symbolic link, which is refused" in refusal(link)


def test_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "otpy"
    path.touch()

    assert "is not a directory" in refusal(path)


def test_one_whose_parent_is_missing_is_refused(tmp_path: Path) -> None:
    assert "its parent is missing" in refusal(tmp_path / "no" / "otpy")


def test_one_that_is_missing_is_not_made_for_looking(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "otpy", create=False)


def test_one_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "otpy"
    path.mkdir(mode=0o700)
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    assert f"belongs to user {owner}, not to {owner + 1}" in refusal(path)


def test_root_may_look_into_anybodys_but_not_put_a_socket_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "otpy"
    path.mkdir(mode=0o700)
    real = os.fstat

    def of_somebody(descriptor: int) -> os.stat_result:
        facts = list(real(descriptor))
        facts[stat.ST_UID] = 1234
        return os.stat_result(facts)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "fstat", of_somebody)

    os.close(open_directory(path))
    assert "belongs to user 1234" in refusal(path)


def test_a_short_path_is_used_as_it_is(tmp_path: Path) -> None:
    os.close(descriptor := open_directory(tmp_path / "d", create=True))

    assert socket_address(tmp_path / "d", descriptor, "s.sock") == str(tmp_path / "d" / "s.sock")


def test_a_long_path_is_reached_through_the_descriptor_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ("d" * 120)
    path.mkdir(mode=0o700)

    with opened_directory(path) as descriptor:
        monkeypatch.setattr("otpy.control.directory._SHORT_CUT", "/nowhere")
        with pytest.raises(DirectoryError, match="too long for a socket"):
            socket_address(path, descriptor, "shop.sock")
        monkeypatch.setattr("otpy.control.directory._SHORT_CUT", str(tmp_path))
        (tmp_path / str(descriptor)).mkdir()
        assert socket_address(path, descriptor, "shop.sock") == f"{tmp_path}/{descriptor}/shop.sock"


def test_one_that_could_be_made_is_examined_without_making_it(tmp_path: Path) -> None:
    examine_directory(tmp_path / "otpy")

    assert not (tmp_path / "otpy").exists()


def test_what_would_be_refused_is_refused_when_it_is_examined(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    examine_directory(tmp_path / "own")
    for name in ("file", "open", "link", "not/there"):
        with pytest.raises(DirectoryError) as caught:
            examine_directory(tmp_path / name)
        assert str(caught.value) == refusal(tmp_path / name)
