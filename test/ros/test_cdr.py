"""Messages to bytes and back, against rclpy and rosbags."""

import numpy as np
import pytest
from refusals import refusal

from flex_robot_sim.recording.messages import JOINT_STATE, POSE, TEXT, TEXTS
from flex_robot_sim.ros.cdr import MessageError, decode, encode, trim
from flex_robot_sim.ros.definitions import DefinitionError, message_type

pytestmark = pytest.mark.slow

SEEDS = range(20)


def random_joint_state(seed):
    """A JointState of any length; each of its arrays may be empty."""
    random = np.random.default_rng(seed)
    size = int(random.integers(0, 6))
    words = ['a', 'elbow', 'ärmel', 'forearm/bending_z_1', '']
    names = [str(random.choice(words)) for _ in range(size)]
    arrays = {
        field: random.normal(size=size * int(random.integers(0, 2)))
        for field in ('position', 'velocity', 'effort')
    }
    return {
        'header': {
            'stamp': {
                'sec': int(random.integers(-5, 2**31)),
                'nanosec': int(random.integers(0, 10**9)),
            },
            'frame_id': 'base'[: seed % 5],
        },
        'name': names,
        **arrays,
    }


def random_pose(seed):
    numbers = np.random.default_rng(seed).normal(size=7).tolist()
    return {
        'header': {'stamp': {'sec': seed, 'nanosec': 7}, 'frame_id': 'x' * (seed % 7)},
        'pose': {
            'position': dict(zip('xyz', numbers)),
            'orientation': dict(zip('xyzw', numbers[3:])),
        },
    }


def same(value, other):
    """Whether a decoded message equals that of another library."""
    if isinstance(value, dict):
        return all(same(part, getattr(other, name)) for name, part in value.items())
    if isinstance(value, np.ndarray):
        return np.array_equal(value, np.array(other))
    return value == other


CASES = (
    [(JOINT_STATE, random_joint_state(seed)) for seed in SEEDS]
    + [(POSE, random_pose(seed)) for seed in SEEDS]
    + [(TEXT, {'data': 'ü' * 3}), (TEXT, {'data': ''})]
)


@pytest.fixture(scope='module')
def store():
    """All types of a ROS distribution from rosbags, which takes a while to read them."""
    typesys = pytest.importorskip('rosbags.typesys')
    return typesys.get_typestore(typesys.Stores.ROS2_JAZZY)


@pytest.mark.parametrize('kind, values', CASES)
def test_rosbags_reads_what_we_write_and_we_read_what_it_writes(store, kind, values):
    ours = message_type(kind, TEXTS[kind])
    theirs = store.deserialize_cdr(encode(ours, values), kind)
    assert same(decode(ours, store.serialize_cdr(theirs, kind).tobytes()), theirs)
    assert same(decode(ours, encode(ours, values)), theirs)


@pytest.mark.ros
@pytest.mark.parametrize('kind, values', CASES)
def test_rclpy_reads_what_we_write_and_we_read_what_it_writes(kind, values):
    from geometry_msgs.msg import PoseStamped
    from rclpy.serialization import deserialize_message, serialize_message
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String

    of_ros = {JOINT_STATE: JointState, POSE: PoseStamped, TEXT: String}[kind]
    ours = message_type(kind, TEXTS[kind])
    message = deserialize_message(encode(ours, values), of_ros)
    assert same(decode(ours, encode(ours, values)), message)
    assert same(decode(ours, serialize_message(message)), message)


ODD = """# all that a .msg file may hold
int8 RED=1
string WORD = "a # b"
bool yes
byte[3] three
char letter 65
uint16[] many     # with a comment
float32[<=4] few
string<=10 short "x=1"
string[2] two
Part[] parts
other_msgs/msg/Whole whole
================================================================================
MSG: odd_msgs/Part
int64 number
================================================================================
MSG: other_msgs/Whole
"""


def test_every_form_of_a_field_is_read():
    kind = message_type('odd_msgs/msg/Odd', ODD)
    assert [(field.name, field.kind, field.size) for field in kind.types[kind.name]] == [
        ('yes', 'bool', None),
        ('three', 'byte', 3),
        ('letter', 'char', None),
        ('many', 'uint16', -1),
        ('few', 'float32', -1),
        ('short', 'string', None),
        ('two', 'string', 2),
        ('parts', 'odd_msgs/Part', -1),
        ('whole', 'other_msgs/Whole', None),
    ]
    values = {
        'yes': True,
        'three': [1, 2, 3],
        'letter': 66,
        'many': [7, 65535],
        'few': [0.5],
        'short': 'ab',
        'two': ['', 'c'],
        'parts': [{'number': -(2**63)}, {'number': 5}],
    }
    read = decode(kind, encode(kind, values))
    assert read.pop('whole') == {'structure_needs_at_least_one_member': 0}
    assert {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in read.items()
    } == values


def test_the_other_order_of_bytes_is_read():
    kind = message_type('a/msg/B', 'int32 n\nfloat64[] x\n')
    data = b'\0\0\0\0' + b'\0\0\0\7' + b'\0\0\0\1' + b'\x3f\xe0' + bytes(6)
    read = decode(kind, data)
    assert read['n'] == 7 and read['x'].tolist() == [0.5]


def test_a_message_that_is_cut_off_is_refused_wherever():
    kind = message_type(JOINT_STATE, TEXTS[JOINT_STATE])
    whole = encode(
        kind, {'name': ['elbow'], 'position': [1.0], 'velocity': [2.0], 'effort': [3.0]}
    )
    for size in range(len(whole)):
        with pytest.raises(MessageError):
            decode(kind, whole[:size])
    # some writers append padding
    assert decode(kind, whole + bytes(4))['effort'].tolist() == [3.0]


@pytest.mark.parametrize(
    'text, reason',
    [
        ('float64', '"float64" is no field'),
        ('Part part', 'type a/Part is not defined'),
        ('wstring text', 'type a/wstring is not defined'),
        ('B again', 'type a/B is made of itself'),
        ('int8 x\n===\nint8 y', '"int8 y" does not name a type'),
    ],
)
def test_a_definition_that_is_none_says_why(text, reason):
    assert refusal(DefinitionError, message_type, 'a/msg/B', text) == reason


def nested(*sizes):
    """Text of a type of nested lists; the innermost item is empty and takes no byte."""
    parts = [f'A{k + 1}[{size}] a' for k, size in enumerate(sizes)]
    parts = [
        parts[0],
        *(f'MSG: p/A{k + 1}\n{part}' for k, part in enumerate(parts[1:])),
        f'MSG: p/A{len(sizes)}\nuint8[0] z',
    ]
    return f'\n{"=" * 80}\n'.join(parts)


@pytest.mark.parametrize(
    'sizes, body',
    [
        ((1000, 1000, 1000), b''),  # 10^9 items without bytes
        (('', 1000), (600).to_bytes(4, 'little')),  # a list of the length in the message
    ],
)
def test_lists_of_items_without_bytes_are_bounded(sizes, body):
    kind = message_type('p/msg/R', nested(*sizes))
    data = b'\0\1\0\0' + body + bytes(2000)
    assert refusal(MessageError, decode, kind, data) == 'its lists have more than 500000 values'
    assert trim(kind, data) == data


def test_lists_of_messages_within_messages_are_bounded_by_what_they_hold():
    wrappers = [f'MSG: p/A{k}\nA{k + 1} z' for k in range(40)]
    text = f'\n{"=" * 80}\n'.join(['A0[] a', *wrappers, 'MSG: p/A40\nbool z'])
    count = 20_000  # 41 values of one byte each
    with pytest.raises(MessageError, match='more than 500000 values'):
        decode(
            message_type('p/msg/R', text), b'\0\1\0\0' + count.to_bytes(4, 'little') + bytes(count)
        )
