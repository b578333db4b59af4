"""Browser messages to a page: only offered values are accepted."""

import random
from decimal import Decimal

import msgspec
import pytest

pytest.importorskip('viser', reason='pip install ".[view]"')

import viser._messages as viser_messages
from page_client import CAMERA, PageClient
from waiting import eventually
from websockets.exceptions import ConnectionClosed

from flex_robot_sim.viewer.browser import Page

pytestmark = pytest.mark.slow

OPTIONS = 'x', 'y', 'ζ'
SLIDERS = {
    'force': (0.0, 30.0, 0.3, 1),
    'angle': (-3.141592653589793, 2.5, 0.01, 7),
    'mode': (0, 20, 1, 0),
}  # low, high, step, digits after the decimal point
LABELS = (*SLIDERS, 'trace', 'axis', 'press', 'off', 'gone')


class Panel:
    """A page with every kind of widget, and the values that its callbacks received."""

    def __init__(self):
        """Open the page."""
        self.page = Page('arm', 0)
        self.heard: list = []
        for label, (low, high, step, _) in SLIDERS.items():
            self.page.slider(label, low, high, step, low, self._note(label))
        self.page.checkbox('trace', True, self._note('trace'))
        self.page.dropdown('axis', OPTIONS, 'x', self._note('axis'))
        self.page.button('press', lambda: self.heard.append(('press', True)))
        self.page.button('off', lambda: self.heard.append(('off', True))).disable_if('no arm')
        self.page.button('gone', lambda: self.heard.append(('gone', True))).set_visible(False)

    def _note(self, label):
        return lambda value: self.heard.append((label, value))

    def reacts(self, label, value):
        """Return whether a callback has received a value."""
        self.page.react()
        return (label, value) in self.heard


@pytest.fixture
def panel():
    """Return a Panel; close its page at the end."""
    panel = Panel()
    yield panel
    panel.page.close()


@pytest.fixture
def client(panel):
    """Return a PageClient of the page."""
    client = PageClient(panel.page.private_address)
    assert client.hear(lambda: {*LABELS} <= client.widgets.keys())
    yield client
    client.close()


def is_offered(label, value):
    """Return whether the page offers a value, compared as decimal numbers."""
    if label in SLIDERS:
        low, high, _, digits = SLIDERS[label]
        decimals = -int(Decimal(repr(value)).normalize().as_tuple().exponent)
        return (
            type(value) is type(low)
            and low <= value <= high
            and (value in (low, high) or decimals <= digits)
        )
    return {'trace': type(value) is bool, 'axis': value in OPTIONS, 'press': value is True}.get(
        label, False
    )


def test_offered_values_are_accepted(panel, client):
    for label, value in (
        *(('force', value) for value in (3, 0.3, 30.0, 29.7)),
        *(('angle', value) for value in (0.4, -2.1415927)),
        *(('mode', value) for value in (20, 7.0)),
        *(('trace', False), ('axis', 'ζ'), ('press', True)),
    ):
        client.set(label, value)
        assert eventually(lambda label=label, value=value: panel.reacts(label, value)), label
    # a browser rounds the lower end to seven digits, which is outside the range
    client.set('angle', -3.1415927)
    assert eventually(lambda: panel.reacts('angle', SLIDERS['angle'][0]))
    assert all(is_offered(*item) for item in panel.heard) and panel.page.dropped == 0


NO_SWITCH: tuple = (0, 1, 'true', None, [], float('nan'))
REFUSED = [
    *((label, value) for label in SLIDERS for value in (
        float('nan'), float('inf'), -float('inf'), 1e308, -1e9, 31, 2**63, True, False, None, '',
        '3', 'nan', b'3', [3], {'value': 3}, [], 0.123456789)),
    *(('mode', value) for value in (0.5, 20.5, -1, 21)),
    *(('trace', value) for value in NO_SWITCH),
    *(('axis', value) for value in ('evil', '/etc/passwd', 'X', '', 0, None, ['x'], 'x\0')),
    *(('press', value) for value in (False, 1, 'true', None)),
    ('off', True), ('gone', True),
]  # fmt: skip


def test_a_value_that_is_not_offered_is_dropped_and_the_widget_is_reset(panel, client):
    for k, (label, value) in enumerate(REFUSED):
        client.set(label, value)
        assert eventually(lambda k=k: panel.page.dropped == k + 1), (label, value)
    panel.page.react()
    assert panel.heard == []
    client.values.clear()
    assert client.hear(lambda: panel.page.react() or len(client.values) == len(LABELS))
    for label, (low, *_) in SLIDERS.items():
        assert client.shown(label) == low
    assert client.shown('axis') == 'x' and client.shown('trace') is True


@pytest.mark.parametrize(
    'name',
    [
        *('evil', 'label', 'options', 'min', 'update_cb', 'sync_cb'),
        *('disabled', 'visible', '__class__', 'uuid', 'removed'),
    ],
)
def test_an_update_sets_the_value_and_no_other_attribute(panel, client, name):
    uuid = client.widgets['axis']['uuid']
    for updates in ({name: 1}, {'value': 'y', name: 'y'}, {}):
        client.send({'type': 'GuiUpdateMessage', 'uuid': uuid, 'updates': updates})
    assert eventually(lambda: panel.page.dropped == 3)
    client.set('axis', 'y')
    assert eventually(lambda: panel.reacts('axis', 'y'))
    assert len(panel.heard) == 1


def test_files_and_other_message_types_of_viser_are_dropped(panel, client, caplog):
    uuid = client.widgets['axis']['uuid']
    messages: list = [
        {
            'type': 'FileTransferStartUpload',
            'source_component_uuid': uuid,
            'transfer_uuid': 't',
            'filename': 'f',
            'mime_type': 'a/b',
            'part_count': 10**9,
            'size_bytes': 10**12,
        },
        {
            'type': 'FileTransferPart',
            'source_component_uuid': uuid,
            'transfer_uuid': 't',
            'part_index': 0,
            'content': bytes(9000),
        },
        {'type': 'ShareUrlRequest'},
        {'type': 'ShareUrlDisconnect'},
        {'type': 'GuiFormDirtyMessage', 'uuid': uuid},
        {'type': 'GuiFormSubmitMessage', 'uuid': uuid},
        {'type': 'GuiButtonHoldMessage', 'uuid': uuid, 'frequency': 1.0},
        {'type': 'RunJavascriptMessage', 'source': 'alert()'},
        {'type': 'CommandTriggerMessage', 'uuid': uuid},
        *(
            {**CAMERA, name: value}
            for name, value in (
                ('wxyz', [1.0, 0.0, 0.0]),
                ('position', [float('nan'), 0.0, 0.0]),
                ('fov', None),
                ('far', float('inf')),
                ('image_height', -1),
                ('more', 1),
            )
        ),
        {**CAMERA, 'type': 'Message'},
        {},
        [],
        None,
        3,
        'text',
        b'\xc1',
        b'',
        b'\x81' * 5000,
        b'\x91' * 16000,
    ]
    for message in messages:
        client.send(message)
    assert eventually(lambda: panel.page.dropped == len(messages))
    assert not panel.page._server.gui._current_file_upload_states
    client.set('force', 3)
    assert eventually(lambda: panel.reacts('force', 3.0))
    assert [record.getMessage() for record in caplog.records] == [
        'a browser sent an invalid message: such messages are dropped'
    ]


def test_an_exception_in_a_callback_is_a_line_and_the_page_continues(panel, client, caplog):
    panel.page.button('fail', lambda: dict[str, str]()['evil'])
    assert client.hear(lambda: 'fail' in client.widgets)
    client.set('fail', True)
    assert eventually(lambda: panel.page.react() or caplog.records)
    assert caplog.records[0].getMessage() == "the page goes on after KeyError: 'evil'"
    client.set('force', 3)
    assert eventually(lambda: panel.reacts('force', 3.0))


def test_bidirectional_control_characters_are_escaped(panel, client):
    panel.page.slider('a\u202eb\x1b[2J\ud800 é', 0.0, 1.0, 0.1, 0.0, lambda _: None)
    assert client.hear(lambda: r'a\u202eb\x1b[2J\ud800 é' in client.widgets)


# a fuzzer of the protocol

VALUES: list = [None, True, False, 0, 1, -1, 3, 20, 2**63, -2**63, 0.5, 0.3, 29.7, 1e308, -1e-320,
          float('nan'), float('inf'), -float('inf'), '', 'x', 'y', 'evil', '../../etc/passwd',
          'é' * 500, b'', b'\0' * 300, [], [1], {}, {'value': 1}, [[[[]]]]]  # fmt: skip
TYPES = sorted(kind.__name__ for kind in viser_messages.Message.get_subclasses())


def random_value(random, depth=0):
    if depth < 4 and random.random() < 0.2:
        return [random_value(random, depth + 1) for _ in range(random.randrange(4))]
    if depth < 4 and random.random() < 0.15:
        return {
            random.choice(['value', 'evil', '']): random_value(random, depth + 1)
            for _ in range(random.randrange(3))
        }
    if random.random() < 0.4:
        return random.choice(
            [random.uniform(-40, 40), round(random.uniform(-4, 31), 1), random.randrange(-2, 40)]
        )
    return random.choice(VALUES)


def mutant(random, widgets):
    """Return bytes or text, mostly invalid and sometimes valid."""
    uuid = widgets[random.choice(LABELS)]['uuid']
    message = random.choice(
        [
            {'type': 'GuiUpdateMessage', 'uuid': uuid, 'updates': {'value': random_value(random)}},
            dict(CAMERA),
            {
                'type': random.choice(TYPES),
                'uuid': uuid,
                'name': '/arm',
                'source_component_uuid': uuid,
                'transfer_uuid': 't',
                'updates': {},
            },
        ]
    )
    for _ in range(random.choice([0, 0, 0, 1, 1, 2, 3])):
        name = random.choice([*message, 'evil'])
        change = random.randrange(4)
        if change == 0:
            message.pop(name, None)
        elif change == 1 and isinstance(message.get(name), list) and message[name]:
            message[name] = [*message[name][1:], random_value(random)]
        elif change == 2 and isinstance(message.get('updates'), dict):
            message['updates'] = {
                **message['updates'],
                random.choice(['evil', 'value', 'label', 'options', 'min', '']): random_value(
                    random
                ),
            }
        else:
            message[name] = random_value(random)
    raw = msgspec.msgpack.encode(message)
    damage = random.randrange(20)
    if damage == 0:
        raw = raw[: random.randrange(len(raw))]
    elif damage == 1:
        raw = bytearray(raw)
        for _ in range(3):
            raw[random.randrange(len(raw))] = random.randrange(256)
        raw = bytes(raw)
    elif damage == 2:
        raw = random.randbytes(random.randrange(200))
    elif damage == 3:
        raw = random.choice(
            [b'\x91', b'\x81\xa1a', b'\xdd\xff\xff\xff\xff', b'\xc9\xff\xff\xff\xff\x01']
        ) * random.randrange(1, 800)
    elif damage == 4:
        raw = random.choice(['', 'text', '{"type": "GuiUpdateMessage"}'])
    return raw


def test_no_invalid_message_reaches_a_callback_or_ends_the_page(panel, client, mutants, caplog):
    """A million with `--long`; each run starts with the same ones."""
    generator, widgets, sent = random.Random(34), client.widgets, 0
    while sent < mutants:
        try:
            for _ in range(min(500, mutants - sent)):
                sent += 1
                client.send(mutant(generator, widgets))
            if generator.random() < 0.2:
                client.send(bytes(20_000))  # longer than the limit: the connection closes
            client.hear(lambda: False, 0.0)
        except ConnectionClosed:
            pass
        client.close()
        panel.page.react()
        client = PageClient(panel.page.private_address)
    assert client.hear(lambda: {*LABELS} <= client.widgets.keys())
    client.set('force', 12.3)
    assert eventually(lambda: panel.reacts('force', 12.3))
    client.close()
    wrong = [item for item in panel.heard if not is_offered(*item)]
    assert wrong == [] and panel.page.dropped > 0.5 * mutants
    # the test is not vacuous: some values of each kind are accepted
    assert {label for label, _ in panel.heard} >= (
        {*LABELS} - {'off', 'gone'} if mutants >= 20000 else {'force'}
    )
    assert {record.name for record in caplog.records} == {'flex_robot_sim.viewer.widget_messages'}
