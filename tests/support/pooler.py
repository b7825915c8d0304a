"""A pgbouncer of the tests' own before their server: it lends a connection for a transaction, and no longer."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.postgres import server

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["pooled"]

SETTINGS = """
[databases]
shop = host={server} dbname=postgres user=otpy connect_query='set search_path to {schema}'
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
server_login_retry = 0.1
"""


@contextmanager
def pooled(url: str, *, mode: str = "transaction", size: int = 2) -> Iterator[str]:
    """The address of what `url`, one of `fresh_url`, is behind it. Without pgbouncer the test is skipped."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("no pgbouncer on the path, nor in /usr/sbin (Debian: pgbouncer)")
    folder = Path(tempfile.mkdtemp(prefix="otpy-pool-"))
    settings = folder / "pgbouncer.ini"
    words = {"server": server().folder, "schema": url.rpartition("%3D")[2], "folder": folder, "mode": mode}
    settings.write_text(SETTINGS.format(**words, size=size))
    user = server().user
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    who = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    run = subprocess.Popen([program, str(settings)], stderr=subprocess.PIPE, text=True, cwd=folder, **who)
    try:
        assert run.stderr is not None
        said = ""
        while "process up" not in said:
            line = run.stderr.readline()
            assert line, f"it ended: {said}"
            said += line
        yield f"postgresql://me@/shop?host={folder}&port=6432"
    finally:
        run.kill()
        run.communicate()
        shutil.rmtree(folder, ignore_errors=True)
