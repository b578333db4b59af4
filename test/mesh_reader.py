"""Whether meshes can be read here."""

import pytest


def can_read_meshes():
    """Whether the reader of meshes goes with the NumPy that is here."""
    try:
        import trimesh  # noqa: F401
    except (ImportError, TypeError):
        return False
    return True


needs_meshes = pytest.mark.skipif(not can_read_meshes(), reason='trimesh needs a newer NumPy')
