"""Text of a user on a page: signs that cannot be seen, or that turn others around, are escaped."""

import html

from flex_robot_sim.util.exceptions import plain


def as_html(text: str) -> str:
    """Return `text` as it may stand in HTML."""
    return html.escape(plain(text))
