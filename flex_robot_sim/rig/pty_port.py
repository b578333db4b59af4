"""
A serial port that is none: a pseudo terminal under a name that stays.

The name is a symbolic link in the user's runtime folder. It is locked as long as the port exists,
so that two emulators never share one, and what a killed one left behind is taken over.
"""

import contextlib
import errno
import fcntl
import os
import select
import termios
import tty
from pathlib import Path

from flex_robot_sim.exceptions import UsageError

PORT_NAME = 'rig'
READ_SIZE = 65536


def default_link():
    """Path of the link that `serial_port:=emulator` opens."""
    runtime = os.environ.get('XDG_RUNTIME_DIR')
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / 'flex_robot_sim' / PORT_NAME
    return Path('/tmp') / f'flex_robot_sim-{os.getuid()}' / PORT_NAME


class PtyPort:
    """One end of a pseudo terminal; the other is opened by its link, like a serial port."""

    def __init__(self, link=None):
        """Open the terminal and its link; UsageError if another process has that link."""
        self.link = Path(link) if link else default_link()
        self.overflows = 0          # times that bytes were thrown away because nobody read
        self._lock = self._locked()
        self._master = self._slave = None
        self.plug()

    @property
    def plugged(self):
        """Whether the terminal exists."""
        return self._master is not None

    def plug(self):
        """Make a new terminal and let the link name it."""
        if self.plugged:
            return
        self._master, self._slave = os.openpty()
        # raw before anybody opens it, or the first bytes are echoed; the slave stays open, or
        # the master reads errors while nobody is connected
        tty.setraw(self._slave, termios.TCSANOW)
        os.set_blocking(self._master, False)
        fresh = self.link.with_name(f'{self.link.name}.{os.getpid()}.new')
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        fresh.symlink_to(os.ttyname(self._slave))
        fresh.replace(self.link)            # in one step: nobody sees a missing link

    def unplug(self):
        """Take link and terminal away, as a pulled plug does."""
        if not self.plugged:
            return
        self.link.unlink(missing_ok=True)
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = None

    def close(self):
        """Leave nothing behind."""
        self.unplug()
        if self._lock is not None:
            # the file stays: whoever unlinks a lock takes it from those who wait for it
            os.close(self._lock)
            self._lock = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def read(self, most=None):
        """Return all bytes that have come, or the first so many."""
        data = b''
        while self.plugged and (most is None or len(data) < most):
            try:
                piece = os.read(self._master, READ_SIZE if most is None else most - len(data))
            except OSError as error:
                # nothing there, or the other end has gone away
                if error.errno in (errno.EAGAIN, errno.EIO):
                    break
                raise
            if not piece:
                break
            data += piece
        return data

    def write(self, data):
        """Send bytes; where nobody reads, old ones are lost and not the newest."""
        while data and self.plugged:
            try:
                data = data[os.write(self._master, data):]
            except BlockingIOError:
                self.overflows += 1
                termios.tcflush(self._slave, termios.TCIFLUSH)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                self.overflows += 1
                return

    def wait(self, seconds):
        """Wait for bytes, or until the time is over; return whether there are any."""
        if not self.plugged:
            select.select([], [], [], seconds)
            return False
        return bool(select.select([self._master], [], [], seconds)[0])

    def _locked(self):
        folder = self.link.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(f'{self.link}.lock', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f'{self.link} cannot be made: {error.strerror}. '
                             'Give another --link.') from error
        if folder.stat().st_uid != os.getuid():
            os.close(lock)
            raise UsageError(f'{folder} belongs to another user. Give another --link.')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(lock, 20).decode(errors='replace').strip() or 'unknown'
            os.close(lock)
            raise UsageError(f'{self.link} belongs to an emulator that runs, process {holder}. '
                             'Stop it, or give another --link.') from error
        if self.link.exists() and not self.link.is_symlink():
            os.close(lock)
            raise UsageError(f'{self.link} is there and is no link. Give another --link.')
        os.ftruncate(lock, 0)
        os.write(lock, f'{os.getpid()}\n'.encode())
        return lock
