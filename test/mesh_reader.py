"""Whether meshes can be read in this environment."""

import pytest


def can_read_meshes():
    """Return whether the mesh reader is compatible with the installed NumPy."""
    try:
        import trimesh  # noqa: F401
    except (ImportError, TypeError):
        return False
    return True


needs_meshes = pytest.mark.skipif(not can_read_meshes(), reason='trimesh needs a newer NumPy')
