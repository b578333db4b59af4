"""Callers of a service, identified by the endpoints in DDS that have a client of it."""

from types import SimpleNamespace

import pytest
from refusals import refusal

from flex_robot_sim.nodes.bridge_services import BridgeServices
from flex_robot_sim.nodes.bridge_settings import AccessSettings
from flex_robot_sim.ros import network_exposure
from flex_robot_sim.ros.node_settings import MessageSettings
from flex_robot_sim.util.exceptions import CommandError

# vendor, host, process, participant, entity: as Fast DDS lays an identity out
HERE, THERE = bytes([1, 15, 7, 7]), bytes([1, 15, 8, 7])


def endpoint(name, host, process):
    return SimpleNamespace(
        node_name=name, node_namespace='/', endpoint_gid=[*host, process, *range(11)]
    )


class Bench:
    """A node `bridge` with a service, seen by callers; it keeps what it logs and what it arms."""

    def __init__(self, callers):
        self.callers, self.said, self.armed = callers, [], None

    def get_publishers_info_by_topic(self, topic, no_mangle):
        """Return the clients."""
        assert topic == 'rq/bridge/enableRequest' and no_mangle
        return self.callers

    def get_subscriptions_info_by_topic(self, topic, no_mangle):
        """Return the service."""
        return [endpoint('bridge', HERE, 1)]

    def get_name(self):
        """Return its name."""
        return 'bridge'

    def resolve_service_name(self, name):
        """Return the full name of a service."""
        return name.replace('~', '/bridge')

    def get_logger(self):
        """Return what logs."""
        return SimpleNamespace(info=self.said.append, warning=self.said.append)

    def create_service(self, *_, **__):
        """Offer a service."""

    create_subscription = create_service
    zero = clear = create_service

    def enable(self, is_on):
        """Arm, as a RigBridge does."""
        self.armed = is_on


NEAR, FAR, NAMELESS = (
    endpoint('rqt', HERE, 2),
    endpoint('stranger', THERE, 3),
    endpoint('_NODE_NAME_UNKNOWN_', THERE, 4),
)


@pytest.mark.parametrize(
    'callers, is_armed, line',
    [
        ([NEAR], True, 'enable is called by /rqt (010f07070200010203040506)'),
        (
            [NEAR, NEAR],
            True,
            'enable is called by one of /rqt (010f07070200010203040506), /rqt '
            '(010f07070200010203040506)',
        ),
        (
            [NEAR, FAR],
            False,
            'refused: enable is called by /stranger (010f08070300010203040506), not '
            'on this machine',
        ),
        (
            [NAMELESS],
            False,
            'refused: enable is called by an unknown node (010f08070400010203040506), '
            'not on this machine',
        ),
        ([], False, 'refused: enable is called by an unknown client, not on this machine'),
    ],
    ids=['near', 'two clients', 'far', 'without a name', 'unknown'],
)
def test_the_bench_is_armed_from_its_own_machine_only(monkeypatch, callers, is_armed, line):
    monkeypatch.setattr(network_exposure, 'open_addresses', lambda: ['192.0.2.7:7410'])
    bench = Bench(callers)
    services = BridgeServices(bench, bench, AccessSettings(), MessageSettings())
    if is_armed:
        services._switch(True)
    else:
        assert refusal(CommandError, services._switch, True) == (
            'the bench is not armed from another machine. Call enable on its own, or start the '
            'bridge with enable_from_network'
        )
    assert bench.said == [line] and bench.armed == (is_armed or None)
    services._switch(False)  # every caller may disarm it
    assert bench.armed is False


@pytest.mark.parametrize(
    'addresses, settings',
    [([], AccessSettings()), (['192.0.2.7:7410'], AccessSettings(enable_from_network=True))],
    ids=['all sockets are bound to this machine', 'others are let in'],
)
def test_every_caller_may_arm_the_bench(monkeypatch, addresses, settings):
    monkeypatch.setattr(network_exposure, 'open_addresses', lambda: addresses)
    bench = Bench([FAR])
    BridgeServices(bench, bench, settings, MessageSettings())._switch(True)
    assert bench.armed
