"""
MCAP files: messages with their times and types, in small chunks.

A file that was cut off, or of which a chunk is damaged, keeps all else.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from flex_robot_sim.recording.chunks import DEFAULT_MB, MAX_CHUNK_MB, Limits, TooLarge, unpacked
from flex_robot_sim.recording.mcap_records import (
    MESSAGE_HEAD,
    USED,
    Kind,
    chunk_size,
    message,
    places_in,
    records,
    records_in,
)
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import draft_of, why_unwritable
from flex_robot_sim.version import __version__

ENCODING, SCHEMA, PROFILE = 'cdr', 'ros2msg', 'ros2'
CHUNK = 2**18               # of messages, before they are packed                         [bytes]
FLUSH_PERIOD = 0.5          # after which a chunk ends, however small it is               [s]
QOS = 'offered_qos_profiles'
ABOUT = 'flex_robot_sim'    # metadata that every recording of ours has
INSTALL = ('recordings need the package mcap. Install it by `pip install mcap`, and call this '
           'again')
# keep last, with numbers of ROS's middleware interface, that all versions read
_QOS = """- history: 1
  depth: {depth}
  reliability: {reliability}
  durability: {durability}
  deadline: {{sec: 9223372036, nsec: 854775807}}
  lifespan: {{sec: 9223372036, nsec: 854775807}}
  liveliness: 1
  liveliness_lease_duration: {{sec: 9223372036, nsec: 854775807}}
  avoid_ros_namespace_conventions: false
"""
LATEST = 2**63              # times from here on are no times of ROS                       [ns]
DEFINITION = 500            # that a type, a topic or metadata takes beside its texts    [bytes]
LATCHED, VOLATILE = 1, 2    # durability
RELIABLE, BEST_EFFORT = 1, 2


class Topic(NamedTuple):
    """A topic of a recording."""

    name: str
    kind: str               # package/msg/Type
    text: str               # definition of the type, if schema is SCHEMA
    encoding: str = ENCODING
    schema: str = SCHEMA
    is_latched: bool = False
    is_reliable: bool = True


class Recorded(NamedTuple):
    """A message of a recording."""

    topic: Topic
    time: int               # when it was recorded, or simulated time                     [ns]
    data: bytes


def refuse_without_mcap() -> None:
    """Raise UsageError where the package is not installed."""
    try:
        import mcap.writer  # noqa: F401
    except ImportError as error:
        raise UsageError(f'{INSTALL}.') from error


def refuse_recording(path: str | Path) -> None:
    """Raise UsageError where no new recording can be begun."""
    refuse_without_mcap()
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise UsageError(f'{path}: is there already. Name a new file.')
    problem = why_unwritable(path)
    if problem:
        raise UsageError(f'{path}: cannot be written: {problem}. Name a new file in a folder of '
                         'yours.')


class RecordingWriter:
    """A recording that is being written; what has failed once is not tried again."""

    def __init__(self, path: str | Path, about: Mapping[str, str], is_new: bool = False,
                 is_atomic: bool = False) -> None:
        """
        Begin the file; UsageError if it cannot be written.

        :param about: what is said about the recording, as the metadata `flex_robot_sim`.
        :param is_new: whether a file that is there already is refused.
        :param is_atomic: whether the file gets its name at the end, and an older one survives a
            failure; otherwise a recording that was cut off keeps what it has.
        """
        refuse_without_mcap()
        from mcap.writer import Writer

        self.path, self.failure, self.messages = Path(path), '', 0
        self._topics: dict[tuple[str, str], int] = {}
        self._schemas: dict[str, int] = {}
        try:
            self._draft = draft_of(path) if is_atomic else None
            self._file = open(self._draft or path, 'xb' if is_new else 'wb')    # noqa: SIM115
        except OSError as error:
            raise UsageError(f'{path}: cannot be written: {error.strerror}. Name '
                             f'{"a new" if is_new else "another"} file in a folder that '
                             'exists.') from error
        self._writer = Writer(self._file, chunk_size=CHUNK)
        self._flushed = time.monotonic()
        self._try(self._begin, about)

    def topic(self, name: str, kind: str, text: str, is_latched: bool = False,
              is_reliable: bool = True) -> int:
        """Return the number of a topic for `write`; it is made when it is new."""
        if (name, kind) not in self._topics:
            if kind not in self._schemas:
                self._schemas[kind] = self._try(
                    self._writer.register_schema, kind, SCHEMA, text.encode())
            qos = _QOS.format(depth=1 if is_latched else 10,
                              durability=LATCHED if is_latched else VOLATILE,
                              reliability=RELIABLE if is_reliable else BEST_EFFORT)
            self._topics[name, kind] = self._try(
                self._writer.register_channel, name, ENCODING, self._schemas[kind], {QOS: qos})
        return self._topics[name, kind]

    def write(self, topic: int, stamp: int, data: bytes, sent: int = 0) -> None:
        """Add a message with its time, and that at which it was sent if it is another one [ns]."""
        if self.failure:
            return
        self._try(self._writer.add_message, topic, stamp, data, sent or stamp,
                  self.messages % 2**32)
        self.messages += not self.failure
        self.flush_when_due()

    def note(self, name: str, facts: Mapping[str, str]) -> None:
        """Add something about the recording: metadata `name`."""
        self._try(self._writer.flush)       # it lies beside chunks, not in them
        self._try(self._writer.add_metadata, name, dict(facts))

    def flush_when_due(self) -> None:
        """Let reach the file what has waited for FLUSH_PERIOD."""
        if time.monotonic() > self._flushed + FLUSH_PERIOD:
            self.flush()

    def flush(self) -> None:
        """Let all that was added reach the file."""
        self._flushed = time.monotonic()
        self._try(self._writer.flush)

    def close(self) -> None:
        """End the file; may be called twice. UsageError if anything has failed."""
        if not self._file.closed:
            self._try(self._writer.finish)
            try:
                self._file.close()
            except OSError as error:
                self._failed(error)
            if self._draft is not None and not self.failure:
                self._try(os.replace, self._draft, os.path.realpath(self.path))
        if self.failure:
            raise UsageError(self.failure)

    def _begin(self, about):
        self._writer.start(PROFILE, f'flex_robot_sim {__version__}')
        self._writer.add_metadata(ABOUT, {'version': __version__, **about})
        self._writer.flush()

    def _try(self, step, *values):
        if self.failure:
            return 0
        try:
            return step(*values)
        except OSError as error:
            self._failed(error)
            return 0

    def _failed(self, error):
        kept = f'{self.messages} messages were given to it before, and all but the last second ' \
               'of them are kept' if self.messages else 'nothing is in it'
        if self._draft is not None:
            kept = 'nothing of it is kept'
            self._draft.unlink(missing_ok=True)
        self.failure = self.failure or f'{self.path}: cannot be written: {error.strerror}; {kept}.'
        with contextlib.suppress(OSError):
            self._file.close()


class RecordingReader:
    """A recording to be read from its beginning, whoever made it."""

    def __init__(self, path: str | Path) -> None:
        """Take a file, or a folder of `ros2 bag` with one; UsageError if it is no recording."""
        refuse_without_mcap()
        self.path = _file_of(Path(path))
        self.notes: list[str] = []              # lines about what is missing, after reading
        self.about: dict[str, str] = {}         # what we have said about it
        self.facts: dict[str, dict[str, str]] = {}      # all metadata by name
        with self._open() as file:
            start = file.read(5)
        if start != b'\x89MCAP':
            what = {b'SQLit': 'a bag of SQLite', b'#ROSB': 'a bag of ROS 1'}.get(start)
            remedy = ('Convert it to MCAP, by `ros2 bag convert` for instance' if what else
                      'Name an MCAP file, as flexsim simulate --output and ros2 bag write them')
            raise UsageError(f'{path}: this is {what or "no recording"}. {remedy}.')

    def __iter__(self) -> Iterator[Recorded]:
        """Yield the messages as they lie in the file."""
        from mcap.exceptions import McapError

        self.notes, damaged, known = [], 0, _Known(self.about, self.facts)
        with self._open() as file:
            size = os.fstat(file.fileno()).st_size
            limits, total = Limits.of_file(size), 0
            found = records(file, size)
            while True:
                try:
                    kind, data = next(found, (Kind.DATA_END, b''))
                    parts = iter([_parsed(kind, data)]) if kind != Kind.CHUNK else None
                except (McapError, EOFError, ValueError, ArithmeticError, struct.error):
                    self.notes.append(f'{self.path} is cut off or damaged at {file.tell()} of '
                                      f'{size} bytes; what stands before is read')
                    break
                if kind == Kind.DATA_END:
                    break
                try:
                    if parts is None:
                        total += min(chunk_size(data), limits.chunk)
                        if total > limits.total:
                            raise TooLarge
                        chunk = _unpacked(data, limits.chunk)
                        parts = iter(()) if chunk is None else (
                            _parsed(kind, part) for kind, part in records_in(chunk))
                        damaged += chunk is None
                    yield from known.messages(parts, limits.chunk)
                except TooLarge as error:
                    raise UsageError(
                        f'{self.path}: what it unpacks to at {file.tell()} of {size} bytes is '
                        f'larger than the limit. Set {MAX_CHUNK_MB} (default {DEFAULT_MB}) if '
                        'you trust the file.') from error
        if damaged:
            self.notes.append(f'{damaged} chunks of {self.path} are damaged and left out')
        if known.untimed:
            self.notes.append(f'{known.untimed} messages of {self.path} have an impossible time '
                              'and are left out')
        if known.strangers:
            self.notes.append(f'{known.strangers} messages of {self.path} belong to no topic')

    def _open(self) -> IO[bytes]:
        try:
            return open(self.path, 'rb')
        except OSError as error:
            raise UsageError(f'{self.path}: cannot be read: {error.strerror}.') from error


class _Known:
    """Types and topics that a file has defined so far."""

    def __init__(self, about, facts):
        self._about, self._facts = about, facts
        self._schemas, self._topics, self._size = {}, {}, 0
        self.strangers = self.untimed = 0

    def messages(self, records, limit) -> Iterator[Recorded]:
        """Yield the messages of `records`; TooLarge if definitions exceed `limit` [bytes]."""
        for record in records:
            kind = type(record).__name__
            if kind == 'Message':
                topic = self._topics.get(record.channel_id)
                if topic is None:
                    self.strangers += 1
                elif record.log_time >= LATEST:
                    self.untimed += 1
                else:
                    yield Recorded(topic, record.log_time, record.data)
                continue
            if kind == 'Schema':
                self._grow(len(record.name) + len(record.data), limit)
                self._schemas[record.id] = (record.name, record.encoding,
                                            record.data.decode(errors='replace'))
            elif kind == 'Channel':
                self._grow(len(record.topic), limit)
                self._topics[record.id] = self._topic(record)
            elif kind == 'Metadata':
                self._grow(sum(len(word) for pair in record.metadata.items() for word in pair),
                           limit)
                self._facts.setdefault(record.name, {}).update(record.metadata)
                if record.name == ABOUT:
                    self._about.update(record.metadata)

    def _grow(self, size, limit):
        """Count what is kept of a definition until the end [bytes]."""
        self._size += size + DEFINITION
        if self._size > limit:
            raise TooLarge

    def _topic(self, channel):
        name, encoding, text = self._schemas.get(channel.schema_id, ('', '', ''))
        qos = channel.metadata.get(QOS, '')
        return Topic(channel.topic, name, text, channel.message_encoding, encoding,
                     'durability: 1' in qos or 'durability: transient_local' in qos,
                     not ('reliability: 2' in qos or 'reliability: best_effort' in qos))


def _unpacked(data: bytes, limit: int) -> bytes | bytearray | None:
    """Return the bytes in a chunk; None if it is damaged, TooLarge if there are too many."""
    try:
        unpacked_data = unpacked(_parsed(Kind.CHUNK, data), limit)
        for kind, begin, end in places_in(unpacked_data):
            if kind == Kind.MESSAGE:
                if end - begin < MESSAGE_HEAD:
                    raise EOFError
            elif kind in USED:
                _parsed(kind, bytes(unpacked_data[begin:end]))
        return unpacked_data
    except TooLarge:
        raise
    except Exception:       # each way to pack has errors of its own for bytes that are none of it
        return None


def _parsed(kind: int, data: bytes) -> Any:
    """Return a record of its bytes; None if nobody here asks for its kind."""
    if kind == Kind.MESSAGE:
        return message(data)
    if kind not in USED:
        return None
    from mcap import records as of
    from mcap.data_stream import ReadDataStream

    read: dict[int, Any] = {Kind.SCHEMA: of.Schema.read, Kind.CHANNEL: of.Channel.read,
                            Kind.CHUNK: of.Chunk.read, Kind.METADATA: of.Metadata.read}
    return read[kind](ReadDataStream(_Bytes(data)))


class _Bytes(io.BytesIO):
    """Bytes that are read as many at a time as are asked for, or none."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if size is not None and len(data) < size:
            raise EOFError
        return data


def _file_of(path):
    if not path.is_dir():
        if path.exists() and not path.is_file():
            raise UsageError(f'{path}: this is not a regular file.')
        return path
    files = sorted(path.glob('*.mcap'))
    if len(files) != 1:
        raise UsageError(f'{path}: this folder has {len(files) or "no"} .mcap files. Name one.')
    return files[0]
