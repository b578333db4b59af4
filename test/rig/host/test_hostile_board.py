"""A board that sends arbitrary bytes causes no exception, no memory growth and no NaN."""

import random
from typing import Any

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.rig.bridge import bridge as bridge_module
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigBridge, calibration_of
from flex_robot_sim.rig.bridge.twin import Twin
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.host.link_session import (
    MAX_EVENTS,
    MAX_PENDING_TIMES,
    LinkSession,
    LinkState,
)
from flex_robot_sim.rig.wire.binary_layout import BOUNDS
from flex_robot_sim.rig.wire.frames import MAX_STUFFED_SIZE, encode
from flex_robot_sim.rig.wire.protocol import (
    FRAMES,
    MAJOR,
    MINOR,
    SCHEMA_CRC,
    HelloAck,
    Telemetry,
    is_from_board,
)

SEED = 20261125
FROM_BOARD = [kind for number, kind in FRAMES.items() if is_from_board(number)]


def number(rng, kind):
    lower, upper = BOUNDS[kind]
    return rng.choice(
        (
            lower,
            upper,
            0,
            1,
            rng.randint(lower, upper),
            max(lower, min(upper, rng.randint(-300, 300))),
        )
    )


def draw_message(rng, kind, **fixed):
    """Return a message with random values within the range of the wire."""
    values = {}
    for name, wire in kind.LAYOUT.fields.items():
        values[name] = (
            bytes(wire.count) if wire.kind == 'bytes' else number(rng, wire.kind) / wire.per_unit
        )
        if wire.per_unit == 1 and wire.kind != 'bytes':
            values[name] = int(values[name])
    return kind(**{**values, **fixed})


class HostileBoard:
    """Bytes of a board for a LinkSession, from a seed."""

    def __init__(self, session, seed=SEED):
        self.session, self.rng, self.sequence, self.time = session, random.Random(seed), 0, 0

    def hello(self):
        """Return an answer to the last HELLO, of one of nine boots."""
        return HelloAck(
            MAJOR,
            MINOR,
            SCHEMA_CRC,
            self.session._nonce,
            self.rng.randrange(9),
            bytes(12),
            0,
            2,
            1,
            2400,
            3200,
            1000,
        )

    def bytes(self):
        """Return the next bytes: frames with random values, damaged frames, and noise."""
        rng, data = self.rng, b''
        for _ in range(rng.randrange(1, 6)):
            kind = rng.choice([Telemetry, Telemetry, *FROM_BOARD])
            if kind is HelloAck and rng.random() < 0.5:
                message, number_ = self.hello(), rng.choice((1, 2, 255))
            else:
                message, number_ = (
                    draw_message(rng, kind),
                    rng.choice((self.session.number,) * 9 + (0, 7)),
                )
                if kind is Telemetry and rng.random() < 0.8:
                    self.time = (self.time + rng.choice((1000, 2000, 2000, 10**6, 2**30))) % 2**32
                    message = message._replace(time=self.time)
            self.sequence = rng.choice((self.sequence + 1, rng.randrange(65536))) % 65536
            data += encode(message, number_, self.sequence)
        if rng.random() < 0.2:
            at = rng.randrange(len(data))
            data = data[:at] + rng.randbytes(rng.choice((1, 3, 5000))) + data[at + 1 :]
        return data


@pytest.mark.slow
def test_random_bytes_raise_nothing_and_do_not_fill_the_memory(mutants, caplog):
    sent: list = []
    session = LinkSession(sent.append, lambda ack: None)
    board, now = HostileBoard(session), 0.0
    session.greet(now)
    session.take(encode(board.hello(), 1, 0), now)
    session.open(1)
    for _ in range(mutants // 5):
        now += board.rng.choice((0.0, 1e-3, 0.7))
        session.take(board.bytes(), now)
        session.do_housekeeping(now, 0.1)
        if session.phase in (LinkState.DISPLACED, LinkState.GREETING):
            session.greet(now)
            session.take(encode(board.hello(), 1, 0), now)
            session.open(session.number)
        assert len(session.frames._tail) <= MAX_STUFFED_SIZE
        sent.clear()
    assert len(session.events) <= MAX_EVENTS and len(session._pending_times) <= MAX_PENDING_TIMES
    assert len(session.clock._exchanges) <= 100
    assert session.clock.spread is None or np.isfinite(session.clock.spread)
    assert session.boots > 2 and session.stamps.count and len(session.events) == MAX_EVENTS
    assert 'callback' not in caplog.text


class _Link:
    """What a RigBridge needs of a link, fed by a LinkSession without a port."""

    def __init__(self, name, settings, on_reading, on_event):
        self.name, self.settings = name, settings
        self.session = LinkSession(lambda message: None, lambda ack: None, on_reading, on_event)
        self.session.greet(0.0)
        hello = HostileBoard(self.session).hello()
        self.session.take(encode(hello._replace(boot_id=1), 1, 0), 0.0)
        self.session.open(1)
        self.board = self.session.board

    @property
    def reading(self):
        """Return the newest Reading."""
        return self.session.reading

    def drive(self, duty, step_rate):
        """Ignore a set point."""
        assert np.isfinite([duty, step_rate]).all()

    def alive(self):
        """Keep the watchdog quiet."""


@pytest.mark.slow
@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('estimator', ['least_squares', 'kalman'])
def test_random_telemetry_causes_no_nan_in_states_and_set_points(
    monkeypatch, caplog, mutants, estimator
):
    monkeypatch.setattr(bridge_module, 'RigLink', _Link)
    arm = frs.load('rig')
    states: list = []
    calibration = calibration_of(BridgeSettings(), arm)
    bridge = RigBridge(arm, calibration, 'none', on_state=states.append)
    bridge.command(arm.joint_names, [1.0, 0.1])
    link: Any = bridge.link
    session = link.session
    shapes = ShapeTracker(arm, calibration, EstimatorSettings(estimator=estimator))
    board, twin = HostileBoard(session), Twin(arm, calibration, shapes.link)
    for _ in range(mutants // (20 if estimator == 'least_squares' else 200)):
        data, states[:] = board.bytes(), []
        session.take(data, 0.0)
        if session.number == 0 or session.phase != LinkState.READY:
            session.greet(0.0)
            session.take(encode(board.hello(), 1, 0), 0.0)
            session.open(session.number)
        for state in states:
            assert np.isfinite([*state.position, *state.velocity, *state.effort]).all()
            shapes.take(state)
            shape = shapes.link_state
            if shape.is_known:
                assert np.isfinite(shape.tip).all()
            twin.take(state, shape)
            assert np.isfinite(twin.q).all() and np.isfinite(twin.v).all()
    assert 'callback' not in caplog.text, caplog.text
