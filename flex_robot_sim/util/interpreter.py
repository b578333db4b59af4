"""
Command lines of Python subprocesses that ignore modules in the current folder.

`python -m` and `python -c` search the current folder for modules first, so that a downloaded
`numpy.py` would be run. Python 3.11 has the option -P; this module also supports 3.10.
"""

import sys
from pathlib import Path

_PACKAGES = str(Path(__file__).resolve().parents[1])

# runs before any import, because the standard library is searched in the current folder, too; the
# folder of the package is appended, because it may be the current folder
_SAFE_PATH = (
    f'import sys; sys.path[:] = [folder for folder in sys.path if folder] + [{_PACKAGES!r}]; '
)


def run_module(name: str, *words: str) -> list[str]:
    """Return the command line that runs a module of this package as a program."""
    return [
        sys.executable,
        '-c',
        f'{_SAFE_PATH}import runpy; runpy.run_module({name!r}, '
        "run_name='__main__', alter_sys=True)",
        *words,
    ]


def run_text(program: str, *words: str) -> list[str]:
    """Return the command line that runs the text of a program."""
    return [sys.executable, '-c', f'{_SAFE_PATH}exec({program!r})', *words]


def leave_current_folder() -> None:
    """Remove the current folder, which `python -m` puts first, from the module path."""
    if not getattr(sys.flags, 'safe_path', False):
        del sys.path[0]
