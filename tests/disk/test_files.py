"""Where the file of a database may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from otpy.disk.files import FileError, file_system_of, refuse_network

MOUNTS = r"""
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
36 21 0:31 / /srv/shared rw - nfs4 server:/export rw
37 36 0:32 / /srv/shared/local\040disk rw - xfs /dev/sdb1 rw
38 21 0:33 / /srv/over rw - ext4 /dev/sdc1 rw
39 21 0:34 / /srv/over rw - cifs //server/share rw
""".strip()


@pytest.mark.report("J65", "rails/solid_queue#324")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/jobs.db", "ext4"),
        ("/srv/shared/jobs.db", "nfs4"),
        ("/srv/sharedness/jobs.db", "ext4"),
        ("/srv/shared/local disk/jobs.db", "xfs"),
        ("/srv/over/jobs.db", "cifs"),
    ],
)
def test_the_file_system_of_a_path_is_found(path: str, kind: str) -> None:
    assert file_system_of(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: MOUNTS)
    refuse_network(Path("/home/me/jobs.db"))
    with pytest.raises(FileError, match="network file system \\(nfs4\\)"):
        refuse_network(Path("/srv/shared/jobs.db"))
