"""
Residual vibration of the true tip of the emulated bench after shaped and planned turns.

The board receives a step rate of its stepper every 5 ms, in two ways. The bridge sends a profile
through a pseudo terminal, which the board plays by its own clock; or single set points arrive one
by one. The field of the stepper is elastic, and its steps are whole microsteps. The strip of the
bench has more modes than the description for which shapers and plans are designed.
"""

import math
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np

import flex_robot_sim as frs
from benchmarks.tip_estimate import MODES, strip
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk, rest
from flex_robot_sim.planning.plan import PlanLimits
from flex_robot_sim.planning.rest_to_rest import plan_move
from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.bench.motors import stepper_stiffness
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
from flex_robot_sim.rig.board.emulator import Emulator
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigBridge, calibration_of
from flex_robot_sim.rig.conformance.back_ends import Lockstep
from flex_robot_sim.rig.conformance.host import Host
from flex_robot_sim.rig.host.link import LinkSettings
from flex_robot_sim.rig.wire.profile import segment
from flex_robot_sim.rig.wire.protocol import Arm, Joint, Zero
from flex_robot_sim.shaping.recommendation import recommend
from flex_robot_sim.shaping.shaped_samples import shaped_samples
from flex_robot_sim.util.share import shipped_robots

PERIOD = 5e-3  # period of set points, and length of a segment                       [s]
SLIDE = 0.15  # constant position of the slide                                  [m]
STIFF = 1e7, 1e4  # of the screw, which is self-locking                [N/m, N s/m]
MOVES = (-0.3, 0.3, 0.30), (0.4, 0.1, 0.22), (-0.2, 0.5, 0.36)  # from, to [rad], in [s]
WINDOW = 0.45  # after a move, in which the tip is measured: two periods        [s]
REST = 0.2  # before a move                                                 [s]
CALM = LinkSettings(telemetry_rate=100, validity=100, hello_timeout=60.0, ack_timeout=0.5)
TRUTH = MODES.format(5)
PATIENCE = 60.0  # for a busy machine                     [s]


@cache
def recommended():
    """Choice by the rule of `flexsim shape`, for the bench as described, held by its stepper."""
    parts = BenchParts()
    gains = ([STIFF[0], stepper_stiffness(parts)], [STIFF[1], parts.stepper_damping])
    return recommend(frs.load('rig'), [[SLIDE, -0.4], [SLIDE, 0.5]], gains=gains).choice


def turns(start, end, duration):
    """{way: angles of the turn at the ends of segments (k,) [rad]}: plain, shaped and planned."""
    jerk = Motion(
        [0.0, duration],
        [
            rest(np.array([start])),
            minimum_jerk(np.array([start]), np.array([end])),
            rest(np.array([end])),
        ],
    )
    plain = _sampled(jerk, duration)
    choice = recommended()
    shaped = shaped_samples(choice.shaper, plain[:, None], PERIOD)[:, 0]
    # the screw takes the force of the strip, so its motor has no load
    plan = plan_move(
        _led_by_field(),
        [SLIDE, start],
        [SLIDE, end],
        duration=duration + choice.shaper.duration,
        limits=PlanLimits(effort=(1e3, 0.4)),
    )
    return {
        'unshaped': plain,
        'shaped': shaped,
        'planned': _sampled(plan.motion, plan.duration, 1),
    }


@cache
def _led_by_field():
    """Bench as described, with the field of its stepper as an elastic gear."""
    parts = BenchParts()
    text = shipped_robots()['rig'].read_text(encoding='utf-8')
    return frs.load(
        text.replace(
            '<joint name="turn" rotor',
            (
                f'<joint name="turn" stiffness="{stepper_stiffness(parts)}" '
                f'damping="{parts.stepper_damping}" rotor'
            ),
        )
    )


def _sampled(motion, duration, joint=0):
    count = math.ceil(duration / PERIOD - 1e-9)
    return np.array([motion.sample(min(k * PERIOD, duration))[0, joint] for k in range(count + 1)])


def rates_of(angles, parts):
    """Step rates (k - 1,) that turn the stepper along angles (k,) [microsteps/s]."""
    return np.diff(angles) / PERIOD * parts.steps_per_turn / (2 * math.pi)


def by_set_points(angles):
    """Amplitude of the true tip after a turn by set points, board and host in lockstep [m]."""
    bench = _bench(angles[0])
    host = Host(Lockstep('emulator', EmulatedRig(bench)))
    host.wait(40)
    host.hello()
    _zero(bench, lambda joint, counts: host.accepted(Zero(joint, counts)), angles[0])
    host.stream(100)
    host.accepted(Arm())

    def drive(rate, milliseconds):
        for _ in range(0, milliseconds, 5):
            host.wait(5, host.setpoint(0.0, rate))

    drive(0.0, round(1e3 * REST))
    for rate in rates_of(angles, bench.parts):
        drive(float(rate), 5)
    places = []
    for _ in range(round(WINDOW / PERIOD)):
        drive(0.0, 5)
        places.append(_tip(bench))
    return _amplitude(places)


def by_profile(angles):
    """The same for a profile that the bridge sends and the board plays in real time."""
    bench = _bench(angles[0])
    with (
        tempfile.TemporaryDirectory() as folder,
        Emulator(Path(folder) / 'rig', EmulatedRig(bench)) as emulator,
    ):
        arm = frs.load('rig')
        bridge = RigBridge(
            arm,
            calibration_of(BridgeSettings(), arm),
            emulator.link,
            BridgeSettings(zero_pose=(SLIDE, float(angles[0]))),
            CALM,
        )
        try:
            bridge.zero()
            crc = bridge.load_profile(
                [
                    segment(PERIOD, 0.0, float(rate))
                    for rate in (*rates_of(angles, bench.parts), 0.0)
                ]
            )
            bridge.enable(True)
            bridge.start_profile(crc)
            end = time.monotonic() + PATIENCE
            while not any('profile is done' in line for _, line in bridge.events):
                if time.monotonic() > end:
                    raise TimeoutError(f'the board has not played its profile: {bridge.events}')
                time.sleep(1e-3)
            begun = emulator.call(lambda rig: rig.time)
            places: list[tuple] = []
            while not places or places[-1][0] < begun + WINDOW:
                places.append(emulator.call(lambda rig: (rig.time, *_tip(rig.bench))))
                time.sleep(2e-3)
        finally:
            bridge.close()
    return _amplitude([place for _, *place in places])


def _bench(angle):
    parts = BenchParts()
    return Bench(strip(TRUTH), parts, start=(SLIDE, float(angle)))


def _zero(bench, zero, angle):
    zero(Joint.SLIDE, round(SLIDE * bench.parts.counts_per_metre))
    zero(Joint.TURN, round(angle * bench.parts.counts_per_radian))


def _tip(bench):
    return bench.simulation.pose('tool')[:2, 3]


def _amplitude(places):
    """Half the range of the tip [m]."""
    places = np.array(places)
    return float(np.linalg.norm(np.ptp(places, axis=0)) / 2)


def bench_residual(quick):
    """Return the residual vibration of the tip, over that of the unshaped turn."""
    found: dict[str, dict[str, list[float]]] = {
        'by_profile': {'shaped': [], 'planned': []},
        'by_set_points': {'shaped': [], 'planned': []},
    }
    for move in MOVES[:1] if quick else MOVES:
        ways = turns(*move)
        for how, run in (('by_profile', by_profile), ('by_set_points', by_set_points)):
            before = run(ways['unshaped'])
            for way in ('shaped', 'planned'):
                found[how][way].append(run(ways[way]) / before)
    return {
        'shaper': recommended().name,
        'added': recommended().added_time,
        **{how: {way: max(left) for way, left in ways.items()} for how, ways in found.items()},
    }


def as_lines(found):
    """Lines of the figures."""
    yield 'recommended', f'{found["shaper"]}, {found["added"]:.2f} s more'
    for how in ('by_profile', 'by_set_points'):
        for way, left in found[how].items():
            yield f'{way}, {how.replace("_", " ")}', f'at most {100 * left:.2f} %'
