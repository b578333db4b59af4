"""Topic names from names of links and joints."""

import re
from collections.abc import Iterable


def topic_words(names: Iterable[str]) -> dict[str, str]:
    """Return {name: unique word of letters, digits and _} for names of links and joints."""
    words: dict[str, str] = {}
    for name in names:
        word = re.sub(r'[^A-Za-z0-9_]', '_', name)
        word = f'_{word}' if word[:1].isdigit() or not word else word
        while word in words.values():
            word += '_'
        words[name] = word
    return words
