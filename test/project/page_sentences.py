"""Sentences of pages in Markdown, without code, tables, formulas, headings and addresses."""

import re
from collections.abc import Iterator

ABBREVIATIONS = r'\b(?:et al|e\.g|i\.e|vs|cf|Figs?|Eqs?|pp|Sec|No)\.'


def without_code(page: str) -> str:
    """Return a page with empty lines in place of code, and without code in its lines."""
    page = re.sub(r'^( *)```.*?^ *```', _empty_lines, page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r'``?[^`\n]*``?', '', page)


def _empty_lines(found):
    return '\n' * found[0].count('\n')


def without_blocks(page: str) -> str:
    """Return a page with empty lines in place of blocks that are not sentences."""
    for pattern in (
        r'<!-- table: .*?<!-- end -->',  # generated
        r'<!--.*?-->',
        r'^( *)```.*?^ *```',
        r'^\$\$.*?^\$\$',
        r'(?<=\n\n) {4}.*?(?=\n\n|\Z)',  # code or formulas by indentation
        r'^ *\|.*?$',
        r'^#.*?$',
    ):
        page = re.sub(
            pattern,
            lambda found: '\n' * found[0].count('\n'),
            page,
            flags=re.DOTALL | re.MULTILINE,
        )
    return page


def plain(text: str) -> str:
    """Return a text with one word in place of each piece of code, formula or link."""
    text = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', ' '.join(text.split()))
    text = re.sub(r'`[^`]*`', 'CODE', re.sub(r'\$[^$]*\$', 'FORMULA', text))
    return re.sub(ABBREVIATIONS, lambda found: found[0].replace('.', ''), text)


def sentences(page: str) -> Iterator[tuple[int, str]]:
    """Yield (line of its paragraph, sentence) of a page in Markdown."""
    line = 1
    for part in re.split(r'(\n\s*\n|\n(?= *(?:[-*]|\d+\.) ))', without_blocks(page)):
        start = line + part[: len(part) - len(part.lstrip())].count('\n')
        text = plain(re.sub(r'^\s*(?:[-*]|\d+\.) ', '', part))
        for sentence in re.split(r'(?<=[.!?])[)*"]*\s+', text):
            if sentence:
                yield start, sentence
        line += part.count('\n')


def word_count(sentence: str) -> int:
    """Return the number of words, numbers and pieces of code of a sentence."""
    return sum(1 for word in sentence.split() if re.search(r'\w', word))
