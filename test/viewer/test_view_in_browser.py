"""`flexsim view` as its users meet it: in a browser, at its address, until Ctrl-C."""

import os
import signal
import sys

import numpy as np
import pytest
from chromium import browsers, one_chromium  # noqa: F401
from node_processes import Process
from project_files import ROOT


@pytest.fixture
def view():
    """Return a function that starts `flexsim view`, and gives the process and its address."""
    started = []

    def start(*words):
        process = Process(
            [sys.executable, '-m', 'flex_robot_sim', 'view', *words],
            {**os.environ, 'DISPLAY': '', 'WAYLAND_DISPLAY': '', 'PYTHONPATH': str(ROOT)})
        started.append(process)
        line = process.wait_for_line('http://')
        return process, next(word for word in line.split() if word.startswith('http://'))
    yield start
    for process in started:
        process.close()


def scene(browser):
    """Colours of what is drawn, left of the panel of 320 and below a note that has a colour."""
    return browser.picture()[200:, :560, :3]


def unlike_ground(colours):
    """Whether a point has another colour than most have."""
    return np.abs(colours - np.median(colours, axis=(0, 1))).max(axis=2) > 0.2


def standing(browser):
    """Return the scene as soon as it stays as it is: all has come, and is no longer faded."""
    pictures = [scene(browser)]

    def stands():
        pictures.append(scene(browser))
        return np.array_equal(*pictures[-2:])
    browser.wait_for(stands, 'a picture that stays')
    return pictures[-1]


def test_the_arm_is_on_the_page_and_moves_as_it_is_told(view, browsers):      # noqa: F811
    pytest.importorskip('viser', reason='pip install "flex_robot_sim[view]"')
    process, address = view('two_link')
    browser = browsers(address)
    browser.wait_for(lambda: 'at rest under its weight' in browser.text, 'the pose')
    assert 'mm deflected' in browser.text and 'surface strain' in browser.text
    # the tool of two_link is orange: more red than blue
    browser.wait_for(lambda: (scene(browser) @ [1.0, 0.0, -1.0] > 0.3).sum() > 10, 'the tool')
    browser.type('mode', 1)
    browser.wait_for(lambda: 'times slower' in browser.text or 'Hz, damping' in browser.text,
                     'the frequency of the mode')
    browser.press('swing')
    browser.wait_for(lambda: 'J moving' in browser.text, 'the motion')
    browser.press('pause')
    browser.wait_for(lambda: 'paused' in browser.text, 'the pause')
    browser.press('step 10 ms')
    browser.press('reset')
    browser.wait_for(lambda: '0.00 s, paused' in browser.text, 'the beginning')
    picture = standing(browser)
    browser.type('deflections x', 20)
    browser.wait_for(lambda: '20 times larger than life' in browser.text, 'the factor')
    assert np.abs(standing(browser) - picture).max() > 0.2
    # another robot takes the page over, for those who look already; it moves, too
    browser.choose('robot', 'canadarm2')
    browser.wait_for(lambda: 'canadarm2' in browser.text and 'at rest' in browser.text,
                     'the other robot')
    browser.press('drop')
    browser.wait_for(lambda: 'J moving' in browser.text, 'its motion')
    # fourteen metres fill the picture as half a metre did: some of it is not ground
    browser.wait_for(lambda: unlike_ground(scene(browser)).mean() > 0.005, 'its picture')
    # a blob: is of the page itself; the token stays in the first request
    site = address.partition('?')[0]
    requests = browser.requests()
    assert all(url.startswith((site, f'blob:{site}')) for url in requests)
    assert [url for url in requests if 'token' in url] == [address]
    assert browser.driver.current_url == site
    code, _ = process.stop(signal.SIGINT)
    assert code == 0 and process.count('Traceback') == 0
    assert [line for line in process.lines if 'http://' not in line and 'compiling' not in line
            ] == []


def test_a_robot_is_one_of_the_list_and_never_a_file_that_a_browser_names(view, tmp_path):
    pytest.importorskip('viser')
    from page_client import PageClient

    robot = tmp_path / 'evil.urdf.xacro'
    robot.write_text((ROOT / 'urdf' / 'single_link.urdf').read_text().replace(
        'name="single_link"', 'name="evil"'))
    process, address = view('two_link')
    client = PageClient(address)
    assert client.hear(lambda: 'mode' in client.widgets)
    for name in (str(robot), 'urdf/single_link.urdf', '', 0, -1):
        client.set('robot', name)
    for value in (float('nan'), float('inf'), 1e308):
        client.set('shoulder [rad]', value)
        client.set('mode', value)
    client.send({'type': 'GuiUpdateMessage', 'uuid': client.widgets['mode']['uuid'],
                 'updates': {'evil': 1}})
    client.set('mode', 1)
    assert client.hear(lambda: 'Hz, damping' in client.text)
    client.set('robot', 'single_link')
    assert client.hear(lambda: '<td>single_link</td>' in client.text)
    client.close()
    code, _ = process.stop(signal.SIGINT)
    assert code == 0 and process.count('Traceback') == process.count('evil') == 0


def test_a_port_that_is_taken_ends_in_one_line(view):
    pytest.importorskip('viser')
    _, address = view('single_link')
    port = address.partition('/?')[0].rpartition(':')[2]
    second = Process([sys.executable, '-m', 'flex_robot_sim', 'view', 'single_link', '--port',
                      port], plain=True)
    try:
        assert second.wait() == 2
        assert second.lines[-1] == (f'flexsim view: port {port} is taken. Name another one, or '
                                    'none for the next free one')
    finally:
        second.close()
