"""Pages: every block of Python runs in the order of its page, and every link has a target."""

import re

import pytest
from project_files import ROOT

pytestmark = pytest.mark.slow

# their tests look at results, too
ELSEWHERE = {
    f'docs/{name}.md': 'test_shown_blocks.py'
    for name in (
        'control',
        'control_feedback',
        'control_planning',
        'papers',
        'recording',
        'shaper_files',
    )
}
ELSEWHERE |= {
    f'docs/{name}.md': 'test_task_pages.py' for name in ('flexible_urdf', 'simulate_my_arm')
}
ELSEWHERE |= {
    f'docs/{name}.md': 'test_vibration_pages.py' for name in ('moveit_ur', 'vibrating_printed_arm')
}
ELSEWHERE['docs/programs.md'] = 'test_examples.py'


def blocks(page):
    return re.findall(
        r'^```python\n(.*?)^```', (ROOT / page).read_text('utf-8'), re.DOTALL | re.MULTILINE
    )


PAGES = [
    page
    for page in sorted(
        str(path.relative_to(ROOT)) for path in [*ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md')]
    )
    if blocks(page) and page not in ELSEWHERE
]


@pytest.mark.parametrize('page', PAGES)
def test_blocks_of_python_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text('utf-8')
    if 'import gymnasium' in text:
        pytest.importorskip('gymnasium', reason='pip install ".[learn]"')
    names: dict = {}
    for block in blocks(page):
        # preceded by as many lines as on the page, so that an error names the line of the page
        before = text[: text.index(block)].count('\n')
        exec(compile('\n' * before + block, page, 'exec'), names)


@pytest.mark.parametrize('page, file', ELSEWHERE.items())
def test_blocks_of_other_pages_run_in_the_tests_of_these_pages(page, file):
    assert blocks(page)
    assert page.split('/')[1].removesuffix('.md') in (ROOT / 'test/project' / file).read_text()


@pytest.mark.parametrize(
    'page',
    [str(path.relative_to(ROOT)) for path in [*ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md')]],
)
def test_links_have_targets_that_exist(page):
    folder = (ROOT / page).parent
    text = re.sub(r'```.*?```', '', (ROOT / page).read_text('utf-8'), flags=re.DOTALL)
    for target, anchor in re.findall(r'\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)', text):
        file = folder / target if target else ROOT / page
        assert file.exists(), f'{page} links to {target}'
        if anchor and file.suffix == '.md':
            assert anchor[1:] in anchors(file.read_text('utf-8')), f'{page}: {target}{anchor}'


def test_nothing_recommends_to_install_this_package_from_a_registry():
    for folder in ('flex_robot_sim', 'docs', 'examples', 'programs', 'test'):
        for path in (ROOT / folder).rglob('*.*'):
            if path.suffix in ('.py', '.md', '.rst'):
                found = re.search(r'pip install (-U )?"?flex_robot_sim\b', path.read_text('utf-8'))
                assert found is None, f'{path}: {found and found[0]}'


def anchors(text):
    """Return the anchors of the headings of a page, as forges form them."""
    headings = re.findall(
        r'^#+ +(.+)$', re.sub(r'```.*?```', '', text, flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-') for heading in headings}
