"""`flexsim view` in a browser, from its address to Ctrl-C."""

import os
import signal
import sys
import threading
from contextlib import closing

import numpy as np
import pytest
from contact_arms import slider
from node_processes import Process
from project_files import ROOT
from reduced_bar import write_bar

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow


@pytest.fixture
def view():
    """Return a function that starts `flexsim view` and returns the process and its address."""
    pytest.importorskip('viser', reason='pip install ".[view]"')
    started = []

    def start(*words):
        process = Process(
            [sys.executable, '-m', 'flex_robot_sim', 'view', *words],
            {**os.environ, 'DISPLAY': '', 'WAYLAND_DISPLAY': '', 'PYTHONPATH': str(ROOT)},
        )
        started.append(process)
        line = process.wait_for_line('http://')
        return process, next(word for word in line.split() if word.startswith('http://'))

    yield start
    for process in started:
        process.close()


def scene(browser):
    """Return the colours of the scene, left of the panel of 320 and below a coloured note."""
    return browser.picture()[200:, :560, :3]


def is_foreground(colours):
    """Return whether a point differs from the most frequent colour."""
    return np.abs(colours - np.median(colours, axis=(0, 1))).max(axis=2) > 0.2


def wait_for_still_scene(browser):
    """Return the scene when it no longer changes: all parts are loaded and fully visible."""
    pictures = [scene(browser)]

    def is_still():
        pictures.append(scene(browser))
        return np.array_equal(*pictures[-2:])

    browser.wait_for(is_still, 'a picture that stays')
    return pictures[-1]


def test_the_arm_is_on_the_page_and_follows_commands(view, browsers):
    process, address = view('two_link')
    browser = browsers(address)
    browser.wait_for(lambda: 'at rest under its weight' in browser.text, 'the pose')
    assert 'mm deflected' in browser.text and 'surface strain' in browser.text
    # the tool of two_link is orange: more red than blue
    browser.wait_for(lambda: (scene(browser) @ [1.0, 0.0, -1.0] > 0.3).sum() > 10, 'the tool')
    browser.type('mode', 1)
    browser.wait_for(
        lambda: 'times slower' in browser.text or 'Hz, damping' in browser.text,
        'the frequency of the mode',
    )
    browser.press('swing')
    browser.wait_for(lambda: 'J moving' in browser.text, 'the motion')
    browser.press('pause')
    browser.wait_for(lambda: 'paused' in browser.text, 'the pause')
    browser.press('step 10 ms')
    browser.press('reset')
    browser.wait_for(lambda: '0.00 s, paused' in browser.text, 'the beginning')
    picture = wait_for_still_scene(browser)
    browser.type('deflections x', 20)
    browser.wait_for(lambda: '20 times larger than life' in browser.text, 'the factor')
    assert np.abs(wait_for_still_scene(browser) - picture).max() > 0.2
    # another robot replaces the first in open browsers; it moves, too
    browser.choose('robot', 'canadarm2')
    browser.wait_for(
        lambda: 'canadarm2' in browser.text and 'at rest' in browser.text, 'the other robot'
    )
    browser.press('drop')
    browser.wait_for(lambda: 'J moving' in browser.text, 'its motion')
    # fourteen metres fill the picture like half a metre: some of it is foreground
    browser.wait_for(lambda: is_foreground(scene(browser)).mean() > 0.005, 'its picture')
    # a blob: belongs to the page itself; only the first request has the token
    site = address.partition('?')[0]
    requests = browser.requests()
    assert all(url.startswith((site, f'blob:{site}')) for url in requests)
    assert [url for url in requests if 'token' in url] == [address]
    assert browser.driver.current_url == site
    code, _ = process.stop(signal.SIGINT)
    assert code == 0 and process.count('Traceback') == 0
    assert [
        line for line in process.lines if 'http://' not in line and 'compiling' not in line
    ] == []


def test_every_missing_mesh_is_named_in_the_panel_and_the_terminal(view, browsers, tmp_path):
    visual = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    (tmp_path / 'arm.urdf').write_text(
        '<robot name="arm"><link name="base">'
        + visual.format('one.stl') * 2
        + visual.format('two.dae')
        + '</link></robot>'
    )
    process, address = view(str(tmp_path / 'arm.urdf'))
    browser = browsers(address)
    browser.wait_for(lambda: '2 meshes are not drawn' in browser.text, 'the folder of meshes')
    for name in 'one.stl', 'two.dae':
        line = f'mesh {name} is not found'
        browser.wait_for(lambda line=line: browser.text.count(line) == 1, line)
        assert process.count(line) == 1


@pytest.mark.long(after=1)
@pytest.mark.parametrize('width, is_open', [(400, False), (900, True)])
def test_the_panel_starts_collapsed_below_500_pixels(view, browsers, width, is_open):
    _, address = view('two_link')
    browser = browsers(address, width=width)
    shown = """return [...document.querySelectorAll('label, div')].some(e =>
        e.innerText.trim() == 'tip trace' && e.getBoundingClientRect().height > 0
        && e.getBoundingClientRect().top < innerHeight)"""

    def opened():
        return browser.driver.execute_script(shown)

    browser.wait_for(lambda: 'two_link' in browser.text and opened() == is_open, 'the panel')
    if not is_open:
        browser.driver.execute_script("""document.querySelector(
            '.mantine-Paper-root[style*="fixed"] [style*="cursor: pointer"]').click()""")
        browser.wait_for(lambda: 'robot' in browser.text.split(), 'the panel when it is opened')


def test_a_browser_can_only_select_listed_robots(view, tmp_path):
    from page_client import PageClient

    robot = tmp_path / 'evil.urdf.xacro'
    robot.write_text(
        (ROOT / 'urdf' / 'single_link.urdf')
        .read_text()
        .replace('name="single_link"', 'name="evil"')
    )
    process, address = view('two_link')
    client = PageClient(address)
    assert client.hear(lambda: 'mode' in client.widgets)
    for name in (str(robot), 'urdf/single_link.urdf', '', 0, -1):
        client.set('robot', name)
    for value in (float('nan'), float('inf'), 1e308):
        client.set('shoulder [rad]', value)
        client.set('mode', value)
    client.send(
        {
            'type': 'GuiUpdateMessage',
            'uuid': client.widgets['mode']['uuid'],
            'updates': {'evil': 1},
        }
    )
    client.set('mode', 1)
    assert client.hear(lambda: 'Hz, damping' in client.text)
    client.set('robot', 'single_link')
    assert client.hear(lambda: '<td>single_link</td>' in client.text)
    client.close()
    code, _ = process.stop(signal.SIGINT)
    assert code == 0 and process.count('Traceback') == process.count('evil') == 0


def test_an_unreadable_robot_is_one_line_and_the_page_continues(caplog):
    pytest.importorskip('viser')
    from page_client import PageClient

    from flex_robot_sim.viewer.browser import Page
    from flex_robot_sim.viewer.robot_choice import RobotChoice

    def refuse(error):
        raise error

    page, seen = Page('single_link', 0), []
    robots = RobotChoice(
        page,
        {
            'single_link': lambda: frs.load('single_link'),
            'damaged': lambda: refuse(UsageError('no such robot')),
            'bug': lambda: refuse(KeyError('evil')),
            'end': lambda: refuse(KeyboardInterrupt()),
        },
    )

    def use():
        client = PageClient(page.private_address)
        client.hear(lambda: 'robot' in client.widgets)
        for name, line in (('damaged', 'no such robot'), ('bug', 'KeyError')):
            client.set('robot', name)
            client.hear(lambda line=line: line in client.text)
            client.hear(lambda: client.shown('robot') == 'single_link')
            seen.append((line in client.text, client.shown('robot')))
        client.set('robot', 'end')

    person = threading.Thread(target=use)
    person.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            robots.watch()
    finally:
        person.join()
        page.close()
    assert seen == [(True, 'single_link')] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "the page goes on after KeyError: 'evil'"
    ]


def test_the_file_opened_by_a_browser_leads_to_the_page(browsers, monkeypatch):
    pytest.importorskip('viser')
    from flex_robot_sim.viewer.browser import Page
    from flex_robot_sim.viewer.opening import open_browser

    opened: list = []
    monkeypatch.setenv('DISPLAY', ':99')
    monkeypatch.setattr('webbrowser.open', opened.append)
    with closing(Page('an arm', 0)) as page, open_browser(page.private_address):
        browser = browsers(*opened)
        browser.wait_for(lambda: 'an arm' in browser.text, 'the page')
        assert browser.driver.current_url == f'{page.address}/'


@pytest.mark.long
def test_a_port_in_use_is_a_one_line_error(view):
    _, address = view('single_link')
    port = address.partition('/?')[0].rpartition(':')[2]
    words = [sys.executable, '-m', 'flex_robot_sim', 'view', 'single_link', '--port', port]
    with closing(Process(words)) as second:
        assert second.wait() == 2
        assert second.lines[-1] == (
            f'flexsim view: port {port} is taken. Name another one, or none for the next free one'
        )


@pytest.mark.long
def test_a_contact_force_is_an_arrow_and_a_ship_moves_over_the_floor(view, browsers, tmp_path):
    path = tmp_path / 'ball.urdf'
    text = slider(world='<ground height="-0.03"/>', joints='z', radius=0.02)
    path.write_text(text.replace('"-99" upper="99"', '"-0.5" upper="0.5"'))
    process, address = view(str(path))
    browser = browsers(address)
    browser.wait_for(lambda: 'at rest under its weight' in browser.text, 'the pose')

    def is_red(picture):
        return picture @ [1.0, -0.5, -0.5] > 0.3

    # the ground is blue and translucent, the floor below it white with grey lines
    def blue(picture):
        return picture[-100:] @ [-1.0, 0.0, 1.0]

    browser.wait_for(lambda: np.median(blue(scene(browser))) > 0.02, 'the ground')
    assert not is_red(scene(browser)).any()
    browser.press('drop')
    browser.wait_for(lambda: '19.6 N' in browser.text, 'the weight of the ball')
    browser.wait_for(lambda: is_red(scene(browser)).sum() > 20, 'the arrow')
    browser.choose('robot', 'ship_boom')
    browser.wait_for(lambda: 'tip of boom' in browser.text, 'the ship')
    start = wait_for_still_scene(browser)
    assert np.median(blue(start)) < 0.01
    browser.press('swing')
    browser.wait_for(lambda: 'driven' in browser.text, 'its motion')
    browser.wait_for(lambda: np.abs(scene(browser) - start).max() > 0.2, 'another picture')
    browser.press('pause')
    browser.wait_for(lambda: 'paused' in browser.text, 'the pause')
    moved = np.abs(wait_for_still_scene(browser) - start).max(axis=2) > 0.1
    # the deck and the boom move over the floor, which fills the lower rows; single points of
    # its lines differ
    assert moved[:-40].mean() > 0.01 and moved[-40:].mean() < 0.005
    assert process.count('Traceback') == 0


@pytest.mark.long
def test_the_surface_of_a_reduced_link_has_the_colours_of_its_strain(view, browsers, tmp_path):
    _, address = view(str(write_bar(tmp_path)), '--gravity', '0,0,0')
    browser = browsers(address)
    browser.wait_for(lambda: 'at rest under its weight' in browser.text, 'the pose')

    def coloured():
        return (scene(browser) @ [1.0, 0.0, -1.0] > 0.3).sum()  # orange and dark red

    browser.wait_for(lambda: is_foreground(scene(browser)).mean() > 0.005, 'the bar')
    assert coloured() == 0
    browser.type('mode', 1)  # its tip moves by 7 % of the reach, full colour is at 10 %
    browser.wait_for(lambda: 'Hz, damping' in browser.text, 'the mode')
    browser.wait_for(lambda: coloured() > 50, 'the colours')
