"""Browsers that open by themselves."""

import os
import sys
import webbrowser


def open_browser(address: str) -> None:
    """Open a browser where there is a display to show it."""
    if sys.platform == 'darwin' or os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY'):
        webbrowser.open(address)
