"""
Reconnecting serial port: opened by its name, and read in bulk by its own thread.

The interface is the same for real ports, pseudo terminals and `socket://host:port`.
"""

from __future__ import annotations

import errno
import grp
import logging
import os
import pwd
import select
import socket
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import serial
from serial.tools import list_ports

from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.wire.line import BAUD

MAX_READ_SIZE = 4096  # [bytes]
POLL_TIMEOUT = 0.2  # longest sleep of the reader; bounds the time of `close`         [s]
WRITE_TIMEOUT = 0.1  # after which a blocked port counts as stuck                      [s]
REOPEN_PERIOD = 0.1  # between two attempts to reopen the port                         [s]
SOCKET_USER_TIMEOUT = 2.0  # without acknowledgement, after which a socket is closed         [s]
# an unplugged port raises both; termios.error is no OSError
PORT_ERRORS = (OSError, termios.error)

log = logging.getLogger(__name__)


@dataclass
class PortCounts:
    """Traffic counters of a port."""

    bytes_in: int = 0
    bytes_out: int = 0
    reconnects: int = 0
    stuck_writes: int = 0  # dropped because the port took no bytes for WRITE_TIMEOUT
    lost_writes: int = 0  # dropped because there was no port


class Port:
    """Bytes in both directions, while a port of this name exists."""

    def __init__(
        self,
        name: str,
        on_bytes: Callable[[bytes], object],
        on_open: Callable[[], object] | None = None,
        on_lost: Callable[[], object] | None = None,
        baud: int = BAUD,
    ) -> None:
        """
        Open the port; the message of RigError is one line with cause and remedy.

        :param name: device, symlink or `socket://host:port`; a symlink is followed at each
            opening, so that a name of /dev/serial/by-id finds the same board again.
        :param on_bytes: called with received bytes, in the reader thread.
        :param on_open: called after the port was reopened, in the reader thread.
        :param on_lost: called after the port was lost, in the reader thread.
        """
        self.name, self.baud = name, baud
        self._counts = PortCounts()
        self._on_bytes, self._on_open, self._on_lost = on_bytes, on_open, on_lost
        self._write_lock = threading.Lock()
        self._closing = threading.Event()
        self._open_errors: list[str] = []  # why the port that is there again does not open
        self._line = self._open()
        self.thread = threading.Thread(target=self._read, name=f'rig port {name}', daemon=True)

    def start(self) -> Port:
        """Start the reader thread."""
        self.thread.start()
        return self

    @property
    def is_open(self) -> bool:
        """Whether the port is open now."""
        return self._line is not None

    @property
    def counts(self) -> PortCounts:
        """Copy of the counters."""
        return replace(self._counts)

    def write(self, data: bytes) -> bool:
        """Send `data`; return whether that succeeded. Waits at most WRITE_TIMEOUT."""
        with self._write_lock:
            line = self._line
            if line is None:
                self._counts.lost_writes += 1
                return False
            try:
                line.write(data)
            except (serial.SerialTimeoutException, TimeoutError):
                self._counts.stuck_writes += 1  # the next frame resynchronises by its zero
                return False
            except PORT_ERRORS:
                self._counts.lost_writes += 1  # the reader detects it by itself
                return False
            self._counts.bytes_out += len(data)
            return True

    def close(self) -> None:
        """Close the port; may be called twice."""
        self._closing.set()
        if self.thread.is_alive() and self.thread is not threading.current_thread():
            if self._line is not None:
                self._line.wake()
            self.thread.join()
        self._close_line()

    def _open(self):
        try:
            if self.name.startswith('socket://'):
                return _SocketLine(self.name)
            return _SerialLine(self.name, self.baud)
        except (*PORT_ERRORS, ValueError) as error:
            raise RigError(_open_error_message(self.name, error)) from error

    def _read(self):
        while not self._closing.is_set():
            if self._line is None and not self._open_again():
                self._closing.wait(REOPEN_PERIOD)
                continue
            try:
                data = self._line.read()
            except PORT_ERRORS:
                self._close_line()
                if not self._closing.is_set() and self._on_lost:
                    self._on_lost()
                continue
            if data:
                self._counts.bytes_in += len(data)
                self._on_bytes(data)

    def _open_again(self):
        try:
            line = self._open()
        except RigError as error:
            # a missing port is normal while unplugged; other errors need the user
            # check again whether a missing port exists now
            number = _error_number(error.__cause__)
            is_there = number != errno.ENOENT and os.path.exists(self.name)
            # compare numbers: the text names programs, which change
            open_errors = [number] if is_there else []
            if open_errors and open_errors != self._open_errors:
                log.warning('%s', error)
            self._open_errors = open_errors
            return False
        self._line, self._open_errors = line, []
        self._counts.reconnects += 1
        if self._on_open:
            self._on_open()
        return True

    def _close_line(self):
        with self._write_lock:
            line, self._line = self._line, None
        if line is not None:
            with suppress(*PORT_ERRORS):
                line.close()


class _SerialLine:
    """A device or a pseudo terminal."""

    def __init__(self, name, baud):
        if _is_stale_emulator_link(name):
            raise FileNotFoundError(errno.ENOENT, 'the emulator of this name was killed', name)
        _check_link_owner(name)
        self._name = name
        self._port = serial.Serial(
            name, baud, timeout=POLL_TIMEOUT, write_timeout=WRITE_TIMEOUT, exclusive=True
        )
        self._device = self._port.fileno()
        self._wake_reader, self._wake_writer = os.pipe()
        self._ready = select.poll()
        for readable in (self._device, self._wake_reader):
            self._ready.register(readable, select.POLLIN)
        with suppress(ValueError, NotImplementedError, AttributeError):
            self._port.set_low_latency_mode(True)  # many adapters have none
        try:
            self._port.reset_input_buffer()
        except PORT_ERRORS:
            self.close()
            raise

    def read(self):
        """Return available bytes, or b'' after POLL_TIMEOUT."""
        # `read` of pyserial checks its timeouts so often that it doubles the cost of the link
        ready = dict(self._ready.poll(1e3 * POLL_TIMEOUT))
        if self._device not in ready:
            self._check_same_device()
            return b''
        data = os.read(self._device, MAX_READ_SIZE)
        if not data:
            raise OSError(errno.EIO, 'the device has gone')
        return data

    def _check_same_device(self):
        """Raise OSError if the name refers to another device now, such as a new emulator."""
        try:
            named_device = os.stat(self._name).st_rdev
        except OSError:
            return  # the name may disappear while its device works
        if named_device != os.fstat(self._device).st_rdev:
            raise OSError(errno.ENODEV, 'the name belongs to another device')

    def write(self, data):
        """Send all of `data`, or raise SerialTimeoutException after WRITE_TIMEOUT."""
        try:
            sent = os.write(self._device, data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._port.write(data[sent:])

    def wake(self):
        """Interrupt a pending read."""
        os.write(self._wake_writer, b'.')

    def close(self):
        """Close the device."""
        os.close(self._wake_reader)
        os.close(self._wake_writer)
        self._port.close()


class _SocketLine:
    """A serial port behind a TCP server; pyserial's own version reads byte by byte."""

    def __init__(self, url):
        place = urlsplit(url)
        if not place.hostname or not place.port:
            raise ValueError('write it as socket://host:port')
        self._socket = socket.create_connection((place.hostname, place.port), timeout=2.0)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, 'TCP_USER_TIMEOUT'):  # detects a cut cable
            self._socket.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1e3 * SOCKET_USER_TIMEOUT)
            )
        self._socket.settimeout(WRITE_TIMEOUT)

    def read(self):
        """Return available bytes, or b'' after POLL_TIMEOUT."""
        if not select.select([self._socket], [], [], POLL_TIMEOUT)[0]:
            return b''
        data = self._socket.recv(MAX_READ_SIZE)
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, 'the server hung up')
        return data

    def write(self, data):
        """Send all of `data`."""
        self._socket.sendall(data)

    def wake(self):
        """Interrupt a pending read."""
        with suppress(OSError):  # may be closed already
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self):
        """Close the connection."""
        self._socket.close()


def serial_ports() -> list[tuple[str, str, str]]:
    """Serial ports of this machine as (stable name, device, description), by device."""
    links = {}
    for folder in ('/dev/serial/by-path', '/dev/serial/by-id'):  # the second has priority
        if os.path.isdir(folder):
            links.update({os.path.realpath(entry): entry.path for entry in os.scandir(folder)})
    return [
        (
            links.get(port.device, port.device),
            port.device,
            'nothing known' if port.description == 'n/a' else port.description,
        )
        for port in sorted(list_ports.comports())
    ]


def owning_group(name: str) -> str:
    """Name of the group that a device belongs to."""
    number = os.stat(name).st_gid
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _open_error_message(name, error):
    """Return why a port does not open and what to do, on one line."""
    number = _error_number(error)
    if number == errno.ENOENT and os.path.islink(name):
        return (
            f'{name}: the port behind this name, {os.readlink(name)}, is gone. Plug the '
            'board in or start the emulator again.'
        )
    if number == errno.ENOENT:
        return (
            f'{name}: there is no such port. Plug the board in; `flexsim rig setup` lists '
            'the ports of this machine.'
        )
    if number in (errno.EACCES, errno.EPERM):
        group = owning_group(name)
        if group == 'root' or group.isdigit():  # no group for users to join
            return f'{name}: no permission. `flexsim rig setup` says how to be let in.'
        return (
            f'{name}: no permission. The port belongs to the group "{group}": run '
            f'`sudo usermod -aG {group} $USER` and log in again.'
        )
    if number in (errno.EWOULDBLOCK, errno.EBUSY):
        return f'{name}: another program has the port{_programs_using(name)}. End it first.'
    if number == errno.ECONNREFUSED:
        return f'{name}: no server listens there. Start the server first.'
    if number in (errno.ENOTTY, errno.EINVAL, errno.EISDIR):
        return f'{name}: this is no serial port.'
    if number == errno.EXDEV:
        return f'{name}: {error.strerror}.'
    return f'{name}: {" ".join(str(error).split())}.'


def _error_number(error):
    """Number of the system's error behind an exception; None if there is none."""
    # pyserial wraps some causes in its own exception; termios.error has the number in args
    causes = [error, error.__context__]
    return next(
        (
            cause.errno if isinstance(cause, OSError) else cause.args[0]
            for cause in causes
            if getattr(cause, 'errno', None) or isinstance(cause, termios.error)
        ),
        None,
    )


def _programs_using(name):
    """Return the programs that use a device, as far as this user may see them."""
    device = os.path.realpath(name)
    programs = _locking_programs(device) or _opening_programs(device)
    return f': {", ".join(sorted(programs))}' if programs else ''


def _is_stale_emulator_link(name):
    """Whether a killed emulator has left this link, which may lead to another terminal now."""
    lock = f'{name}.lock'
    return (
        os.path.islink(name)
        and os.path.exists(lock)
        and os.access('/proc/locks', os.R_OK)
        and not _locking_programs(lock)
    )


def _check_link_owner(name):
    """Raise OSError for another user's link in a folder that all users may write to."""
    if not os.path.islink(name):
        return
    link, folder = os.lstat(name), os.stat(os.path.dirname(os.path.abspath(name)))
    if folder.st_mode & 0o022 and link.st_uid not in (0, os.getuid(), folder.st_uid):
        raise PermissionError(
            errno.EXDEV,
            f'this link is of another user, {_user(link.st_uid)}, in a folder that all users may '
            'write to. Give the name of the device',
            name,
        )


def _user(number):
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _locking_programs(device):
    """Programs that have locked it, as pyserial does; an emulator has its port open, too."""
    programs, file = set(), os.stat(device)
    place = f'{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}'
    with suppress(OSError):
        for line in Path('/proc/locks').read_text().splitlines():
            words = line.split()
            if words[1] == 'FLOCK' and words[5] == place:
                with suppress(OSError):
                    programs.add(_program(words[4]))
    return programs


def _opening_programs(device):
    """Programs that have opened it."""
    programs = set()
    for handle in Path('/proc').glob('[0-9]*/fd/*'):
        with suppress(OSError):  # process has ended, or belongs to another user
            if os.readlink(handle) == device:
                programs.add(_program(handle.parts[2]))
    return programs


def _program(process):
    return f'{Path("/proc", process, "comm").read_text().strip()} {process}'
