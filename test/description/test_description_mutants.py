"""Thousands of broken copies of the shipped robots cause neither a traceback nor a hang."""

import functools
import json
import random
import re

import pytest
from refusals import refusal

from flex_robot_sim import DescriptionError, read_description
from flex_robot_sim.description.document import Document
from flex_robot_sim.description.robot_summary import as_text, summarise
from flex_robot_sim.util.share import shipped_robots

SEED = 20261121

# fmt: off
JUNK = ['', '0', '-1', '1e999', '-1e-400', 'nan', 'inf', '1e29', '1_0', '0x10', '½', '१', '1 2',
        '"', '<', '>', '&', '&lt;', '&#0;', '&#10;', ']]>', '<!--', '-->', '<?x', '<![CDATA[',
        '<!DOCTYPE a [', '\0', '\x1b[31m', '\u202e', '\U0001f9be', 'é' * 50, ' ' * 300, 'a' * 5000,
        '9' * 400, 'all', 'mimic', 'true', '../../..', '${x}', '$(find a)', '%s%n', '{0}']
# fmt: on
WORDS = re.compile(r'[A-Za-z_]{2,}')
VALUES = re.compile(r'"[^"]*"')
# an element without a nested one of the same name; a step goes from one `<` to the next
ELEMENTS = re.compile(r'<(\w+)(?:[^<>]*/>|[^<>]*>[^<]*(?:<(?!\1\b|/\1>)[^<]*)*</\1>)')


def replace_value(text, rng):
    return replace_one(VALUES, text, f'"{rng.choice(JUNK)}"', rng)


def scale_value(text, rng):
    factor = rng.choice(['e3', 'e-3', 'e15', 'e-15', 'e28', '0000', '.', 'e'])
    return replace_one(re.compile(r'[\d.]+(?=")'), text, None, rng, lambda old: old + factor)


def negate_value(text, rng):
    return replace_one(re.compile(r'(?<=")[\d.]+'), text, None, rng, lambda old: f'-{old}')


def replace_word(text, rng):
    matches = find(WORDS, text)
    return replace_one(WORDS, text, None, rng, lambda old: rng.choice(matches)[0])


def misspell(text, rng):
    at = rng.randrange(len(text))
    return text[:at] + rng.choice('abxyz01<>"/= ') + text[at + rng.randrange(3) :]


def drop_element(text, rng):
    return replace_one(ELEMENTS, text, '', rng)


def double_element(text, rng):
    return replace_one(ELEMENTS, text, None, rng, lambda old: old + old)


def move_element(text, rng):
    matches = find(ELEMENTS, text)
    return replace_one(ELEMENTS, text, None, rng, lambda old: old + rng.choice(matches)[0])


def truncate(text, rng):
    return text[: rng.randrange(len(text))]


def cut_out(text, rng):
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.randrange(200) :]


def insert_junk(text, rng):
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(JUNK) + text[at:]


@functools.lru_cache(200)  # most mutations are the first of a robot
def find(pattern, text):
    return list(pattern.finditer(text))


def replace_one(pattern, text, new, rng, change=None):
    """Replace one random match of `pattern` by `new`, or by `change` of the match."""
    matches = find(pattern, text)
    if not matches:
        return text
    match = rng.choice(matches)
    return text[: match.start()] + (change(match[0]) if change else new) + text[match.end() :]


MUTATIONS = [
    replace_value,
    scale_value,
    negate_value,
    replace_word,
    misspell,
    drop_element,
    double_element,
    move_element,
    truncate,
    cut_out,
    insert_junk,
]


def read_and_show(text):
    """Process `text` as `flexsim check` does; return its output lines."""
    try:
        summary = summarise(read_description(text))
    except DescriptionError as error:
        return [str(error)]
    json.dumps(summary, allow_nan=False)
    list(as_text(summary))
    return summary['warnings']


@pytest.mark.slow
def test_broken_robots_are_read_or_cause_a_one_line_error(mutants):
    rng = random.Random(SEED)
    # without comments, to save time; other tests check the line numbers in messages
    originals = [
        re.sub('<!--.*?-->', '', path.read_text(encoding='utf-8'), flags=re.DOTALL)
        for path in shipped_robots().values()
    ]
    for number in range(mutants // 4):
        text = rng.choice(originals)
        for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
            text = rng.choice(MUTATIONS)(text, rng) or ' '
        if '<' not in text:
            continue  # the reader interprets a text without a tag as a file name
        try:
            lines = read_and_show(text)
        except Exception as error:
            raise AssertionError(f'mutant {number} of seed {SEED}:\n{text}') from error
        for line in lines:  # `...` ends a truncated text
            assert re.fullmatch(r'<text>:\d+: (.+[.?]|.{550,} \.\.\.)', line), line


def test_random_bytes_are_a_one_line_error():
    rng = random.Random(SEED)
    for _ in range(500):
        content = rng.randbytes(rng.randrange(300))
        assert '\n' not in refusal(DescriptionError, Document, 'noise', content)
