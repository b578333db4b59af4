"""
MCAP files: messages with their times and types, in small chunks.

A reader recovers all undamaged chunks of a file that is cut off or damaged.
"""

import contextlib
import io
import os
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from flex_robot_sim.recording.chunks import (
    DEFAULT_MAX_CHUNK_MB,
    MAX_CHUNK_VARIABLE,
    Limits,
    TooLarge,
    unpack_chunk,
)
from flex_robot_sim.recording.mcap_records import (
    MESSAGE_HEADER_SIZE,
    RELEVANT_KINDS,
    Kind,
    chunk_size,
    parse_message,
    record_spans,
    records,
    records_in_chunk,
)
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import draft_of, why_unwritable
from flex_robot_sim.version import __version__

ENCODING, SCHEMA, PROFILE = 'cdr', 'ros2msg', 'ros2'
CHUNK_SIZE = 2**18  # of messages, uncompressed [bytes]
FLUSH_PERIOD_S = 0.5  # after which a chunk ends, even if it is small
QOS_KEY = 'offered_qos_profiles'
METADATA_NAME = 'flex_robot_sim'  # in every recording of this package
INSTALL_HINT = (
    'recordings need the package mcap. Install it by `pip install mcap`, and call this again'
)
# keep last; enum values of the ROS middleware interface (rmw), which all versions read
_QOS_TEMPLATE = """- history: 1
  depth: {depth}
  reliability: {reliability}
  durability: {durability}
  deadline: {{sec: 9223372036, nsec: 854775807}}
  lifespan: {{sec: 9223372036, nsec: 854775807}}
  liveliness: 1
  liveliness_lease_duration: {{sec: 9223372036, nsec: 854775807}}
  avoid_ros_namespace_conventions: false
"""
TIME_LIMIT_NS = 2**63  # times from here on are invalid in ROS
DEFINITION_OVERHEAD = 500  # of a type, a topic or metadata, in addition to its texts [bytes]
LATCHED, VOLATILE = 1, 2  # durability
RELIABLE, BEST_EFFORT = 1, 2  # reliability


class RecordedTopic(NamedTuple):
    """A topic of a recording."""

    name: str
    kind: str  # package/msg/Type
    text: str  # definition of the type, if schema is SCHEMA
    encoding: str = ENCODING
    schema: str = SCHEMA
    is_latched: bool = False
    is_reliable: bool = True


class RecordedMessage(NamedTuple):
    """A message of a recording."""

    topic: RecordedTopic
    time: int  # time of recording, or simulated time                        [ns]
    data: bytes


def refuse_without_mcap() -> None:
    """Raise UsageError if the package mcap is not installed."""
    try:
        import mcap.writer  # noqa: F401
    except ImportError as error:
        raise UsageError(f'{INSTALL_HINT}.') from error


def refuse_recording(path: str | Path) -> None:
    """Raise UsageError if no new recording can be created at `path`."""
    refuse_without_mcap()
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise UsageError(f'{path}: is there already. Name a new file.')
    problem = why_unwritable(path)
    if problem:
        raise UsageError(
            f'{path}: cannot be written: {problem}. Name a new file in a folder of yours.'
        )


class RecordingWriter:
    """Writes a recording; after a failure it ignores all further calls."""

    def __init__(
        self,
        path: str | Path,
        about: Mapping[str, str],
        is_new: bool = False,
        is_atomic: bool = False,
    ) -> None:
        """
        Begin the file; UsageError if it cannot be written.

        :param about: description of the recording, stored as the metadata `flex_robot_sim`.
        :param is_new: whether an existing file is refused.
        :param is_atomic: whether the file gets its name at the end, so that an older one survives
            a failure; otherwise an interrupted recording keeps its messages.
        """
        refuse_without_mcap()
        from mcap.writer import Writer

        self.path, self.failure, self.messages = Path(path), '', 0
        self._topics: dict[tuple[str, str], int] = {}
        self._schemas: dict[str, int] = {}
        try:
            self._draft = draft_of(path) if is_atomic else None
            self._file = open(self._draft or path, 'xb' if is_new else 'wb')  # noqa: SIM115
        except OSError as error:
            raise UsageError(
                f'{path}: cannot be written: {error.strerror}. Name '
                f'{"a new" if is_new else "another"} file in a folder that exists.'
            ) from error
        self._writer = Writer(self._file, chunk_size=CHUNK_SIZE)
        self._flushed = time.monotonic()
        self._try(self._begin, about)

    def topic(
        self, name: str, kind: str, text: str, is_latched: bool = False, is_reliable: bool = True
    ) -> int:
        """Return the number of a topic for `write`; a new topic is registered."""
        if (name, kind) not in self._topics:
            if kind not in self._schemas:
                self._schemas[kind] = self._try(
                    self._writer.register_schema, kind, SCHEMA, text.encode()
                )
            qos = _QOS_TEMPLATE.format(
                depth=1 if is_latched else 10,
                durability=LATCHED if is_latched else VOLATILE,
                reliability=RELIABLE if is_reliable else BEST_EFFORT,
            )
            self._topics[name, kind] = self._try(
                self._writer.register_channel, name, ENCODING, self._schemas[kind], {QOS_KEY: qos}
            )
        return self._topics[name, kind]

    def write(self, topic: int, stamp: int, data: bytes, publish_time: int = 0) -> None:
        """Add a message with its log time, and its publish time if it differs [ns]."""
        if self.failure:
            return
        self._try(
            self._writer.add_message,
            topic,
            stamp,
            data,
            publish_time or stamp,
            self.messages % 2**32,
        )
        self.messages += not self.failure
        self.flush_when_due()

    def note(self, name: str, facts: Mapping[str, str]) -> None:
        """Add a metadata record `name` with `facts`."""
        self._try(self._writer.flush)  # metadata lies outside chunks
        self._try(self._writer.add_metadata, name, dict(facts))

    def flush_when_due(self) -> None:
        """Write buffered messages to the file if they are older than FLUSH_PERIOD_S."""
        if time.monotonic() > self._flushed + FLUSH_PERIOD_S:
            self.flush()

    def flush(self) -> None:
        """Write all buffered messages to the file."""
        self._flushed = time.monotonic()
        self._try(self._writer.flush)

    def close(self) -> None:
        """End the file; may be called twice. UsageError if anything has failed."""
        if not self._file.closed:
            self._try(self._writer.finish)
            try:
                self._file.close()
            except OSError as error:
                self._fail(error)
            if self._draft is not None and not self.failure:
                self._try(os.replace, self._draft, os.path.realpath(self.path))
        if self.failure:
            raise UsageError(self.failure)

    def _begin(self, about):
        self._writer.start(PROFILE, f'flex_robot_sim {__version__}')
        self._writer.add_metadata(METADATA_NAME, {'version': __version__, **about})
        self._writer.flush()

    def _try(self, step, *values):
        if self.failure:
            return 0
        try:
            return step(*values)
        except OSError as error:
            self._fail(error)
            return 0

    def _fail(self, error):
        saved_part = 'nothing is in it'
        if self.messages:
            saved_part = (
                f'{self.messages} messages were given to it before, and all but the last '
                'second of them are kept'
            )
        if self._draft is not None:
            saved_part = 'nothing of it is kept'
            self._draft.unlink(missing_ok=True)
        self.failure = self.failure or (
            f'{self.path}: cannot be written: {error.strerror}; {saved_part}.'
        )
        with contextlib.suppress(OSError):
            self._file.close()


class RecordingReader:
    """Reads an MCAP recording of any origin from its beginning."""

    def __init__(self, path: str | Path) -> None:
        """Open a file, or a folder of `ros2 bag` with one; UsageError if it is no recording."""
        refuse_without_mcap()
        self.path = _find_file(Path(path))
        self.notes: list[str] = []  # lines about missing parts, after reading
        self.about: dict[str, str] = {}  # metadata METADATA_NAME
        self.facts: dict[str, dict[str, str]] = {}  # all metadata by name
        with self._open() as file:
            start = file.read(5)
        if start != b'\x89MCAP':
            format_name = {b'SQLit': 'a bag of SQLite', b'#ROSB': 'a bag of ROS 1'}.get(start)
            remedy = 'Name an MCAP file, as flexsim simulate --output and ros2 bag write them'
            if format_name:
                remedy = 'Convert it to MCAP, by `ros2 bag convert` for instance'
            raise UsageError(f'{path}: this is {format_name or "no recording"}. {remedy}.')

    def __iter__(self) -> Iterator[RecordedMessage]:
        """Yield the messages in the order of the file."""
        from mcap.exceptions import McapError

        self.notes, damaged, definitions = [], 0, _Definitions(self.about, self.facts)
        with self._open() as file:
            size = os.fstat(file.fileno()).st_size
            limits, total = Limits.of_file(size), 0
            file_records = records(file, size)
            while True:
                try:
                    kind, data = next(file_records, (Kind.DATA_END, b''))
                    parsed_records = (
                        iter([_parse_record(kind, data)]) if kind != Kind.CHUNK else None
                    )
                except (McapError, EOFError, ValueError, ArithmeticError, struct.error):
                    self.notes.append(
                        f'{self.path} is cut off or damaged at {file.tell()} of '
                        f'{size} bytes; what stands before is read'
                    )
                    break
                if kind == Kind.DATA_END:
                    break
                try:
                    if parsed_records is None:
                        total += min(chunk_size(data), limits.chunk)
                        if total > limits.total:
                            raise TooLarge
                        chunk = _unpack_valid_chunk(data, limits.chunk)
                        parsed_records = (
                            iter(())
                            if chunk is None
                            else (
                                _parse_record(kind, record_data)
                                for kind, record_data in records_in_chunk(chunk)
                            )
                        )
                        damaged += chunk is None
                    yield from definitions.messages(parsed_records, limits.chunk)
                except TooLarge as error:
                    raise UsageError(
                        f'{self.path}: what it unpacks to at {file.tell()} of {size} bytes is '
                        f'larger than the limit. Set {MAX_CHUNK_VARIABLE} (default '
                        f'{DEFAULT_MAX_CHUNK_MB}) if you trust the file.'
                    ) from error
        if damaged:
            self.notes.append(f'{damaged} chunks of {self.path} are damaged and left out')
        if definitions.invalid_times:
            self.notes.append(
                f'{definitions.invalid_times} messages of {self.path} have an '
                'impossible time and are left out'
            )
        if definitions.orphaned:
            self.notes.append(f'{definitions.orphaned} messages of {self.path} belong to no topic')

    def _open(self) -> IO[bytes]:
        try:
            return open(self.path, 'rb')
        except OSError as error:
            raise UsageError(f'{self.path}: cannot be read: {error.strerror}.') from error


class _Definitions:
    """Types, topics and metadata that a file has defined so far."""

    def __init__(self, about, facts):
        self._about, self._facts = about, facts
        self._schemas, self._topics, self._size = {}, {}, 0
        self.orphaned = self.invalid_times = 0

    def messages(self, records, limit) -> Iterator[RecordedMessage]:
        """Yield the messages of `records`; TooLarge if definitions exceed `limit` [bytes]."""
        for record in records:
            kind = type(record).__name__
            if kind == 'Message':
                topic = self._topics.get(record.channel_id)
                if topic is None:
                    self.orphaned += 1
                elif record.log_time >= TIME_LIMIT_NS:
                    self.invalid_times += 1
                else:
                    yield RecordedMessage(topic, record.log_time, record.data)
                continue
            if kind == 'Schema':
                self._grow(len(record.name) + len(record.data), limit)
                self._schemas[record.id] = (
                    record.name,
                    record.encoding,
                    record.data.decode(errors='replace'),
                )
            elif kind == 'Channel':
                self._grow(len(record.topic), limit)
                self._topics[record.id] = self._topic(record)
            elif kind == 'Metadata':
                self._grow(
                    sum(len(text) for pair in record.metadata.items() for text in pair), limit
                )
                self._facts.setdefault(record.name, {}).update(record.metadata)
                if record.name == METADATA_NAME:
                    self._about.update(record.metadata)

    def _grow(self, size, limit):
        """Add the size of a definition that stays in memory [bytes]."""
        self._size += size + DEFINITION_OVERHEAD
        if self._size > limit:
            raise TooLarge

    def _topic(self, channel):
        name, encoding, text = self._schemas.get(channel.schema_id, ('', '', ''))
        qos = channel.metadata.get(QOS_KEY, '')
        return RecordedTopic(
            channel.topic,
            name,
            text,
            channel.message_encoding,
            encoding,
            'durability: 1' in qos or 'durability: transient_local' in qos,
            not ('reliability: 2' in qos or 'reliability: best_effort' in qos),
        )


def _unpack_valid_chunk(data: bytes, limit: int) -> bytes | bytearray | None:
    """Return the bytes in a chunk; None if it is damaged, TooLarge if there are too many."""
    try:
        unpacked_data = unpack_chunk(_parse_record(Kind.CHUNK, data), limit)
        for kind, begin, end in record_spans(unpacked_data):
            if kind == Kind.MESSAGE:
                if end - begin < MESSAGE_HEADER_SIZE:
                    raise EOFError
            elif kind in RELEVANT_KINDS:
                _parse_record(kind, bytes(unpacked_data[begin:end]))
        return unpacked_data
    except TooLarge:
        raise
    except Exception:  # each compression library has different error classes
        return None


def _parse_record(kind: int, data: bytes) -> Any:
    """Parse a record; None if its kind is not relevant."""
    if kind == Kind.MESSAGE:
        return parse_message(data)
    if kind not in RELEVANT_KINDS:
        return None
    from mcap import records as mcap_records
    from mcap.data_stream import ReadDataStream

    read: dict[int, Any] = {
        Kind.SCHEMA: mcap_records.Schema.read,
        Kind.CHANNEL: mcap_records.Channel.read,
        Kind.CHUNK: mcap_records.Chunk.read,
        Kind.METADATA: mcap_records.Metadata.read,
    }
    return read[kind](ReadDataStream(_StrictBytes(data)))


class _StrictBytes(io.BytesIO):
    """Stream whose `read` returns exactly `size` bytes; EOFError if there are fewer."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if size is not None and len(data) < size:
            raise EOFError
        return data


def _find_file(path):
    if not path.is_dir():
        if path.exists() and not path.is_file():
            raise UsageError(f'{path}: this is not a regular file.')
        return path
    files = sorted(path.glob('*.mcap'))
    if len(files) != 1:
        raise UsageError(f'{path}: this folder has {len(files) or "no"} .mcap files. Name one.')
    return files[0]
