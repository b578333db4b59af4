"""The port on pseudo terminals and sockets: opening, reading, disconnecting, reconnecting."""

import fcntl
import os
import pty
import socket
import subprocess
import sys
import threading
import time
import tty
from pathlib import Path

import pytest
import serial
from refusals import refusal
from waiting import PATIENCE, eventually

from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.serial_port import Port, serial_ports

pytestmark = pytest.mark.slow


class Sink:
    """Collects the bytes of a port."""

    def __init__(self):
        self.data, self.changed = b'', threading.Condition()

    def __call__(self, data):
        """Append received bytes."""
        with self.changed:
            self.data += data
            self.changed.notify_all()

    def wait_for(self, data):
        """Wait until `data` has arrived."""
        with self.changed:
            return self.changed.wait_for(lambda: data in self.data, PATIENCE)


class Terminal:
    """A raw pseudo terminal under a stable name, like that of the emulator."""

    def __init__(self, folder):
        self.name = str(folder / 'port')
        self.plug()

    def plug(self):
        """Make the port appear."""
        self.plug_in()
        os.symlink(os.ttyname(self.slave), self.name)

    def plug_in(self):
        """Make it appear without its name."""
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)

    def unplug(self):
        """Make the port vanish."""
        os.unlink(self.name)
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(tmp_path):
    return Terminal(tmp_path)


@pytest.fixture
def server():
    """Listen at a socket of this machine."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        server.settimeout(PATIENCE)
        yield server


def address(server):
    return f'socket://127.0.0.1:{server.getsockname()[1]}'


@pytest.fixture
def opened():
    ports = []

    def open_port(*arguments, **options):
        ports.append(Port(*arguments, **options).start())
        return ports[-1]

    yield open_port
    for port in ports:
        port.close()


def test_bytes_pass_in_both_directions_and_are_counted(terminal, opened):
    sink = Sink()
    port = opened(terminal.name, sink)
    data = bytes(range(256)) * 4  # a raw line changes no byte, including 0x03 and 0x11
    os.write(terminal.master, data)
    assert sink.wait_for(data)
    assert (
        port.write(b'\0\x11\x13\x03\xff') and os.read(terminal.master, 99) == b'\0\x11\x13\x03\xff'
    )
    assert (port.counts.bytes_in, port.counts.bytes_out) == (1024, 5)


def test_a_lost_port_is_reported_and_found_again_by_its_name(terminal, opened):
    sink, lost, back = Sink(), threading.Event(), threading.Event()
    port = opened(terminal.name, sink, on_open=back.set, on_lost=lost.set)
    terminal.unplug()
    assert lost.wait(PATIENCE) and not port.is_open
    assert not port.write(b'nobody hears this') and port.counts.lost_writes == 1
    terminal.plug()
    assert back.wait(PATIENCE) and port.is_open and port.counts.reconnects == 1
    os.write(terminal.master, b'here again')
    assert sink.wait_for(b'here again')


def test_a_returned_port_that_does_not_open_reports_the_cause_once(terminal, opened, caplog):
    lost, back = threading.Event(), threading.Event()
    port = opened(terminal.name, Sink(), on_open=back.set, on_lost=lost.set)
    terminal.unplug()
    assert lost.wait(PATIENCE)
    # first the name is not a port, then another program opens the port first
    os.symlink(os.devnull, terminal.name)
    assert eventually(lambda: 'this is no serial port' in caplog.text)
    os.unlink(terminal.name)
    terminal.plug_in()
    other = serial.Serial(os.ttyname(terminal.slave), exclusive=True)
    os.symlink(os.ttyname(terminal.slave), terminal.name)
    assert eventually(lambda: 'another program has the port' in caplog.text)
    assert not port.is_open
    other.close()
    assert back.wait(PATIENCE)
    assert len(caplog.records) == 2


def test_a_name_that_changes_to_another_device_is_followed(terminal, opened, tmp_path):
    # a killed emulator leaves its link, and the next one replaces it
    sink, back = Sink(), threading.Event()
    opened(terminal.name, sink, on_open=back.set)
    (tmp_path / 'other').mkdir()
    other = Terminal(tmp_path / 'other')
    os.symlink(os.ttyname(other.slave), tmp_path / 'new')
    os.replace(tmp_path / 'new', terminal.name)
    assert back.wait(PATIENCE)
    os.write(other.master, b'from the other')
    assert sink.wait_for(b'from the other')


def test_the_link_of_a_killed_emulator_is_not_opened(terminal):
    # its terminal may now belong to a user session
    with open(f'{terminal.name}.lock', 'w') as lock:
        assert refusal(RigError, Port, terminal.name, Sink()) == (
            f'{terminal.name}: the port behind this name, {os.readlink(terminal.name)}, is gone. '
            'Plug the board in or start the emulator again.'
        )
        fcntl.flock(lock, fcntl.LOCK_EX)
        Port(terminal.name, Sink()).close()


def test_closing_wakes_the_reader_and_frees_the_port_also_after_its_loss(terminal):
    port = Port(terminal.name, Sink()).start()
    port.close()
    port.close()
    assert not port.thread.is_alive()
    lost = threading.Event()
    port = Port(terminal.name, Sink(), on_lost=lost.set).start()
    terminal.unplug()
    assert lost.wait(PATIENCE)
    port.close()
    assert not port.thread.is_alive()


def test_a_blocked_port_does_not_block_the_writer(terminal, opened):
    port = opened(terminal.name, Sink())
    began = time.monotonic()
    while port.write(b'x' * 4096):
        assert time.monotonic() - began < PATIENCE
    assert port.counts.stuck_writes == 1
    while os.read(terminal.master, 65536) != b'':
        if port.write(b'again'):
            break


@pytest.fixture
def other(terminal):
    """Another program that has the port."""
    program = (
        'import serial, sys; port = serial.Serial(sys.argv[1], exclusive=True); '
        'print("open", flush=True); sys.stdin.read()'
    )
    with subprocess.Popen(
        [sys.executable, '-c', program, terminal.name],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout.readline() == 'open\n'
        yield other
        other.kill()


def test_a_port_in_use_is_a_one_line_error_that_names_the_program(terminal, other):
    name = Path('/proc', str(other.pid), 'comm').read_text().strip()
    # this process also has the terminal open, like an emulator; this is not a conflict
    assert refusal(RigError, Port, terminal.name, Sink()) == (
        f'{terminal.name}: another program has the port: {name} {other.pid}. End it first.'
    )


def test_the_port_of_a_killed_program_is_free_again(terminal, other):
    other.kill()
    other.communicate()
    Port(terminal.name, Sink()).close()


def test_a_port_without_permission_is_a_one_line_error_with_the_group(terminal):
    # root can open everything, so a process of an unprivileged user makes the attempt
    program = (
        'import os, sys\n'
        'from flex_robot_sim.rig.errors import RigError\n'
        'from flex_robot_sim.rig.host.serial_port import Port\n'
        'device = sys.argv[1]\n'
        'os.chmod(device, 0)\n'
        'if os.geteuid() == 0:\n'
        '    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n'
        'try:\n'
        '    Port(device, print)\n'
        'except RigError as error:\n'
        '    print(error)\n'
    )
    device = os.path.realpath(terminal.name)
    group = subprocess.run(
        ['stat', '-c', '%G', device], capture_output=True, text=True
    ).stdout.strip()
    answer = subprocess.run(
        [sys.executable, '-c', program, device], capture_output=True, text=True
    )
    assert answer.stdout == (
        f'{device}: no permission. `flexsim rig setup` says how to be let in.\n'
        if group == 'root'
        # a group that users should not join
        else f'{device}: no permission. The port belongs to the group "{group}": run '
        f'`sudo usermod -aG {group} $USER` and log in again.\n'
    ), answer.stderr


@pytest.mark.parametrize(
    ('name', 'problem'),
    [
        (
            '{}/none',
            '{}/none: there is no such port. Plug the board in; `flexsim rig setup` lists the '
            'ports of this machine.',
        ),
        (
            '{}/left',
            '{}/left: the port behind this name, /dev/pts/none, is gone. Plug the board in or '
            'start the emulator again.',
        ),
        ('{}/file', '{}/file: this is no serial port.'),
        ('{}', '{}: this is no serial port.'),
        ('socket://nowhere', 'socket://nowhere: write it as socket://host:port.'),
    ],
)
def test_a_path_that_is_not_a_port_is_a_one_line_error(tmp_path, name, problem):
    (tmp_path / 'file').write_text('not a port')
    (tmp_path / 'left').symlink_to('/dev/pts/none')  # left by a killed emulator
    assert refusal(RigError, Port, name.format(tmp_path), Sink()) == problem.format(tmp_path)


def test_a_socket_works_like_a_port_and_is_found_again(server, opened):
    sink, lost, back = Sink(), threading.Event(), threading.Event()
    port = opened(address(server), sink, on_open=back.set, on_lost=lost.set)
    first, _ = server.accept()
    first.sendall(b'from the server')
    assert sink.wait_for(b'from the server')
    assert port.write(b'from the host') and first.recv(99) == b'from the host'
    first.close()
    assert lost.wait(PATIENCE) and back.wait(PATIENCE)
    second, _ = server.accept()
    second.sendall(b'once more')
    assert sink.wait_for(b'once more')
    second.close()


@pytest.mark.skipif(not hasattr(socket, 'TCP_USER_TIMEOUT'), reason='the kernel of Linux does it')
def test_a_socket_with_a_blocked_peer_counts_as_a_lost_port(server, opened):
    lost, back = threading.Event(), threading.Event()
    port = opened(address(server), Sink(), on_open=back.set, on_lost=lost.set)
    deaf, _ = server.accept()
    assert eventually(lambda: not port.write(b'x' * 65536))
    assert port.counts.stuck_writes == 1
    assert lost.wait(PATIENCE) and back.wait(PATIENCE)
    deaf.close()
    heard, _ = server.accept()
    assert port.write(b'again') and heard.recv(9) == b'again'
    heard.close()


def test_a_socket_without_a_server_is_a_one_line_error(server):
    name = address(server)
    server.close()
    with pytest.raises(RigError, match=f'^{name}: no server listens there'):
        Port(name, Sink())


def test_ports_of_this_machine_have_a_name_a_device_and_a_description():
    assert all(len(port) == 3 and os.path.exists(port[0]) for port in serial_ports())
