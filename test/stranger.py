"""
What a stranger at another address can do; run as a program, in a network namespace of its own.

    python stranger.py take_part SECONDS        as a node: listens, commands, arms
    python stranger.py capture SECONDS          what goes through the loopback device, as it goes
    python stranger.py replay ADDRESS           send that again, to the address and its loopback
    python stranger.py scan ADDRESS             knock at all ports
    python stranger.py look ADDRESS             knock at those of ROS until one is open

The first and the last print what they have found, as JSON; packets go through standard output and
input.
"""

import base64
import errno
import json
import os
import socket
import struct
import sys
import time

UDP, ETHERNET, IP_HEADER, UDP_HEADER = 17, 14, 20, 8
ALL = 0x0003  # ETH_P_ALL
PORTS, SILENCE = 65536, 0.2  # SILENCE: waited for an answer                             [s]
FIRST_OF_ROS = 7400


def take_part(seconds):
    """Look for /sim/dynamics and /rig/bridge, and try to move them."""
    import rclpy
    from sensor_msgs.msg import JointState
    from std_srvs.srv import SetBool

    rclpy.init()
    node = rclpy.create_node('stranger')
    heard: list = []
    answers: list = []
    node.create_subscription(JointState, '/sim/joint_states', heard.append, 10)
    publisher = node.create_publisher(JointState, '/sim/joint_commands', 10)
    client = node.create_client(SetBool, '/rig/bridge/enable')
    end, asked, has_all = time.monotonic() + float(seconds), None, False
    while time.monotonic() < end:
        if not has_all and heard and answers and publisher.get_subscription_count():
            has_all, end = True, time.monotonic() + 1.0  # some more commands
        # an unknown joint: the line of its refusal shows that the command has arrived
        publisher.publish(JointState(name=['of_a_stranger'], effort=[1.0]))
        if client.service_is_ready() and (asked is None or time.monotonic() > asked + 2.0):
            asked = time.monotonic()
            client.call_async(SetBool.Request(data=True)).add_done_callback(
                lambda future: answers.append(future.result())
            )
        rclpy.spin_once(node, timeout_sec=0.05)
    print(
        json.dumps(
            {
                'nodes': sorted(set(node.get_node_names()) - {'stranger'}),
                'heard': bool(heard),
                'armed': [answer.success for answer in answers],
                'said': [answer.message for answer in answers],
            }
        )
    )
    sys.stdout.flush()
    os._exit(0)


def capture(seconds):
    """Print the datagrams that go through the loopback device: port and contents, line by line."""
    seen, end = set(), time.monotonic() + float(seconds)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL)) as wire:
        wire.bind(('lo', 0))
        wire.settimeout(0.1)
        while time.monotonic() < end:
            try:
                frame = wire.recv(65536)[ETHERNET:]
            except TimeoutError:
                continue
            if len(frame) > IP_HEADER and frame[9] == UDP:
                port = int.from_bytes(frame[IP_HEADER + 2 : IP_HEADER + 4], 'big')
                seen.add((port, frame[IP_HEADER + UDP_HEADER :]))
    for port, data in seen:
        print(port, base64.b64encode(data).decode())


def replay(address):
    """Send datagrams to an address, and to 127.0.0.1 as if it were behind that address."""
    packets = [line.split() for line in sys.stdin]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        for target in (address, '127.0.0.1'):
            for port, text in packets:
                try:
                    wire.sendto(base64.b64decode(text), (target, int(port)))
                except OSError:  # the kernel has no route
                    continue
    print(len(packets))


def _knocker(kind):
    """Return a socket that knocks at one port after the other, as long as all are closed."""
    wire = socket.socket(socket.AF_INET, kind)
    # the kernel waits: with a timeout of Python, each port would cost three times as much
    for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        wire.setsockopt(socket.SOL_SOCKET, limit, struct.pack('@ll', 0, round(1e6 * SILENCE)))
    return wire


def _refuses(wire, where):
    return wire.connect_ex(where) == errno.ECONNREFUSED


def _sends_back(wire, where):
    wire.connect(where)
    try:
        wire.send(b'RTPS')  # a datagram that comes to a closed port is sent back
        wire.recv(1)
    except ConnectionRefusedError:
        return True
    except BlockingIOError:  # SILENCE
        pass
    return False


def scan(address, first=1, enough=100):
    """
    Print the ports of an address that do not answer as closed: {kind: [ports]}.

    It ends after `enough` of those of datagrams.
    """
    found: dict = {'tcp': [], 'udp': []}
    knockers: dict = {}
    kinds = ('tcp', socket.SOCK_STREAM, _refuses), ('udp', socket.SOCK_DGRAM, _sends_back)
    for port in range(first, PORTS):
        for name, kind, is_closed in kinds:
            if name not in knockers:
                knockers[name] = _knocker(kind)
            if not is_closed(knockers[name], (address, port)):
                found[name].append(port)
                knockers.pop(name).close()
        if len(found['udp']) >= enough:  # nothing is sent back here
            break
    print(json.dumps(found))


if __name__ == '__main__':
    {
        'take_part': take_part,
        'capture': capture,
        'replay': replay,
        'scan': scan,
        'look': lambda address: scan(address, FIRST_OF_ROS, 1),
    }[sys.argv[1]](sys.argv[2])
