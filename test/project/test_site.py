"""The site of the pages: it builds without a warning; browsers show and search it."""

import re
import socket
import subprocess
import sys
import threading
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from project_files import ROOT

import flex_robot_sim as frs

pytest.importorskip('furo', reason='pip install ".[docs]"')
pytest.importorskip('myst_parser', reason='pip install ".[docs]"')

sys.path.insert(0, str(ROOT / 'docs'))
import serve

pytestmark = pytest.mark.slow

PATIENCE = 300.0  # of a build on a machine that does much else                       [s]
# as where there is no ROS
WITHOUT_ROS = """
import runpy, sys
sys.modules['rclpy'] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')
"""
WIDE, PHONE = (1400, 900), (390, 844)
PICTURE = ROOT / 'docs' / 'images' / 'start.webp'
LARGEST = 1.5e6  # bytes of the picture
# addresses from which a page loads something by itself
LOADED = {('img', 'src'), ('script', 'src'), ('link', 'href'), ('source', 'src')}


class Page(HTMLParser):
    """Anchors of a page, and the addresses that it links to or loads."""

    def __init__(self, path):
        super().__init__()
        self.names, self.links, self.loaded = {''}, [], []
        self.feed(path.read_text('utf-8'))

    def handle_starttag(self, tag, attributes):
        """Collect anchors and addresses of an element."""
        for name, value in attributes:
            if name == 'id':
                self.names.add(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value)
            elif (tag, name) == ('a', 'href'):
                self.links.append(value)


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    """Return the folder of the site, built as `./run docs --build` does it."""
    folder = tmp_path_factory.mktemp('site')
    done = subprocess.run(
        [sys.executable, '-c', WITHOUT_ROS, ROOT / 'docs' / 'serve.py', '--build', folder],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f'{folder}/index.html\n', '')
    return folder


@pytest.fixture(scope='module')
def pages(site):
    """Return {path: Page} of the site."""
    return {path: Page(path) for path in site.rglob('*.html')}


@pytest.fixture(scope='module')
def address(site):
    """Serve the site; return its address."""
    with serve.open_server(site, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}/'
        server.shutdown()


def test_every_page_of_docs_is_on_the_site(site):
    sources = [
        path.relative_to(ROOT / 'docs').with_suffix('')
        for path in (ROOT / 'docs').rglob('*')
        if path.suffix in ('.md', '.rst')
    ]
    assert len(sources) > 20
    assert [source for source in sources if not (site / f'{source}.html').is_file()] == []


def test_every_link_inside_the_site_has_a_file_and_an_anchor(pages):
    count = 0
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            target, name = map(unquote, urldefrag(link))
            if re.match(r'[a-z]+:', target):
                continue
            file = (path.parent / target.partition('?')[0]).resolve() if target else path
            assert file.is_file(), f'{path.name} links to {link}'
            if file in pages:
                assert name in pages[file].names, f'{path.name} links to {link}'
            count += 1
    assert count > 1000


def test_pages_load_nothing_from_elsewhere(pages):
    assert [
        link for page in pages.values() for link in page.loaded if re.match(r'([a-z]+:)?//', link)
    ] == []


def test_every_public_name_is_on_the_page_of_names(pages, site):
    names = pages[site / 'api.html'].names
    assert [
        name
        for name in frs.__all__
        if not names & {f'flex_robot_sim.{name}', f'module-flex_robot_sim.{name}'}
    ] == []


def test_every_equation_that_the_code_names_is_in_the_theory():
    theory = (ROOT / 'docs' / 'theory.md').read_text('utf-8')
    there = set(re.findall(r'\(([TCS]\d+)\)', theory))
    named = {
        name
        for path in (ROOT / 'flex_robot_sim').rglob('*.py')
        for name in re.findall(r'\(([TC]\d+|S\d\d?)\)', path.read_text('utf-8'))
    }
    assert len(named) > 30 and named <= there


def test_the_table_of_the_readme_is_that_of_the_page_of_comparison():
    tables = []
    for page in ('README.md', 'docs/comparison.md'):
        text = (ROOT / page).read_text('utf-8')
        tables += re.findall(r'^\| \| flexible links .*\n(?:\|.*\n)+', text, re.MULTILINE)
    assert len(tables) == 2 and tables[0] == tables[1] and tables[0].count('\n') == 8


def test_the_picture_of_the_subpackages_is_that_of_the_enforced_layers():
    import rooms_picture

    assert rooms_picture.FILE.read_text('utf-8') == rooms_picture.picture()
    drawn = {name for row in rooms_picture.rows() for name in row}
    folders = {path.parent.name for path in (ROOT / 'flex_robot_sim').glob('*/__init__.py')}
    assert drawn == folders


def test_the_picture_of_the_start_page_moves_and_is_small():
    image = pytest.importorskip('PIL.Image').open(PICTURE)
    assert image.n_frames > 40 and PICTURE.stat().st_size < LARGEST
    shown = []
    for frame in (0, image.n_frames // 4):
        image.seek(frame)
        shown.append(image.convert('RGBA').tobytes())
    assert shown[0] != shown[1]


def test_the_site_is_for_this_machine_only(site, address):
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        assert b'flex_robot_sim' in answer.read()
    with serve.open_server(site, 0) as server:
        assert server.server_address[0] == '127.0.0.1'


def test_a_taken_port_is_one_line(capsys):
    with socket.create_server(('127.0.0.1', 0)) as other:
        port = other.getsockname()[1]
        assert serve.main(['--port', str(port)]) == 2
    assert capsys.readouterr().err == (
        f'run docs: port {port} is in use on 127.0.0.1. Choose another --port.\n'
    )


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, capsys):
    (tmp_path / 'file').touch()
    assert serve.main(['--build', str(tmp_path / 'file' / 'site')]) == 2
    assert capsys.readouterr().err == (
        f'run docs: {tmp_path}/file/site: Not a directory. Choose another --build.\n'
    )


@pytest.fixture
def browser(browsers):
    """Return a function that opens an address in a browser of a size and colour scheme."""

    def open_one(address, size, scheme):
        width, height = size
        found = browsers('about:blank', width=width, height=height)
        for command, words in (
            (
                'Emulation.setEmulatedMedia',
                {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]},
            ),
            # windows of Chromium are at least 500 pixels wide
            (
                'Emulation.setDeviceMetricsOverride',
                {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False},
            ),
        ):
            found.driver.execute_cdp_cmd(command, words)
        found.driver.get(address)
        return found

    return open_one


@pytest.mark.parametrize('size, scheme', [(WIDE, 'light'), (PHONE, 'dark')])
def test_a_browser_shows_the_start_page_and_the_theory(browser, address, size, scheme):
    chromium = browser(f'{address}index.html', size, scheme)
    run = chromium.driver.execute_script
    picture = 'return document.querySelector("img[src*=start]").naturalWidth'
    chromium.wait_for(lambda: run(picture) > 400, 'the picture')
    assert is_dark(run) == (scheme == 'dark')
    assert fits(run)
    chromium.driver.get(f'{address}theory.html')
    equations = 'return document.querySelectorAll("div.math mjx-container").length'
    # as many as the page has blocks of mathematics
    blocks = (ROOT / 'docs' / 'theory.md').read_text('utf-8').count('```math\n')
    chromium.wait_for(lambda: run(equations) == blocks > 30, 'typeset equations')
    chromium.wait_for(lambda: run('return MathJax.startup.promise.then(() => true)'), 'the rest')
    assert run('return document.querySelectorAll("mjx-merror, [data-mjx-error]").length') == 0
    assert fits(run)
    if size == WIDE:
        assert (
            run(
                'return [...document.querySelectorAll("div.math")].filter('
                'it => it.scrollWidth > it.clientWidth + 1).map(it => it.innerText)'
            )
            == []
        )
    assert [line['message'] for line in chromium.driver.get_log('browser')] == []
    assert_only_this_site(chromium, address)


@pytest.mark.long
def test_no_page_is_wider_than_a_phone(browser, address, pages, site):
    chromium = browser('about:blank', PHONE, 'light')
    run = chromium.driver.execute_script
    assert run('return window.innerWidth') == PHONE[0]
    wide = []
    for path in sorted(pages):
        name = path.relative_to(site).as_posix()
        chromium.driver.get(f'{address}{name}')
        if not fits(run):
            wide.append(name)
    assert wide == []


@pytest.mark.parametrize('word, page', [('zvd', 'control'), ('rosdep', 'install')])
def test_the_search_finds_pages_without_a_network(browser, address, word, page):
    chromium = browser(f'{address}search.html?q={word}', WIDE, 'light')
    links = (
        'return [...document.querySelectorAll("#search-results li a")]'
        '.map(a => new URL(a.href).pathname)'
    )
    chromium.wait_for(
        lambda: f'/{page}.html' in chromium.driver.execute_script(links), f'the page {page}'
    )
    assert_only_this_site(chromium, address)


def assert_only_this_site(chromium, address):
    """Check that the pages have requested files of the site and nothing else."""
    requested = chromium.requests()
    assert len(requested) > 10
    assert {url for url in requested if not url.startswith(address)} <= {'about:blank'}


def is_dark(run):
    """Whether the background of the page is dark."""
    colour = run('return getComputedStyle(document.body).backgroundColor')
    return sum(map(int, re.findall(r'\d+', colour)[:3])) < 3 * 128


def fits(run):
    """Whether the page is as wide as its window or narrower."""
    return run('return document.documentElement.scrollWidth <= window.innerWidth')


def test_the_script_of_the_picture_draws_two_simulations(tmp_path, monkeypatch):
    monkeypatch.setenv('MPLBACKEND', 'Agg')
    import start_picture

    monkeypatch.setattr(start_picture, 'EVERY', 700)  # eight pictures, not 85
    file = tmp_path / 'start.webp'
    start_picture.main(file)
    image = pytest.importorskip('PIL.Image').open(file)
    whole = pytest.importorskip('PIL.Image').open(PICTURE)
    assert (image.n_frames, image.size) == (8, whole.size)
    assert Path(start_picture.FILE) == PICTURE
