"""Page access: only requests with the token or the cookie of the page succeed."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('viser', reason='pip install ".[view]"')

from page_client import get, open_socket, sign_in, split
from websockets.exceptions import ConnectionClosed, InvalidStatus

from flex_robot_sim.viewer.browser import Page
from flex_robot_sim.viewer.opening import open_browser

pytestmark = pytest.mark.slow

REFUSED = 'Open the address that the program has printed: it holds the token of this page.\n'


@pytest.fixture(scope='module')
def page():
    """Return a page without an arm."""
    page = Page('arm', 0)
    yield page
    page.close()


def test_the_printed_address_sets_a_strict_cookie_and_drops_the_token(page):
    for _ in range(2):  # also in a second browser
        status, headers, text = get(*split(page.private_address))
        assert status == 200 and 'url=/"' in text
        assert re.fullmatch(
            rf'flexsim_{page.port}=[\w-]{{43}}; Path=/; HttpOnly; SameSite=Strict',
            headers['Set-Cookie'],
        )
        assert headers['Cache-Control'] == 'no-store' and (
            headers['Referrer-Policy'] == 'no-referrer'
        )
    status, _, text = get(split(page.address)[0], Cookie=f'a=b; {sign_in(page.private_address)}')
    assert status == 200 and '<div id="root">' in text


@pytest.mark.parametrize('path', ['/', '/index.html', '/?token=', '/?token=x', '/assets/none.js'])
def test_a_request_without_the_cookie_gets_one_line(page, path):
    host, _ = split(page.address)
    name, _, secret = sign_in(page.private_address).partition('=')
    for cookie in (
        {},
        {'Cookie': ''},
        {'Cookie': name},
        {'Cookie': f'{name}={secret[:-1]}'},
        {'Cookie': f'x{name}={secret}'},
        {'Cookie': b'\xff\xfe=;;;='},
    ):
        assert get(host, path, **cookie)[::2] == (403, REFUSED)


def test_the_socket_requires_the_cookie_and_an_origin_of_the_server(page):
    open_socket(page.private_address).close()
    for cookie in ('', f'flexsim_{page.port}=', sign_in(page.private_address)[:-1]):
        with pytest.raises(InvalidStatus) as error:
            open_socket(page.private_address, cookie)
        assert error.value.response.status_code == 403


def test_pages_of_one_machine_have_separate_tokens(page):
    other = Page('other', 0)
    try:
        for host, cookie in (
            (split(other.address)[0], sign_in(page.private_address)),
            (split(page.address)[0], sign_in(other.private_address)),
        ):
            assert get(host, Cookie=cookie)[0] == 403
    finally:
        other.close()


def test_an_oversized_message_closes_its_connection(page):
    with open_socket(page.private_address) as socket, pytest.raises(ConnectionClosed):
        socket.send(bytes(20_000))
        while True:
            socket.recv(timeout=60.0)
    assert get(split(page.address)[0], Cookie=sign_in(page.private_address))[0] == 200


def test_a_browser_opens_a_private_file_and_no_command_line_has_the_token(tmp_path, page):
    """A substitute for the browser records its arguments and reads the file."""
    browser, seen = tmp_path / 'browser', tmp_path / 'seen'
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}.part; mv {seen}.part {seen}\n')
    browser.chmod(0o700)
    code = (
        'import sys\n'
        'from pathlib import Path\n'
        'from flex_robot_sim.viewer.opening import open_browser\n'
        'folder = open_browser(sys.stdin.read())\n'
        'path = Path(folder.name, "page.html")\n'
        'print(path, oct(path.stat().st_mode), oct(path.parent.stat().st_mode))\n'
        'print(path.read_text())\n'
    )
    answer = subprocess.run(
        [sys.executable, '-c', code],
        input=page.private_address,
        text=True,
        check=True,
        capture_output=True,
        env={
            **os.environ,
            'DISPLAY': ':99',
            'BROWSER': f'{browser} %s',
            'PYTHONPATH': str(Path(__file__).parents[2]),
        },
    ).stdout
    (path, file_mode, folder_mode), text = answer.splitlines()[0].split(), answer.splitlines()[1]
    assert int(file_mode, 8) == stat.S_IFREG | 0o600
    assert int(folder_mode, 8) == stat.S_IFDIR | 0o700
    assert f'url={page.private_address}"' in text
    assert seen.read_text().split() == [f'file://{path}']
    assert not Path(path).exists()  # the page removes it


def test_without_a_display_no_browser_opens(monkeypatch):
    for name in 'DISPLAY', 'WAYLAND_DISPLAY':
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, 'platform', 'linux')
    assert open_browser('http://127.0.0.1:1/') is None
