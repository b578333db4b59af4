"""The page docs/description.md lists the words of the reader, and its examples are valid."""

import re

import pytest
from project_files import ROOT

from flex_robot_sim import read_description
from flex_robot_sim.description.document import Document
from flex_robot_sim.description.schema import REQUIRED
from flex_robot_sim.description.urdf_words import URDF
from flex_robot_sim.description.values import read_attributes
from flex_robot_sim.description.words import FLEXIBILITY

PAGE = (ROOT / 'docs' / 'description.md').read_text('utf-8')
PARTS = {'Elements of `<flexibility>`': FLEXIBILITY, 'Elements of URDF that are read': URDF}


def sections(text, mark):
    """Split `text` at its headings of one depth: {heading: section}."""
    pieces = re.split(rf'^{mark} (.*)\n', text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2]))


def elements(part):
    return {
        heading.strip('`<>'): body
        for heading, body in sections(sections(PAGE, '##')[part], '###').items()
    }


def row(name, attribute):
    """Return the table row that documents `attribute`."""
    default = attribute.default
    if default is REQUIRED:
        default = 'required'
    elif default is None:
        default = '-'
    elif isinstance(default, tuple):
        default = ' '.join(f'{value:g}' for value in default) or '-'
    elif isinstance(default, float):
        default = f'{default:g}'
    return f'| `{name}` | {attribute.unit or "-"} | {default} | {attribute.meaning} |'


@pytest.mark.parametrize('part', PARTS)
def test_the_page_lists_exactly_the_supported_elements(part):
    assert list(elements(part)) == list(PARTS[part])


@pytest.mark.parametrize(('part', 'tag'), [(p, tag) for p in PARTS for tag in PARTS[p]])
def test_the_page_lists_exactly_the_supported_attributes_and_children(part, tag):
    body, known = elements(part)[tag], PARTS[part][tag]
    rows = [line for line in body.splitlines() if line.startswith('| `')]
    assert rows == [row(name, attribute) for name, attribute in known.attributes.items()]
    holds = re.search(r'^It holds (.*)\.$', body, re.MULTILINE)
    assert re.findall(r'<(\w+)>', holds[1] if holds else '') == list(known.children)


@pytest.mark.parametrize(('part', 'tag'), [(p, tag) for p in PARTS for tag in PARTS[p]])
def test_the_example_of_an_element_is_valid(part, tag):
    example = re.findall(r'```xml\n(.*)\n```', elements(part)[tag])[0]
    document = Document('example', example.encode())
    assert document.root.tag == tag
    read_attributes(document, document.root, PARTS[part][tag])


def test_the_complete_example_causes_no_warning():
    example = re.findall(r'## A whole example\n\n```xml\n(.*?)```', PAGE, re.DOTALL)[0]
    assert read_description(example).warnings == ()
