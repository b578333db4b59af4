"""What the pages for the library show: every block of Python runs, in the order of the page."""

import re

import pytest
from project_files import ROOT

PAGES = ('README.md', 'docs/python.md')


@pytest.mark.parametrize('page', PAGES)
def test_blocks_of_python_run(page):
    text = (ROOT / page).read_text('utf-8')
    blocks = re.findall(r'^```python\n(.*?)^```', text, re.DOTALL | re.MULTILINE)
    assert blocks
    names = {}
    for block in blocks:
        # as many lines as the page has before it, so that an error names its line
        before = text[:text.index(block)].count('\n')
        exec(compile('\n' * before + block, page, 'exec'), names)


@pytest.mark.parametrize('page', [str(path.relative_to(ROOT)) for path in
                                  [*ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md')]])
def test_links_lead_somewhere(page):
    folder = (ROOT / page).parent
    text = re.sub(r'```.*?```', '', (ROOT / page).read_text('utf-8'), flags=re.DOTALL)
    for target, anchor in re.findall(r'\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)', text):
        file = folder / target if target else ROOT / page
        assert file.exists(), f'{page} links to {target}'
        if anchor and file.suffix == '.md':
            assert anchor[1:] in anchors(file.read_text('utf-8')), f'{page}: {target}{anchor}'


def anchors(text):
    """Names of the headings of a page, as its readers make them."""
    headings = re.findall(r'^#+ +(.+)$', re.sub(r'```.*?```', '', text, flags=re.DOTALL),
                          re.MULTILINE)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-') for heading in headings}
