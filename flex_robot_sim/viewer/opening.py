"""Opening a browser at a private address."""

import os
import sys
import tempfile
import webbrowser
from pathlib import Path

# redirects to an address that must not appear in a list of processes
REDIRECT = (
    '<!doctype html><meta charset="utf-8"><title>flexsim</title>'
    '<meta http-equiv="refresh" content="0; url={}">'
)


def open_browser(address: str) -> tempfile.TemporaryDirectory[str] | None:
    """
    Open a browser if there is a display.

    All users of the machine can read the command line of a browser, and the address holds a token.
    Therefore the browser opens a file that only its user can read, which redirects to the address.

    :returns: the folder of this file, needed as long as the page; None without a display.
    """
    if not (
        sys.platform == 'darwin' or os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')
    ):
        return None
    folder = _private_folder()
    path = Path(folder.name) / 'page.html'
    path.touch(0o600)
    path.write_text(REDIRECT.format(address), encoding='utf-8')
    webbrowser.open(path.as_uri())
    return folder


def _private_folder():
    # browsers installed as snaps have another /tmp, and cannot read hidden files at home
    parents = [Path.home()] if Path('/snap').is_dir() else []
    for parent in (*parents, None):
        try:
            return tempfile.TemporaryDirectory(prefix='flexsim-page-', dir=parent)
        except OSError:
            if parent is None:
                raise
    return None
