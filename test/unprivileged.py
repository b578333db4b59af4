"""Behaviour for an unprivileged user, also if root runs the tests."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def unprivileged():
    """Give a folder, and drop the privileges of root meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(folder, NOBODY, -1)
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield Path(folder)
        finally:
            if is_root:
                os.setresuid(0, 0, 0)
