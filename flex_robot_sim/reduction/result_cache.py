"""
Meshes and reduced links of earlier runs, by the hash of all that they depend on.

They are NumPy archives in the user's cache folder, which can be removed at any time. Archives
without pickled objects run no code.
"""

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from flex_robot_sim.reduction.elasticity import Mesh
from flex_robot_sim.util.files import open_atomic

MAX_FILES = 20  # the oldest ones are removed
SOURCES = Path(__file__).parent


def cache_folder() -> Path:
    """Return the folder in the user's cache folder."""
    home = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    return Path(home) / 'flex_robot_sim_reduced_links'


def hash_of(content: Sequence[bytes], options: str) -> str:
    """Hash of files, of options and of the programs in this folder."""
    digest = hashlib.sha256()
    for part in (*content, options.encode()):
        digest.update(hashlib.sha256(part).digest())
    for path in sorted(SOURCES.glob('**/*.py')):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cached_path(key: str, kind: str) -> Path:
    """Return the path of a result; `kind` is 'mesh' or 'link'."""
    return cache_folder() / f'{key}.{kind}.npz'


def read_mesh(key: str) -> Mesh | None:
    """Return a mesh of an earlier run; None if there is none."""
    with suppress(OSError, ValueError, KeyError), np.load(cached_path(key, 'mesh')) as arrays:
        return Mesh(arrays['nodes'], arrays['elements'])
    return None


def keep_mesh(key: str, mesh: Mesh) -> None:
    """Keep a mesh for later runs; without a writable folder, nothing is kept."""
    with suppress(OSError):
        make_room()
        with open_atomic(cached_path(key, 'mesh'), 'wb') as file:
            np.savez_compressed(file, nodes=mesh.nodes, elements=mesh.elements)


def make_room() -> None:
    """Create the folder, and remove its oldest files beyond MAX_FILES; OSError if that fails."""
    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    files = sorted(folder.glob('*.npz'), key=lambda path: path.stat().st_mtime)
    for path in files[: max(len(files) + 1 - MAX_FILES, 0)]:
        path.unlink(missing_ok=True)
