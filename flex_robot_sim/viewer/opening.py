"""Browsers that open by themselves."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from pathlib import Path

# leads to an address that is in no list of processes
REDIRECT = ('<!doctype html><meta charset="utf-8"><title>flexsim</title>'
            '<meta http-equiv="refresh" content="0; url={}">')


def open_browser(address: str) -> tempfile.TemporaryDirectory[str] | None:
    """
    Open a browser where there is a display to show it.

    Everybody on the machine can read the command line of a browser, and the address holds a token.
    So the browser opens a file that only its user can read, and the file leads to the address.

    :returns: the folder of this file, which is there as long as the caller holds it; or None.
    """
    if not (sys.platform == 'darwin' or os.environ.get('DISPLAY')
            or os.environ.get('WAYLAND_DISPLAY')):
        return None
    folder = _private_folder()
    path = Path(folder.name) / 'page.html'
    path.touch(0o600)
    path.write_text(REDIRECT.format(address), encoding='utf-8')
    webbrowser.open(path.as_uri())
    return folder


def _private_folder():
    # browsers that are installed as snaps see another /tmp, and of the home what is not hidden
    places = [Path.home()] if Path('/snap').is_dir() else []
    for place in (*places, None):
        try:
            return tempfile.TemporaryDirectory(prefix='flexsim-page-', dir=place)
        except OSError:
            if place is None:
                raise
    return None
