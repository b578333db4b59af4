"""The host side of the wire, tested with a small board behind a pseudo terminal."""

import threading
from dataclasses import replace

import pytest
from refusals import refusal
from rig_peer import Peer
from waiting import PATIENCE, eventually

from flex_robot_sim.rig.errors import CommandRefused, RigError
from flex_robot_sim.rig.host.link import LinkSettings, LinkState, RigLink
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.profile import chunks, profile_crc, segment
from flex_robot_sim.rig.wire.protocol import (
    Arm,
    Clear,
    Disarm,
    Estop,
    EventAck,
    Hello,
    Param,
    ProfileLoad,
    ProfileStart,
    Setpoint,
    Stream,
    Telemetry,
)
from flex_robot_sim.rig.wire.vocabulary import EventKind, Fault, Joint, Mode, Result, State
from flex_robot_sim.util.exceptions import SettingError, UsageError

pytestmark = pytest.mark.slow

# on a busy machine, threads are delayed longer than the default timeouts of the link
CALM = LinkSettings(telemetry_rate=200, stale_after=1.0, ack_timeout=0.5, hello_timeout=PATIENCE)


@pytest.fixture
def peer(tmp_path):
    peer = Peer(tmp_path)
    yield peer
    peer.close()


@pytest.fixture
def connect(peer):
    links = []

    def connect(settings=CALM, **options):
        links.append(RigLink(peer.name, settings, **options))
        return links[-1]

    yield connect
    for link in links:
        link.close()


@pytest.fixture
def ready(connect):
    """Return a function that waits until a new link is ready."""

    def connected():
        link = connect()
        assert link.wait_until(lambda: link.state == LinkState.READY, PATIENCE)
        return link

    return connected


def commands(peer, *kinds):
    return [message for message in list(peer.taken) if isinstance(message, kinds)]


def test_connecting_starts_a_session_with_telemetry_and_does_not_arm(peer, ready):
    link = ready()
    assert link.board.counts_per_turn == 2400 and link.reading.message.adc_tip == 4
    assert commands(peer, Stream, Arm) == [Stream(200)]
    assert link.status().session == peer.session


def test_a_silent_port_is_a_one_line_error(peer):
    peer.silent = True
    assert refusal(RigError, lambda: RigLink(peer.name, LinkSettings(hello_timeout=0.3))) == (
        f'{peer.name}: no board answers within 0.3 s. Look at the power of the board, the cable, '
        'and the baud rate 921600.'
    )
    greetings = [frame.message for frame in peer.frames]
    assert len(greetings) >= 2 and len({hello.nonce for hello in greetings}) == 1


def test_a_command_without_answer_is_sent_again_with_the_same_number(peer, connect):
    link = connect(
        LinkSettings(telemetry_rate=0, ack_timeout=0.05, hello_timeout=PATIENCE, repetitions=100)
    )
    peer.deaf = 3
    link.arm()
    arms = [frame for frame in peer.frames if isinstance(frame.message, Arm)]
    assert len(arms) >= 4 and len(set(arms)) == 1
    assert commands(peer, Arm) == [Arm()]
    assert link.status().repeated == len(arms) - 1


def test_an_unanswered_command_fails_in_one_line(peer, connect):
    link = connect(
        LinkSettings(telemetry_rate=0, ack_timeout=0.02, repetitions=2, hello_timeout=PATIENCE)
    )
    peer.deaf = 1000
    with pytest.raises(RigError, match='^ARM has no answer after 3 attempts. Look at the'):
        link.arm()


def test_a_rejection_has_a_cause_and_a_remedy(peer, connect):
    link = connect()
    peer.refuse[Arm] = Result.LATCHED
    peer.state, peer.faults = State.FAULT, Fault.WATCHDOG | Fault.ADC_TIP
    with pytest.raises(CommandRefused) as caught:
        link.arm()
    assert str(caught.value) == (
        'ARM was refused in FAULT: a fault is latched. Clear it, then arm (WATCHDOG: check the '
        'load of the host, the cable, and rejected set points; ADC_TIP: check the divider for an '
        'open or a short circuit, or remove the sensor from ADC_WATCH).'
    )
    assert caught.value.ack.result == Result.LATCHED


def test_a_rejection_names_the_field_out_of_range(peer, connect):
    link = connect()
    peer.refuse[Param] = Result.OUT_OF_RANGE
    with pytest.raises(CommandRefused, match='^PARAM was refused in DISARMED: access = WRITE is'):
        link.write_parameter(Parameter.DUTY_MAX, 99_999)


def test_set_points_contain_the_commanded_values_and_are_counted(peer, ready):
    link = ready()
    link.arm()
    assert link.drive(-0.25, 1600.0, validity=30) and link.alive()
    assert eventually(lambda: len(commands(peer, Setpoint)) == 2)
    assert commands(peer, Setpoint) == [
        Setpoint(Mode.DRIVE, -0.25, 1600.0, 30),
        Setpoint(Mode.ALIVE, 0.0, 0.0, 50),
    ]
    numbers = [f.sequence for f in peer.frames if isinstance(f.message, Setpoint)]
    assert numbers == [1, 2] and link.status().setpoints == 2


def test_a_set_point_of_nan_is_rejected_before_the_wire(peer, connect):
    link = connect()
    with pytest.raises(UsageError, match='^Setpoint: duty = nan must be'):
        link.drive(float('nan'), 0.0)
    assert commands(peer, Setpoint) == []


def test_a_link_without_telemetry_is_stale_and_sends_no_set_point(peer, connect):
    link = connect(replace(CALM, stale_after=0.1))
    assert link.wait_until(lambda: link.state == LinkState.READY, PATIENCE)
    peer.silent = True
    assert eventually(lambda: link.state == LinkState.STALE)
    assert link.reading.age > 0.1
    assert not link.drive(0.5, 0.0) and not link.alive()
    peer.silent = False
    assert eventually(lambda: link.state == LinkState.READY)


def test_a_board_whose_clock_runs_backwards_is_stale_until_it_boots(peer, connect):
    stamps = []
    link = connect(
        replace(CALM, stale_after=0.2), on_reading=lambda reading: stamps.append(reading.stamp)
    )
    assert link.wait_until(lambda: len(stamps) > 5, PATIENCE)
    peer.set_clock(peer.clock, rate=-1)
    assert eventually(lambda: link.state == LinkState.STALE)
    assert link.condition == (
        'connected, but the clock of the board runs backwards: its '
        'telemetry is not used. Reset the board'
    )
    assert link.status().backward_stamps > 10 and not link.drive(0.5, 0.0)
    assert stamps == sorted(stamps)
    peer.set_clock(0)
    peer.reboot()
    assert eventually(lambda: link.status().boots == 2 and link.state == LinkState.READY)
    assert link.condition == 'connected'


def test_a_clock_that_wraps_leaves_the_link_ready(peer, connect):
    stamps = []
    peer.set_clock(2**32 - 300_000)
    link = connect(on_reading=lambda reading: stamps.append(reading.message.time))
    assert link.wait_until(lambda: stamps and stamps[-1] < stamps[0], PATIENCE)
    assert link.state == LinkState.READY and link.status().backward_stamps == 0


def test_after_replugging_the_link_has_a_new_disarmed_session(peer, connect):
    link = connect()
    link.arm()
    old = peer.session
    peer.unplug()
    assert eventually(lambda: link.state == LinkState.NO_PORT)
    assert not link.drive(0.5, 0.0)
    with pytest.raises(RigError, match='the port is gone; looking for it'):
        link.arm()
    peer.plug()
    assert eventually(lambda: link.state == LinkState.READY)
    assert link.status().port.reconnects == 1 and peer.session != old
    assert commands(peer, Arm) == [Arm()] and peer.state == State.DISARMED
    assert commands(peer, Stream)[-1] == Stream(200) and link.status().gaps == 0


def test_a_pending_command_ends_when_the_port_disappears(peer, connect):
    link = connect(LinkSettings(telemetry_rate=0, ack_timeout=PATIENCE, hello_timeout=PATIENCE))
    peer.deaf = 1000
    said = []
    thread = threading.Thread(target=lambda: said.append(refusal(RigError, link.arm)))
    thread.start()
    assert eventually(lambda: commands(peer, Arm))
    peer.unplug()
    thread.join(PATIENCE)
    assert said == ['ARM has no answer: the port is gone.']


@pytest.mark.parametrize('same_session', [False, True])
def test_a_reboot_is_detected_and_settings_are_sent_without_arming(peer, connect, same_session):
    link = connect()
    link.write_parameter(Parameter.STALL_TIME, 500)
    link.arm()
    session = peer.session
    peer.reboot(same_session)
    assert eventually(lambda: link.status().boots == 2 and link.state == LinkState.READY)
    # after a boot the session number may repeat; the boot id differs
    assert (peer.session == session) == same_session
    written = [message for message in commands(peer, Param) if message.value == 500]
    assert len(written) == 2 and commands(peer, Arm) == [Arm()]
    assert link.reading.message.state == State.DISARMED and link.status().gaps == 0


def test_a_link_that_lost_its_board_to_another_host_reports_it_and_stops(peer, connect):
    link = connect()
    peer.session = peer.session % 255 + 1  # as after a HELLO of another host
    assert eventually(lambda: link.state == LinkState.DISPLACED)
    hellos = sum(isinstance(frame.message, Hello) for frame in peer.frames)
    assert not link.drive(0.1, 0.0)
    with pytest.raises(RigError, match='another host has taken the board'):
        link.arm()
    assert sum(isinstance(frame.message, Hello) for frame in peer.frames) == hellos
    link.reconnect()
    assert eventually(lambda: link.state == LinkState.READY)


def test_frames_of_the_previous_session_are_dropped(peer, ready):
    link = ready()
    old = Telemetry(0, 777, 0, 0, 0, 0.0, 0, 0.0, State.ARMED, 0, Fault(0), 0, 0.0)
    seen = link.reading
    peer.send(old, session=(peer.session - 2) % 255 + 1)
    assert eventually(lambda: link.reading is not seen and link.reading.arrived > seen.arrived)
    assert link.reading.message.slide_counts != 777 and link.state == LinkState.READY


@pytest.mark.parametrize('version', [(2, None), (None, 0x12345678)])
def test_another_version_is_read_only(peer, version):
    peer.version = (version[0] or peer.version[0], version[1] or peer.version[1])
    peer.refuse[Arm] = Result.READ_ONLY
    with RigLink(peer.name, CALM) as link:
        assert link.state == LinkState.READ_ONLY
        assert not link.drive(0.1, 0.0)
        with pytest.raises(CommandRefused, match='Flash the firmware that belongs to this'):
            link.arm()
        assert link.wait_until(lambda: link.reading is not None, PATIENCE)


def test_events_are_acknowledged_each_time_and_reported_once(peer, connect):
    reported: list = []
    link = connect(on_event=reported.append)
    peer.event(5, EventKind.HOMED, Joint.TURN)
    peer.event(5, EventKind.HOMED, Joint.TURN)
    peer.event(6, EventKind.PROFILE_DONE, 3)
    assert eventually(lambda: len(commands(peer, EventAck)) == 3)
    assert [event.number for event in reported] == [5, 6]
    assert [event.number for event in link.events] == [5, 6]


def test_an_exception_in_a_callback_does_not_end_the_link(peer, connect, caplog):
    def fail(reading):
        raise ValueError('of the caller')

    link = connect(on_reading=fail)
    assert eventually(lambda: 'a callback of the rig failed' in caplog.text)
    link.arm()
    seen = link.reading
    assert eventually(lambda: link.reading.arrived > seen.arrived + 0.05)
    assert len(caplog.records) == 1  # and not one for each telemetry


def test_a_command_in_a_callback_is_rejected_immediately(peer, connect, caplog):
    link: RigLink = connect(on_event=lambda event: link.arm())
    peer.event(1, EventKind.STATE)
    assert eventually(lambda: 'no commands in callbacks' in caplog.text)


def test_a_profile_is_sent_in_chunks_and_started_by_its_crc(peer, ready):
    link = ready()
    profile = [segment(0.5, 0.4, 100.0 * k) for k in range(19)]
    crc = link.load_profile(profile)
    loads = commands(peer, ProfileLoad)
    assert [load.first for load in loads] == [0, 8, 16]
    assert sum((load.segments for load in loads), ())[:19] == tuple(profile)
    link.start_profile(crc)
    assert commands(peer, ProfileStart) == [ProfileStart(crc)]
    assert eventually(lambda: EventKind.PROFILE_DONE in [event.kind for event in link.events])


def test_an_estop_is_sent_three_times_in_any_session_and_persists(peer, connect):
    link = connect()
    peer.session = peer.session % 255 + 1
    assert eventually(lambda: link.state == LinkState.DISPLACED)
    assert link.estop()
    assert eventually(lambda: len(commands(peer, Estop)) == 3) and peer.state == State.FAULT


def test_closing_disarms_and_can_be_repeated(peer, connect):
    link = connect()
    link.arm()
    link.close()
    link.close()
    assert commands(peer, Arm, Disarm) == [Arm(), Disarm()]
    assert link.state == LinkState.CLOSED and not link.drive(0.1, 0.0)
    with pytest.raises(RigError, match='closed'):
        link.clear()
    assert commands(peer, Clear) == []


def test_gaps_and_damage_are_counted(peer, ready):
    link = ready()
    with peer._lock:
        peer._sequence = (peer._sequence + 3) % 65536
    peer.write(b'\0noise\0' + encode(Arm()))
    assert eventually(lambda: link.status().gaps == 3)
    counts = link.status().frames
    assert (counts.crc_errors, counts.unknown_ids) == (1, 1)


def test_the_clock_of_the_board_is_tracked_across_its_wrap(tmp_path):
    peer = Peer(tmp_path, clock_start=2**32 - 1_500_000)
    readings: list = []
    try:
        with RigLink(peer.name, CALM, on_reading=readings.append) as link:
            assert eventually(lambda: readings and 0 < readings[-1].message.time < 2**31)
            status = link.status()
            assert status.clock_offset is not None and status.round_trip < PATIENCE
        times = [reading.message.time for reading in readings]
        assert max(times) > 2**31 > min(times)
        known = [r for r in readings if r.stamp < r.arrived]
        # the peer uses the clock of the host: the stamp is off by at most half a round trip
        late = [r.arrived - r.stamp for r in known[10:]]
        assert late and all(0.0 < lag < 0.5 for lag in late)
    finally:
        peer.close()


@pytest.mark.parametrize(
    ('values', 'problem'),
    [
        ({'telemetry_rate': 300}, 'telemetry_rate = 300 must divide 1000: of TELEMETRY [Hz]'),
        ({'validity': 101}, 'validity = 101 must be <= 100: of a set point [ms]'),
        (
            {'stale_after': 0.0},
            'stale_after = 0.0 must be > 0.0: time without telemetry after which the link is '
            'stale [s]',
        ),
    ],
)
def test_the_host_rejects_settings_that_the_board_would_reject(values, problem):
    assert refusal(SettingError, lambda: LinkSettings(**values)) == problem


@pytest.mark.parametrize(
    ('make', 'problem'),
    [
        (lambda: segment(0.0005, 0.0, 0.0), 'duration = 0.0005 s must be 0.001 to 60'),
        (lambda: chunks([]), 'a profile has 1 to 256 segments; this one has 0'),
        (lambda: chunks([segment(1.0, 0.0, 0.0)] * 257), 'this one has 257'),
        (lambda: profile_crc([segment(1.0, 9.0, 0.0)]), 'Segment: duty = 9.0 must be'),
    ],
)
def test_the_host_rejects_a_profile_that_the_board_would_reject(make, problem):
    with pytest.raises(UsageError, match=problem):
        make()
