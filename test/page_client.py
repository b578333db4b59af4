"""The browser side of a page, without a browser: sign in, receive widgets, send messages."""

import http.client
import time
from importlib.metadata import version

import msgspec
import zstandard
from node_processes import PATIENCE
from websockets.sync.client import connect

CAMERA = {
    'type': 'ViewerCameraMessage',
    'wxyz': [1.0, 0.0, 0.0, 0.0],
    'position': [0.0, 0.0, 1.0],
    'fov': 0.8,
    'near': 0.1,
    'far': 100.0,
    'image_height': 600,
    'image_width': 900,
    'look_at': [0.0, 0.0, 0.0],
    'up_direction': [0.0, 0.0, 1.0],
}


def split(private_address):
    """Return host:port, and path with the token."""
    host, _, path = private_address.removeprefix('http://').partition('/')
    return host, f'/{path}'


def get(host, path='/', **headers):
    """Return status, headers and text of a GET request."""
    connection = http.client.HTTPConnection(host, timeout=PATIENCE)
    try:
        connection.request('GET', path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def sign_in(private_address):
    """Return the cookie that a page gives for its private address."""
    status, headers, _ = get(*split(private_address))
    assert status == 200
    return headers['Set-Cookie'].partition(';')[0]


def open_socket(private_address, cookie=None, **options):
    """Open the WebSocket of a page like a browser."""
    host, _ = split(private_address)
    cookie = sign_in(private_address) if cookie is None else cookie
    return connect(
        f'ws://{host}',
        origin=f'http://{host}',
        max_size=None,
        additional_headers={'Cookie': cookie},
        subprotocols=[f'viser-v{version("viser")}'],
        **options,
    )


class PageClient:
    """A simulated browser on a page: its widgets and their values."""

    def __init__(self, private_address):
        """Connect like the page in a browser."""
        self.socket = open_socket(private_address)
        self.widgets, self.values, self.count = {}, {}, 0  # by label; by uuid
        self._updates, self.text = {}, ''  # by uuid; text on the page
        self.visible, self.scene = {}, {}  # by name in the scene: whether it is, its properties
        self.send(CAMERA)
        self.hear(lambda: self.count)

    def hear(self, condition, timeout=PATIENCE):
        """Receive messages until a condition holds; return whether it does."""
        end = time.monotonic() + timeout
        while not condition() and time.monotonic() < end:
            try:
                raw = self.socket.recv(timeout=0.2)
            except TimeoutError:
                continue
            size, packed = (int.from_bytes(raw[k : k + 8], 'little') for k in (0, 8))
            batch = msgspec.msgpack.decode(
                zstandard.ZstdDecompressor().decompress(raw[16 : 16 + packed], size)
            )
            for message in batch['messages']:
                self._take(message)
        return condition()

    def send(self, message):
        """Send an object like a browser, or raw bytes or text."""
        self.socket.send(
            message if isinstance(message, (bytes, str)) else msgspec.msgpack.encode(message)
        )

    def set(self, label, value):
        """Set the value of a widget."""
        self.send(
            {
                'type': 'GuiUpdateMessage',
                'uuid': self.widgets[label]['uuid'],
                'updates': {'value': value},
            }
        )

    def shown(self, label):
        """Return the value that a widget shows."""
        return self.values.get(self.widgets[label]['uuid'])

    def updates(self, label):
        """Return the changed properties of a widget: {property: value}."""
        return self._updates.get(self.widgets.get(label, {}).get('uuid'), {})

    def close(self):
        """Close the page."""
        self.socket.close()

    def _take(self, message):
        self.count += 1
        props = message.get('props')
        if message['type'].startswith('Gui') and isinstance(props, dict) and props.get('label'):
            self.widgets[props['label']] = message
            self.values[message['uuid']] = message.get('value')
        elif message['type'] == 'SetSceneNodeVisibilityMessage':
            self.visible[message['name']] = message['visible']
        elif message['type'] == 'SceneNodeUpdateMessage':
            self.scene.setdefault(message['name'], {}).update(message['updates'])
        elif message['type'] == 'GuiUpdateMessage':
            updates = message['updates']
            self._updates.setdefault(message['uuid'], {}).update(updates)
            self.text = updates.get('content') or self.text
            if 'value' in updates:
                self.values[message['uuid']] = updates['value']
