"""The rig behind a serial-port server: sockets to several hosts, one board."""

import os
import select
import socket
import threading
import time
import tty
from contextlib import suppress

import pytest
from waiting import PATIENCE, eventually

from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.link import LinkSettings, LinkState, RigLink
from flex_robot_sim.rig.wire.protocol import State

pytestmark = pytest.mark.slow

CALM = LinkSettings(telemetry_rate=200, stale_after=1.0, ack_timeout=0.5, hello_timeout=PATIENCE)


class SerialServer:
    """A server that connects all clients with one serial port."""

    def __init__(self, device):
        self._line = os.open(device, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._line)
        self._ending = threading.Event()
        self._clients, self._number = [], 0
        self.start()

    @property
    def name(self):
        """Return the name that RigLink opens."""
        return f'socket://127.0.0.1:{self._number}'

    def start(self):
        """Listen at the same address."""
        self._ending.clear()
        self._server = socket.create_server(('127.0.0.1', self._number))
        self._number = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        """Disconnect all clients."""
        self._ending.set()
        self._thread.join()
        for end in (self._server, *self._clients):
            end.close()
        self._clients.clear()

    def close(self):
        """Close the server."""
        self.stop()
        os.close(self._line)

    def _run(self):
        while not self._ending.is_set():
            ends = [self._server, self._line, *self._clients]
            for ready in select.select(ends, [], [], 0.05)[0]:
                if ready is self._server:
                    self._clients.append(ready.accept()[0])
                elif ready == self._line:
                    data = os.read(self._line, 4096)
                    for client in self._clients:
                        with suppress(OSError):
                            client.sendall(data)
                else:
                    self._forward(ready)

    def _forward(self, client):
        try:
            data = client.recv(4096)
        except OSError:
            data = b''
        if data:
            os.write(self._line, data)
        else:
            self._clients.remove(client)
            client.close()


@pytest.fixture
def server(emulator):
    server = SerialServer(emulator.link)
    yield server
    server.close()


def driven(link, duty):
    """Send set points until the board applies them."""

    def applied():
        link.drive(duty, 0.0)
        time.sleep(0.01)
        return link.reading.message.duty == duty

    return eventually(applied)


def board(emulator):
    return emulator.call(lambda rig: (rig.board.state, rig.board.is_moving))


def test_after_a_server_restart_the_link_is_back_and_disarmed(emulator, server):
    with RigLink(server.name, CALM) as link:
        assert link.wait_until(lambda: link.reading is not None, PATIENCE)
        link.arm()
        assert driven(link, 0.3)
        server.stop()
        assert eventually(lambda: link.state == LinkState.NO_PORT)
        assert eventually(lambda: not board(emulator)[1])  # its watchdog
        server.start()
        assert eventually(lambda: link.state == LinkState.READY)
        assert eventually(lambda: link.reading.message.state in (State.DISARMED, State.FAULT))
        assert link.status().port.reconnects == 1
        link.drive(0.3, 0.0)
        seen = link.reading
        assert eventually(lambda: link.reading.arrived > seen.arrived + 0.1)
        assert link.reading.message.duty == 0.0 and not board(emulator)[1]


def test_of_two_hosts_the_last_controls_the_board(emulator, server):
    with RigLink(server.name, CALM) as first, RigLink(server.name, CALM) as second:
        assert eventually(lambda: first.state == LinkState.DISPLACED)
        with pytest.raises(RigError, match='another host has taken the board'):
            first.arm()
        assert eventually(lambda: second.state == LinkState.READY)
        second.arm()
        assert driven(second, 0.2)
        assert not first.drive(-0.5, 0.0) and not first.alive()
        assert second.reading.message.duty == 0.2
        # but the first can stop it
        assert first.estop()
        assert eventually(lambda: second.reading.message.state == State.FAULT)
        # and the second keeps the board, with or without a fault
        second.clear()
        assert first.state == LinkState.DISPLACED


def test_a_displaced_host_does_not_reclaim_the_board_after_reconnecting(server):
    with RigLink(server.name, CALM) as first, RigLink(server.name, CALM) as second:
        assert eventually(lambda: first.state == LinkState.DISPLACED)
        server.stop()
        assert eventually(lambda: first.state == second.state == LinkState.NO_PORT)
        server.start()
        assert eventually(lambda: first.status().port.reconnects == 1)
        assert eventually(lambda: second.state == LinkState.READY)
        assert first.state == LinkState.DISPLACED
        first.reconnect()  # a manual command can
        assert eventually(lambda: second.state == LinkState.DISPLACED)


def test_a_host_that_takes_over_a_moving_board_stops_it(emulator, server):
    with RigLink(server.name, CALM) as first:
        assert first.wait_until(lambda: first.reading is not None, PATIENCE)
        first.arm()
        assert driven(first, 0.3)
        with RigLink(server.name, CALM) as second:
            assert second.wait_until(lambda: second.reading is not None, PATIENCE)
            assert second.reading.message.duty == 0.0
            assert board(emulator)[1] is False
            assert eventually(lambda: first.state == LinkState.DISPLACED)
        first.reconnect()
        assert eventually(lambda: first.state == LinkState.READY)
        assert board(emulator)[1] is False
