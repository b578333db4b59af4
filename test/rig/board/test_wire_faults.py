"""The pseudo terminal that emulates a port, and the errors of an emulated wire."""

import os
import select
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal

from flex_robot_sim.rig.board.pty_port import PtyPort, default_link
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.serial_port import Port
from flex_robot_sim.rig.wire.faults import BadWire, WireFaults
from flex_robot_sim.util.exceptions import SettingError, UsageError

pytestmark = pytest.mark.slow

ALL_BYTES = bytes(range(256)) * 3


@pytest.fixture
def port(tmp_path):
    with PtyPort(tmp_path / 'rig') as port:
        yield port


def open_host(port):
    return os.open(port.link, os.O_RDWR | os.O_NOCTTY)


def read_all(host, count, seconds=5.0):
    """Return bytes from the port until there are `count`, or a timeout."""
    data, end = b'', time.monotonic() + seconds
    while len(data) < count and select.select([host], [], [], max(0, end - time.monotonic()))[0]:
        data += os.read(host, 4096)
    return data


def wait_for(port, count, seconds=5.0):
    data, end = b'', time.monotonic() + seconds
    while len(data) < count and time.monotonic() < end:
        port.wait(0.1)
        data += port.read()
    return data


def test_every_byte_passes_unchanged_without_host_settings(port):
    host = open_host(port)
    os.write(host, ALL_BYTES)
    assert wait_for(port, len(ALL_BYTES)) == ALL_BYTES
    port.write(ALL_BYTES)
    assert read_all(host, len(ALL_BYTES)) == ALL_BYTES
    os.close(host)


def test_the_port_has_no_echo(port):
    port.write(b'hello\r\n')
    host = open_host(port)
    assert read_all(host, 7) == b'hello\r\n'
    assert port.read() == b''
    os.close(host)


def test_a_reconnecting_host_leaves_the_port_usable(port):
    for _ in range(3):
        host = open_host(port)
        os.write(host, b'x')
        assert wait_for(port, 1) == b'x'
        os.close(host)
        assert port.read() == b''
        port.write(b'y')


def test_an_unread_port_never_blocks_and_keeps_the_newest_bytes(port):
    for k in range(3000):
        port.write(b'%08d' % k)
    assert port.overflows > 0
    host = open_host(port)
    data = read_all(host, 24000, seconds=0.2)
    assert data.endswith(b'%08d' % 2999)
    assert len(data) < 24000
    os.close(host)


def test_unplugging_is_an_error_for_the_host_and_the_name_returns(port):
    host = open_host(port)
    port.unplug()
    assert not os.path.lexists(port.link)
    with pytest.raises(OSError):
        while True:  # earlier bytes can still be read
            if not os.read(host, 100):
                raise OSError('end of file')
    with pytest.raises((OSError, termios.error)):
        termios.tcflush(host, termios.TCIFLUSH)
    os.close(host)
    port.write(b'lost')
    assert port.read() == b''
    port.plug()
    host = open_host(port)
    port.write(b'again')
    assert read_all(host, 5) == b'again'
    os.close(host)


def test_a_second_emulator_with_the_same_name_is_rejected(port):
    assert refusal(UsageError, PtyPort, port.link) == (
        f'{port.link} belongs to an emulator that runs, process '
        f'{os.getpid()}. Stop it, or give another --link.'
    )


def test_the_link_of_a_killed_emulator_is_reused(tmp_path):
    code = (
        'import sys, time; from flex_robot_sim.rig.board.pty_port import PtyPort; '
        'PtyPort(sys.argv[1]); print("open", flush=True); time.sleep(100)'
    )
    with subprocess.Popen(
        [sys.executable, '-c', code, tmp_path / 'rig'], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b'open\n'
        other.kill()
    assert os.path.lexists(tmp_path / 'rig')
    with PtyPort(tmp_path / 'rig') as port:
        assert os.path.exists(port.link)
    assert not os.path.lexists(tmp_path / 'rig')


def test_the_link_is_in_the_runtime_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_RUNTIME_DIR', str(tmp_path))
    assert default_link() == tmp_path / 'flex_robot_sim' / 'rig'
    monkeypatch.delenv('XDG_RUNTIME_DIR')
    assert str(os.getuid()) in str(default_link())


def test_a_perfect_wire_changes_nothing():
    assert BadWire().transmit(ALL_BYTES) == ALL_BYTES


@pytest.mark.parametrize('kind', ['noise', 'drop', 'insert'])
def test_a_noisy_wire_has_the_configured_error_rate(kind):
    wire = BadWire(seed=1)
    wire.faults = WireFaults(**{kind: 1e-2})
    data = np.random.default_rng(0).integers(0, 256, 200_000, np.uint8).tobytes()
    out = wire.transmit(data)
    assert wire.damaged == pytest.approx(2000, abs=5 * 45)  # 5 standard deviations
    assert len(out) - len(data) == {'noise': 0, 'drop': -1, 'insert': 1}[kind] * wire.damaged
    if kind == 'noise':
        assert sum(a != b for a, b in zip(data, out)) == wire.damaged


def test_a_truncated_piece_is_its_first_half():
    wire = BadWire()
    wire.faults = WireFaults(half=1.0)
    assert wire.transmit(b'abcdef') == b'abc'


def test_the_same_seed_gives_the_same_errors():
    outs = []
    for _ in range(2):
        wire = BadWire(seed=7)
        wire.faults = WireFaults(noise=0.1, drop=0.1, insert=0.1, half=0.1)
        outs.append([wire.transmit(ALL_BYTES) for _ in range(5)])
    assert outs[0] == outs[1]


def test_a_negative_probability_is_rejected():
    with pytest.raises(SettingError, match='noise = -0.1 must be >= 0.0'):
        WireFaults(noise=-0.1)


def test_a_file_at_the_path_of_the_lock_is_unchanged(tmp_path):
    lock = tmp_path / 'rig.lock'
    lock.write_text('my diary')
    foreign = f'{lock} is there and is no lock of an emulator of yours. Give another --link.'
    assert refusal(UsageError, PtyPort, tmp_path / 'rig') == foreign
    lock.rename(tmp_path / 'diary')
    link = f'{lock} cannot be made: it is a link. Give another --link.'
    for put, line in (
        (lambda: lock.symlink_to(tmp_path / 'diary'), link),
        (lambda: lock.hardlink_to(tmp_path / 'diary'), foreign),
        (lambda: os.mkfifo(lock), foreign),
    ):
        put()
        assert refusal(UsageError, PtyPort, tmp_path / 'rig') == line
        lock.unlink()
    assert (tmp_path / 'diary').read_text() == 'my diary'


def test_a_file_or_another_link_at_the_path_of_the_link_is_unchanged(tmp_path):
    rig, diary = tmp_path / 'rig', tmp_path / 'diary'
    for put in (rig.write_text, lambda text: (diary.write_text(text), rig.symlink_to(diary))):
        put('mine')
        with pytest.raises(UsageError, match='is there and is no link to a terminal'):
            PtyPort(rig)
        assert rig.read_text() == 'mine' and rig.resolve() == (diary if rig.is_symlink() else rig)
        rig.unlink()


# run by an unprivileged user: opens an emulated port under a name, and prints the result
USER_SCRIPT = """
import os, sys
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.serial_port import Port
from flex_robot_sim.rig.board.pty_port import PtyPort
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with PtyPort(sys.argv[1]) as port:
        Port(sys.argv[1], print).close()
        print('open', oct(os.stat(sys.argv[1]).st_mode & 0o007))
except (UsageError, RigError) as error:
    print(error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason='only root can be another user')
@pytest.mark.parametrize(
    'mode, left, expected',
    [
        (0o1777, None, 'open 0o0'),
        (0o1777, 'link', '{} belongs to another user. Give another --link.'),
        (0o1777, 'lock', '{}.lock cannot be made: Permission denied. Give another --link.'),
        (0o777, None, 'others may replace what is in {parent}. Give another --link.'),
    ],
    ids=['a shared folder', 'a foreign link', 'a foreign lock', 'a folder open to all'],
)
def test_an_ordinary_user_opens_a_port_in_a_shared_folder_safely(mode, left, expected):
    with tempfile.TemporaryDirectory(dir='/tmp') as folder:
        os.chmod(folder, mode)
        name = Path(folder) / 'rig'
        if left == 'link':
            name.symlink_to('/dev/pts/0')
        elif left == 'lock':
            name.with_name('rig.lock').touch(mode=0o600)
        result = subprocess.run(
            [sys.executable, '-c', USER_SCRIPT, name], capture_output=True, text=True
        )
        assert result.stdout == expected.format(name, parent=folder) + '\n', result.stderr
        assert os.path.lexists(name) == (left == 'link')


@pytest.mark.skipif(os.getuid() != 0, reason='only root can be another user')
def test_a_foreign_link_in_a_shared_folder_is_not_opened():
    with tempfile.TemporaryDirectory(dir='/tmp') as folder:
        os.chmod(folder, 0o1777)
        name = Path(folder) / 'rig'
        master, slave = os.openpty()
        name.symlink_to(os.ttyname(slave))
        os.chown(name, 12345, 12345, follow_symlinks=False)
        assert refusal(RigError, Port, str(name), print) == (
            f'{name}: this link is of another user, 12345, in a folder that all users may write '
            'to. Give the name of the device.'
        )
        os.close(master)
        os.close(slave)
