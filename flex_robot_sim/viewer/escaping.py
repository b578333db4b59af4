"""Text of a user on a page: signs that cannot be seen, or that turn others around, are escaped."""

import html
import unicodedata


def visible(text: str) -> str:
    """Return `text` with control characters, direction overrides and lone surrogates escaped."""
    return text if text.isprintable() else ''.join(
        sign if sign.isprintable() or unicodedata.category(sign) == 'Zs' else
        sign.encode('unicode_escape').decode() for sign in text)


def as_html(text: str) -> str:
    """Return `text` as it may stand in HTML."""
    return html.escape(visible(text))
