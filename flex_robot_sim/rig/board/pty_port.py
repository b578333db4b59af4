"""
Virtual serial port: a pseudo terminal under a fixed name.

The name is a symbolic link in the user's runtime folder. It is locked while the port exists, so
that two emulators never share a name. A link left by a killed emulator is reused.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import select
import stat
import termios
import tty
from pathlib import Path

from flex_robot_sim.util.exceptions import UsageError

PORT_NAME = 'rig'
LOCK = re.compile(r'(?:emulator )?(\d+)\n')  # process; early locks have no word
READ_SIZE = 65536


def default_link() -> Path:
    """Return the path of the link that `serial_port:=emulator` opens."""
    runtime = os.environ.get('XDG_RUNTIME_DIR')
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / 'flex_robot_sim' / PORT_NAME
    return Path('/tmp') / f'flex_robot_sim-{os.getuid()}' / PORT_NAME


class PtyPort:
    """Master side of a pseudo terminal; hosts open the other side by its link, as a port."""

    def __init__(self, link: str | Path | None = None) -> None:
        """Open the terminal and its link; UsageError if another process uses that link."""
        self.link = Path(link) if link else default_link()
        self.overflows = 0  # times that unread bytes were discarded
        self._lock = self._acquire_lock()
        self._master: int | None = None
        self._slave: int | None = None
        self.plug()

    def plug(self) -> None:
        """Open a new terminal and point the link to it."""
        if self._master is not None:
            return
        self._master, self._slave = master, slave = os.openpty()
        # raw mode before a host connects, or the first bytes are echoed; an open slave avoids
        # read errors of the master while no host is connected
        tty.setraw(slave, termios.TCSANOW)
        os.set_blocking(master, False)
        new_link = self.link.with_name(f'{self.link.name}.{secrets.token_hex(4)}.new')
        new_link.symlink_to(os.ttyname(slave))
        new_link.replace(self.link)  # atomic: the link is never missing

    def unplug(self) -> None:
        """Remove link and terminal, like a pulled plug."""
        if self._master is None or self._slave is None:
            return
        with contextlib.suppress(OSError):  # a file in its place is not the emulator's
            if os.readlink(self.link) == os.ttyname(self._slave):
                self.link.unlink()
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = None

    def close(self) -> None:
        """Remove link and terminal, and release the lock."""
        self.unplug()
        if self._lock is not None:
            # the file stays: unlinking a lock would take it from waiting processes
            os.close(self._lock)
            self._lock = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def read(self, max_size: int | None = None) -> bytes:
        """Return all received bytes, or the first `max_size`."""
        data = b''
        while self._master is not None and (max_size is None or len(data) < max_size):
            try:
                piece = os.read(
                    self._master, READ_SIZE if max_size is None else max_size - len(data)
                )
            except OSError as error:
                # no bytes, or the other side has closed
                if error.errno in (errno.EAGAIN, errno.EIO):
                    break
                raise
            if not piece:
                break
            data += piece
        return data

    def write(self, data: bytes) -> None:
        """Send bytes; without a reader, old bytes are discarded, not the newest."""
        while data and self._master is not None and self._slave is not None:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                self.overflows += 1
                termios.tcflush(self._slave, termios.TCIFLUSH)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                self.overflows += 1
                return

    def wait(self, seconds: float) -> bool:
        """Wait for bytes, for at most `seconds`; return whether there are any."""
        if self._master is None:
            select.select([], [], [], seconds)
            return False
        return bool(select.select([self._master], [], [], seconds)[0])

    def _acquire_lock(self):
        """Return the lock of the link; leaves files of other users and programs alone."""
        folder = self.link.parent
        try:
            if self.link == default_link():  # other folders must exist
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_folder(folder.stat())
            # a link in place of the lock would lead to another file
            lock = os.open(
                f'{self.link}.lock',
                os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK,
                0o600,
            )
        except OSError as error:
            what = 'it is a link' if error.errno == errno.ELOOP else error.strerror
            raise UsageError(
                f'{self.link}.lock cannot be made: {what}. Give another --link.'
            ) from error
        try:
            self._claim_lock(lock)
        except BaseException:
            os.close(lock)
            raise
        return lock

    def _claim_lock(self, lock):
        status = os.fstat(lock)
        text = (
            os.read(lock, 100).decode(errors='replace') if stat.S_ISREG(status.st_mode) else 'no'
        )
        owner = LOCK.fullmatch(text)
        if status.st_uid != os.getuid() or status.st_nlink != 1 or text and not owner:
            raise UsageError(
                f'{self.link}.lock is there and is no lock of an emulator of yours. '
                'Give another --link.'
            )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(
                f'{self.link} belongs to an emulator that runs, process '
                f'{owner[1] if owner else "unknown"}. Stop it, or give another --link.'
            ) from error
        self._check_link()
        os.ftruncate(lock, 0)
        os.pwrite(lock, f'emulator {os.getpid()}\n'.encode(), 0)

    def _check_folder(self, folder):
        """Refuse a folder in which other users can replace the link."""
        if folder.st_uid not in (os.getuid(), 0):
            raise UsageError(f'{self.link.parent} belongs to another user. Give another --link.')
        # the user's own group may write
        is_open = folder.st_mode & (0o002 if folder.st_gid == os.getgid() else 0o022)
        if is_open and not folder.st_mode & stat.S_ISVTX:
            raise UsageError(
                f'others may replace what is in {self.link.parent}. Give another --link.'
            )

    def _check_link(self):
        """Refuse to replace anything but the link of an emulator of this user."""
        if not os.path.lexists(self.link):
            return
        if not self.link.is_symlink() or not os.readlink(self.link).startswith('/dev/'):
            raise UsageError(
                f'{self.link} is there and is no link to a terminal. Give another --link.'
            )
        if self.link.lstat().st_uid != os.getuid():
            raise UsageError(f'{self.link} belongs to another user. Give another --link.')
