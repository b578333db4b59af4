"""Escaping of untrusted text for pages, with invisible and direction-changing characters."""

import html

from flex_robot_sim.util.exceptions import plain


def as_html(text: str) -> str:
    """Return `text` escaped for HTML."""
    return html.escape(plain(text))
