"""
How our own programs run in a Python of their own, whatever lies in the current folder.

`python -m` and `python -c` look for modules in the current folder first, so that a `numpy.py` of
somebody's download would be run. Python 3.11 has -P against that; what is here serves 3.10, too.
"""

import sys
from pathlib import Path

_FOLDER = str(Path(__file__).resolve().parents[1])

# the standard library is looked for in the current folder, too, so this comes before any of it;
# the package may have been found in the current folder, and is then found last
_SAFE = f'import sys; sys.path[:] = [folder for folder in sys.path if folder] + [{_FOLDER!r}]; '


def run_module(name: str, *words: str) -> list[str]:
    """Return the command line that runs a module of this package as a program."""
    return [sys.executable, '-c', f'{_SAFE}import runpy; runpy.run_module({name!r}, '
            "run_name='__main__', alter_sys=True)", *words]


def run_text(program: str, *words: str) -> list[str]:
    """Return the command line that runs the text of a program."""
    return [sys.executable, '-c', f'{_SAFE}exec({program!r})', *words]


def leave_current_folder() -> None:
    """Take away what `python -m` has put before everything else: the current folder."""
    if not getattr(sys.flags, 'safe_path', False):
        del sys.path[0]
