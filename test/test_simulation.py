"""A simulated arm against closed forms, against `statics`, and against careless callers."""

from concurrent.futures import ThreadPoolExecutor
from math import cos, pi, sin, sqrt

import numpy as np
import pytest
from arms import Z, beam, flexibility, joint, link, robot
from moving_arms import PLAIN, WEIGHTLESS, clamped_arm, swinging_arm, swinging_text
from scipy.spatial.transform import Rotation

from flex_robot_sim import read_description
from flex_robot_sim.assembly import build_arm
from flex_robot_sim.exceptions import SettingError, SimulationError
from flex_robot_sim.loads import Push
from flex_robot_sim.settings import SimulationSettings
from flex_robot_sim.simulation import Simulation
from flex_robot_sim.statics import equilibrium

EI = 30.0
BEAM = f'<section EIy="{EI}" EIz="{EI}"/>'
LEVEL = '<modes bending_y="3" bending_z="0" torsion="0"/>'
DAMPED = BEAM + '<modes bending_y="3" bending_z="3" torsion="0"/><damping ratio="0.5"/>'


@pytest.fixture(name='simulation')
def swinging():
    """Return a Simulation of two flexible links and a tool, at rest."""
    return Simulation(swinging_arm())


def at_rest(**options):
    """Return a Simulation of the swinging arm in the equilibrium of a pose, held by its motors."""
    arm, pose = swinging_arm(**options), [0.4, -0.3]
    rest = equilibrium(arm, pose)
    simulation = Simulation(arm)
    simulation.set_state(coordinates=rest.coordinates)
    simulation.effort = rest.effort
    return simulation


def rigid(inside=Z, **options):
    """Return the ArmModel of a rigid rod of 1 m and 2 kg on a hinge, with a tool at its end."""
    return build_arm(read_description(robot(
        joint(inside=inside), link(), '<link name="tool"/>',
        joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>'))), **options)


ROD = 1 / 6 + 2 * 0.5**2        # inertia of the rod about its hinge [kg m2]


def settled(arm, *pushes, seconds=8.0):
    """Return a Simulation of a damped arm after a while under loads."""
    simulation = Simulation(arm, SimulationSettings(time_step=2e-3))
    for push in pushes:
        simulation.push(*push)
    simulation.advance_to(seconds)
    return simulation


def message(error, function, *arguments, **named):
    """Return the message of the error in which a call ends."""
    with pytest.raises(error) as caught:
        function(*arguments, **named)
    return str(caught.value)


def test_advance_to_takes_the_nearest_whole_step(simulation):
    for time, reached in ((0.0104, 10), (0.0105001, 11), (0.0106, 11), (0.5, 500)):
        simulation.advance_to(time)
        assert simulation.time == pytest.approx(reached * 1e-3, rel=1e-12)


def test_one_call_of_many_steps_is_many_calls_of_one():
    runs = [Simulation(swinging_arm()) for _ in range(2)]
    for run in runs:
        run.set_state(velocity=[1.0, -0.5])
    runs[0].step(500)
    for _ in range(500):
        runs[1].step()
    np.testing.assert_array_equal(runs[0].coordinates, runs[1].coordinates)
    np.testing.assert_array_equal(runs[0].rates, runs[1].rates)
    assert runs[0].time == pytest.approx(runs[1].time, rel=1e-12)


def test_reset_goes_back_to_rest_and_time_runs_on(simulation):
    simulation.effort = [5.0, 1.0]
    simulation.hold([1.0, 1.0], 10.0, 1.0)
    simulation.push('tool', force=(0.0, 300.0, 0.0))
    simulation.step(300)
    assert simulation.reports
    simulation.reset()
    assert simulation.time == pytest.approx(0.3)
    assert not simulation.coordinates.any()
    assert not simulation.rates.any()
    assert not simulation.applied_effort.any()
    assert simulation.reports == []
    fresh = Simulation(swinging_arm())
    for run in (simulation, fresh):
        run.step(100)
    np.testing.assert_array_equal(simulation.coordinates, fresh.coordinates)
    assert simulation.energy() == fresh.energy()


def test_a_position_sets_both_sides_of_a_gear():
    arm = swinging_arm(gear='stiffness="400" rotor_inertia="1" gear_ratio="1"')
    simulation = Simulation(arm)
    simulation.set_state(position=[0.2, 0.3], velocity=[0.4, 0.5])
    np.testing.assert_array_equal(simulation.position, [0.2, 0.3])
    np.testing.assert_array_equal(simulation.motor_position, [0.2, 0.3])
    np.testing.assert_array_equal(simulation.velocity, [0.4, 0.5])
    np.testing.assert_array_equal(simulation.motor_velocity, [0.4, 0.5])
    assert not simulation.coordinates[4:].any()
    simulation.set_state(coordinates=np.arange(arm.size), rates=-np.arange(arm.size))
    np.testing.assert_array_equal(simulation.motor_position, [2.0, 3.0])
    np.testing.assert_array_equal(simulation.velocity, [0.0, -1.0])


def test_what_is_read_is_a_copy(simulation):
    for name in ('position', 'velocity', 'motor_position', 'motor_velocity', 'coordinates',
                 'rates', 'applied_effort'):
        getattr(simulation, name)[:] = 7.0
        assert not getattr(simulation, name).any()


def test_pose_and_deflection_agree():
    simulation = Simulation(swinging_arm())
    rng = np.random.default_rng(2)
    simulation.set_state(coordinates=rng.uniform(-0.1, 0.1, simulation.arm.size))
    root, tool = simulation.pose('forearm'), simulation.pose('tool')
    moved = simulation.deflection['forearm']
    expected = np.eye(4)
    expected[:3, :3] = Rotation.from_rotvec(moved[3:]).as_matrix()
    expected[:3, 3] = moved[:3] + [1.0, 0.0, 0.0]
    np.testing.assert_allclose(np.linalg.solve(root, tool), expected, atol=1e-13)
    assert list(simulation.deflection) == ['arm', 'forearm']
    assert len(simulation.deflection) == 2
    assert 'hand' not in simulation.deflection


def test_an_arm_in_equilibrium_stays_there():
    simulation = at_rest()
    before = simulation.coordinates
    simulation.step(200)
    # the search stops at 1e-10 or so; 0.2 s of unstable balance make little more of that
    np.testing.assert_allclose(simulation.coordinates, before, atol=1e-8)


def test_a_damped_beam_comes_to_rest_in_the_equilibrium():
    arm = clamped_arm(DAMPED, gravity=(1.0, -2.0, -9.81), tip_mass=0.3)
    push = Push('tool', (0.0, 0.5, 0.2))
    simulation = settled(arm, push)
    rest = equilibrium(arm, pushes=[push])
    # after 8 s of damping at half the critical one (first rate 8 rad/s) e^-30 is left
    np.testing.assert_allclose(simulation.coordinates, rest.coordinates, atol=1e-10)


def test_a_dead_load_bends_a_beam_by_F_L3_over_3EI():
    force = 0.03        # slope 5e-4 at the end: what is of third order is below 1e-6
    tip = settled(clamped_arm(DAMPED), Push('tool', (0.0, force, -2 * force))).deflection['arm']
    expected = [force / (3 * EI), -2 * force / (3 * EI), force / EI, force / (2 * EI)]
    np.testing.assert_allclose(tip[[1, 2, 4, 5]], expected, rtol=1e-6)


def test_a_moment_bends_a_beam_by_M_L2_over_2EI():
    moment = 0.03
    tip = settled(clamped_arm(DAMPED), Push('tool', moment=(0, 0, moment))).deflection['arm']
    np.testing.assert_allclose(tip[[1, 5]], [moment / (2 * EI), moment / EI], rtol=1e-6)


def test_a_follower_turns_with_its_link():
    # always across the rod, so the acceleration F L / I is constant, and the midpoint exact
    simulation = Simulation(rigid(gravity=WEIGHTLESS))
    simulation.push('tool', force=(0.0, 3.0, 0.0), follows=True)
    simulation.advance_to(2.0)
    assert simulation.position == pytest.approx([0.5 * 3.0 / ROD * 2.0**2], rel=1e-12)


def test_a_dead_load_is_a_pendulum():
    # I w^2 / 2 = F L sin(angle), with the force along y and the rod along x at first
    simulation = Simulation(rigid(gravity=WEIGHTLESS), SimulationSettings(scheme='rk4'))
    simulation.push('arm', force=(0.0, 3.0, 0.0), point=(1.0, 0.0, 0.0))
    simulation.advance_to(0.7)
    angle, rate = simulation.position[0], simulation.velocity[0]
    assert angle > 0.5
    assert rate == pytest.approx(sqrt(2 * 3.0 * sin(angle) / ROD), rel=1e-10)
    assert simulation.energy().work == pytest.approx(3.0 * sin(angle), rel=1e-10)


def test_pushes_add_up_and_are_let_go():
    simulation = Simulation(rigid(gravity=WEIGHTLESS))
    simulation.push('tool', force=(0.0, 3.0, 0.0), follows=True)
    simulation.push('arm', moment=(0.0, 0.0, -1.0))
    simulation.advance_to(1.0)
    assert simulation.velocity == pytest.approx([(3.0 - 1.0) / ROD], rel=1e-12)
    simulation.push('tool')
    simulation.advance_to(2.0)
    assert simulation.velocity == pytest.approx([(2.0 - 1.0) / ROD], rel=1e-12)
    simulation.push('arm')
    simulation.advance_to(3.0)
    assert simulation.velocity == pytest.approx([1.0 / ROD], rel=1e-12)


def test_a_servo_pulls_as_its_gains_say():
    # I x'' + d x' + k (x - 1) = 0, damped at 0.3 of the critical one, from rest
    rate, ratio = 5.0, 0.3
    simulation = Simulation(rigid(gravity=WEIGHTLESS), SimulationSettings(scheme='rk4'))
    simulation.hold([1.0], ROD * rate**2, 2 * ratio * rate * ROD)
    simulation.advance_to(0.8)
    swing, t = rate * sqrt(1 - ratio**2), simulation.time
    fade = np.exp(-ratio * rate * t)
    expected = 1 - fade * (cos(swing * t) + ratio * rate / swing * sin(swing * t))
    assert simulation.position == pytest.approx([expected], rel=1e-9)
    rest = 1 - simulation.position[0] - 2 * ratio / rate * simulation.velocity[0]
    assert simulation.applied_effort == pytest.approx([ROD * rate**2 * rest], rel=1e-12)
    simulation.hold([0.0], 0.0, 0.0)
    speed = simulation.velocity
    simulation.step(1000)
    assert simulation.velocity == pytest.approx(speed, rel=1e-12)


def measured_frequency(simulation, seconds):
    """Mean frequency [Hz] between the first and the last rise of the tip through zero."""
    times, tips = [], []
    for _ in range(round(seconds / simulation.settings.time_step)):
        simulation.step()
        times.append(simulation.time)
        tips.append(simulation.deflection['arm'][1])
    times, tips = np.array(times), np.array(tips)
    rises = np.flatnonzero((tips[:-1] < 0) & (tips[1:] >= 0))
    zeros = times[rises] - tips[rises] / (tips[rises + 1] - tips[rises]) * 1e-3
    return (zeros.size - 1) / (zeros[-1] - zeros[0])


@pytest.mark.slow
def test_a_payload_changes_the_frequency_in_the_middle_of_a_run():
    simulation = Simulation(clamped_arm(BEAM + LEVEL))
    simulation.push('tool', force=(0.0, 1.0, 0.0))
    unit = sqrt(EI / 2.0) / (2 * pi)
    # mass ratios 0, 1, 0.5; the higher modes that swing along move a zero by less than 1e-3 of
    # these ten periods
    for mass, root in ((0.0, 1.875104), (2.0, 1.247917), (1.0, 1.419964)):
        simulation.set_payload('tool', mass)
        simulation.set_state(coordinates=equilibrium(
            simulation.arm, pushes=[Push('tool', (0.0, 0.3, 0.0))]).coordinates)
        simulation.push('tool')
        expected = root**2 * unit
        assert measured_frequency(simulation, 10 / expected) == pytest.approx(expected, rel=1e-3)


def test_a_payload_is_as_good_as_one_in_the_description():
    # with shapes that do not depend on what the description hangs at the end
    inertia = np.diag([2e-3, 3e-3, 4e-3])
    text = swinging_text(modes=PLAIN.replace('/>', ' boundary="free"/>'))
    inertial = text[text.index('<link name="tool">'):]
    bare = text.replace(inertial[:inertial.index('</link>')], '<link name="tool">')
    runs = [Simulation(build_arm(read_description(source))) for source in (text, bare)]
    runs[1].set_payload('tool', 1.0, (0.05, 0.0, 0.02), inertia)
    for run in runs:
        run.set_state(velocity=[1.0, -0.5])
        run.step(500)
    np.testing.assert_allclose(runs[1].position, runs[0].position, atol=1e-12)
    np.testing.assert_allclose(runs[1].wrench('elbow'), runs[0].wrench('elbow'), atol=1e-9)
    runs[1].set_payload('tool', 0.0)
    assert runs[1].energy().balance == pytest.approx(runs[0].energy().balance, abs=1e-10)


def test_the_wrench_at_rest_carries_the_weight():
    simulation = at_rest()
    moment, force = np.split(simulation.wrench('waist'), 2)
    np.testing.assert_allclose(force, [0, 0, 5 * 9.81], atol=1e-7)
    # about the waist: links of 2 kg with their mass along the bent axis, and the tool
    tool = simulation.pose('tool')
    weights = [(1.0, (tool @ [0.05, 0.0, 0.02, 1.0])[:3])]
    for name in ('arm', 'forearm'):
        weights += [(2 / 4000, at) for at in _axis(simulation, name, 4000)]
    R = simulation.pose('arm')[:3, :3]
    expected = sum(m * np.cross(at, [0, 0, 9.81]) for m, at in weights)
    np.testing.assert_allclose(R @ moment, expected, rtol=1e-6, atol=1e-6)
    assert simulation.wrench('waist')[2] == pytest.approx(simulation.effort[0], abs=1e-8)
    assert simulation.wrench('elbow')[1] == pytest.approx(simulation.effort[1], abs=1e-8)


def _axis(simulation, name, count):
    """Middles of `count` equal parts of the bent axis of a link, in the base frame."""
    arm, root = simulation.arm, simulation.pose(name)
    body, = arm.segments[name]
    piece, first = arm.beams[body], arm.arrays.first[body]
    e = simulation.coordinates[first:first + piece.size]
    for x in (np.arange(count) + 0.5) / count:
        at = piece.shape(x) @ e + [x, 0.0, 0.0]
        at[0] -= 0.5 * e @ piece.shortening(x) @ e
        yield root[:3, :3] @ at + root[:3, 3]


def test_a_wrench_counts_a_push_from_the_moment_it_is_given():
    simulation = at_rest()
    before = simulation.wrench('waist')
    simulation.push('arm', force=(0.0, 0.0, 7.0))      # at the hinge, so nothing else feels it
    np.testing.assert_allclose(simulation.wrench('waist') - before, [0, 0, 0, 0, 0, -7], atol=1e-9)
    simulation.push('arm')
    np.testing.assert_allclose(simulation.wrench('waist'), before, atol=1e-12)


def test_energy_adds_up_whatever_happens():
    arm = swinging_arm(damping='0.02', friction='0.3',
                       gear='stiffness="400" damping="3" rotor_inertia="1" gear_ratio="1"')
    simulation = Simulation(arm, SimulationSettings(time_step=5e-4, scheme='rk4'))
    simulation.set_state(position=[0.3, -0.2], velocity=[1.0, 0.5])
    changes = (lambda: simulation.push('tool', force=(2.0, 5.0, 1.0), point=(0.1, 0.0, 0.0)),
               lambda: simulation.hold([0.5, 0.1], 50.0, 5.0),
               lambda: simulation.set_payload('tool', 0.7, (0.0, 0.1, 0.0), np.eye(3) * 1e-2),
               lambda: simulation.push('forearm', moment=(0.5, 0.0, 1.0), follows=True),
               lambda: simulation.push('tool'),
               lambda: simulation.set_payload('tool', 0.0))
    scale = 0.0
    for change in changes:
        simulation.effort[:] += [1.0, -0.5]
        change()
        simulation.step(400)
        energy = simulation.energy()
        scale = max(scale, energy.kinetic + energy.strain)
        # the fourth-order scheme at a tenth of its longest step
        assert abs(energy.balance) < 1e-8 * scale
    assert energy.dissipated > 0.01 * scale
    assert abs(energy.work) > 0.1 * scale
    simulation.set_state(velocity=[2.0, 0.0])
    assert simulation.energy()[3:] == (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_a_beam_bent_too_far_is_reported_once():
    simulation = Simulation(clamped_arm(BEAM + LEVEL))
    simulation.push('tool', force=(0.0, 7.0, 0.0))     # swings to twice 7 / 90 m, and back, often
    bent = []
    while simulation.time < 0.3:
        simulation.step()
        bent.append(abs(simulation.deflection['arm'][1]))
    assert max(bent) > 0.1
    first = (np.flatnonzero(np.array(bent) > 0.1)[0] + 1) * 1e-3
    line = (f'link "arm" bends by more than 10 % of its length at {first:.4g} s. Give it more '
            'segments')
    assert simulation.reports == [line]
    # the same is seen within a single call, even though the beam is back by its end
    simulation = Simulation(clamped_arm(BEAM + LEVEL))
    simulation.push('tool', force=(0.0, 7.0, 0.0))
    simulation.advance_to(20.0)
    assert simulation.reports == [line]


def test_the_segment_that_bends_too_far_is_named():
    simulation = Simulation(clamped_arm(
        BEAM + '<modes bending_y="2" bending_z="0" torsion="0" segments="2"/>'),
        SimulationSettings(deflection_limit=0.025))
    simulation.push('tool', force=(0.0, 2.0, 0.0))
    simulation.advance_to(2.0)
    report, = simulation.reports        # the inner one has the moment, the outer one little of it
    assert report.startswith('link "arm", segment 1, bends by more than 2.5 % of its length at ')


def test_turning_too_fast_without_shortening_is_reported_once():
    text = robot(joint(), link(), flexibility(
        beam(BEAM + '<modes bending_y="1" bending_z="0" torsion="0" boundary="free"/>'),
        '<joint name="hinge" rotor_inertia="1e9"/>'))
    for coupling, count in (('zero_order', 1), ('shortening', 0)):
        simulation = Simulation(build_arm(read_description(text), coupling, WEIGHTLESS))
        simulation.effort = [2e9]           # 2 rad/s2, whatever the beam does
        simulation.advance_to(3.0)
        assert len(simulation.reports) == count
        if count:
            limit = 0.3 * 1.8751040687**2 * sqrt(EI / 2.0)
            # the rate is looked at in the middle of a step
            time = (np.floor(limit / 2 / 1e-3 - 0.5) + 2) * 1e-3
            assert simulation.reports == [
                f'link "arm" turns faster than {limit:.4g} rad/s, 0.3 of its first natural rate, '
                f'at {time:.4g} s. Take the coupling "shortening"']


WAIST_ELBOW = 'must be 2 finite numbers, in this order: waist, elbow'
PAYLOAD = ('payload of "tool" needs a mass >= 0 [kg], a centre (3,) [m] and an inertia (3, 3) '
           '[kg m2], symmetric and not negative, all finite')
PUSHED = ('the push at "tool" needs a force [N], a moment [N m] and a point [m] of three finite '
          'numbers each')


@pytest.mark.parametrize('call, expected', [
    (lambda s: s.step(0), 'steps = 0 must be a whole number > 0'),
    (lambda s: s.step(-3), 'steps = -3 must be a whole number > 0'),
    (lambda s: s.step(2.5), 'steps = 2.5 must be a whole number > 0'),
    (lambda s: s.advance_to(float('nan')), 'time = nan must be finite [s]'),
    (lambda s: s.advance_to(float('inf')), 'time = inf must be finite [s]'),
    (lambda s: s.advance_to(-1.0), 'time = -1.0 is over: it is 0 s by now'),
    (lambda s: setattr(s, 'effort', [1.0]), f'effort {WAIST_ELBOW}'),
    (lambda s: setattr(s, 'effort', [1.0, float('inf')]), f'effort {WAIST_ELBOW}'),
    (lambda s: setattr(s, 'effort', 'much'), f'effort {WAIST_ELBOW}'),
    (lambda s: s.set_state([1.0]), f'position {WAIST_ELBOW}'),
    (lambda s: s.set_state(velocity=[1.0, float('nan')]), f'velocity {WAIST_ELBOW}'),
    (lambda s: s.set_state([0.0, 0.0], coordinates=np.zeros(6)),
     'position and coordinates say the same: give one of them'),
    (lambda s: s.set_state(velocity=[0.0, 0.0], rates=np.zeros(6)),
     'velocity and rates say the same: give one of them'),
    (lambda s: s.set_state(coordinates=np.zeros(5)),
     'coordinates must be 6 finite numbers, in this order: waist, elbow, arm/bending_y_1, '
     'arm/bending_z_1, forearm/bending_y_1, forearm/bending_z_1'),
    (lambda s: s.hold([1.0], 1.0, 1.0), f'target {WAIST_ELBOW}'),
    (lambda s: s.hold([1.0, 2.0], [1.0], 1.0), f'stiffness {WAIST_ELBOW}'),
    (lambda s: s.hold([1.0, 2.0], 1.0, float('nan')), f'damping {WAIST_ELBOW}'),
    (lambda s: s.hold([1.0, 2.0], -1.0, 0.0),
     'stiffness and damping of a servo must be >= 0'),
    (lambda s: s.push('hand', (1.0, 0.0, 0.0)),
     'no link "hand" to push at. Known: base, arm, forearm, tool'),
    (lambda s: s.push('tool', (1.0, 0.0)), PUSHED),
    (lambda s: s.push('tool', (1.0, 0.0, float('nan'))), PUSHED),
    (lambda s: s.set_payload('hand', 1.0), 'no link "hand". Known: base, arm, forearm, tool'),
    (lambda s: s.set_payload('base', 1.0),
     'link "base" is fixed to the base and carries no payload'),
    (lambda s: s.set_payload('tool', -1.0), PAYLOAD),
    (lambda s: s.set_payload('tool', float('nan')), PAYLOAD),
    (lambda s: s.set_payload('tool', 1.0, (0.0, 0.0)), PAYLOAD),
    (lambda s: s.set_payload('tool', 1.0, inertia=np.ones(9)), PAYLOAD),
    (lambda s: s.set_payload('tool', 1.0, inertia=-np.eye(3)), PAYLOAD),
    (lambda s: s.set_payload('tool', 1.0, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), PAYLOAD),
    (lambda s: s.pose('hand'), 'no link "hand". Known: base, arm, forearm, tool'),
    (lambda s: s.wrench('wrist'), 'no joint "wrist" carries a body. Known: waist, elbow, mount'),
    (lambda s: s.deflection['tool'], 'no flexible link "tool". Known: arm, forearm'),
])
def test_a_useless_argument_is_refused_and_nothing_changes(simulation, call, expected):
    assert message(SettingError, call, simulation) == expected
    fresh = Simulation(swinging_arm())
    for run in (simulation, fresh):
        run.step(20)
    np.testing.assert_array_equal(simulation.coordinates, fresh.coordinates)
    assert simulation.energy() == fresh.energy()


def test_an_effort_that_is_not_finite_is_refused(simulation):
    simulation.effort[1] = np.nan
    assert message(SettingError, simulation.step) == f'effort {WAIST_ELBOW}'


@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4'])
def test_a_lost_state_leaves_the_last_good_one(scheme):
    simulation = Simulation(swinging_arm(), SimulationSettings(scheme=scheme))
    simulation.set_state(velocity=[1.0, 0.0])
    simulation.step(100)
    coordinates, rates, energy = simulation.coordinates, simulation.rates, simulation.energy()
    simulation.effort = [1e200, 0.0]
    assert message(SimulationError, simulation.step, 50) == (
        'the state is not finite after 0.1 s; the last good one is kept. Take a shorter time_step '
        'or smaller efforts')
    assert simulation.time == pytest.approx(0.1)
    np.testing.assert_array_equal(simulation.coordinates, coordinates)
    np.testing.assert_array_equal(simulation.rates, rates)
    assert simulation.energy() == energy
    # and from there it goes on as if nothing had been
    simulation.effort = [0.0, 0.0]
    simulation.step(50)
    fresh = Simulation(swinging_arm(), SimulationSettings(scheme=scheme))
    fresh.set_state(coordinates=coordinates, rates=rates)
    fresh.step(50)
    np.testing.assert_array_equal(simulation.coordinates, fresh.coordinates)


def test_an_arm_without_joints():
    assert message(SettingError, Simulation, build_arm(read_description(robot()))) == (
        'the arm has no coordinates: it has nothing to simulate')
    simulation = Simulation(clamped_arm(BEAM + LEVEL, gravity=(0.0, -1.0, 0.0)))
    simulation.step(100)
    assert simulation.position.size == simulation.effort.size == 0
    assert simulation.deflection['arm'][1] < 0


def test_what_moves_no_mass_is_refused():
    text = robot(joint('shoulder', child='cuff'), '<link name="cuff"/>',
                 joint('twist', parent='cuff'), link())
    expected = ('" moves no mass. Give what it moves an inertia, or leave it out of the '
                'description')
    found = message(SettingError, Simulation, build_arm(read_description(text)))
    assert found in (f'"shoulder{expected}', f'"twist{expected}')


def test_the_base_stays_where_it_is(simulation):
    simulation.step(10)
    np.testing.assert_array_equal(simulation.pose('base'), np.eye(4))


def test_runs_are_equal_bit_for_bit_and_independent():
    arm = swinging_arm()
    first, second, other = (Simulation(arm) for _ in range(3))
    other.set_payload('tool', 3.0)
    other.hold([1.0, 1.0], 10.0, 1.0)
    other.push('tool', (1.0, 2.0, 3.0))
    other.effort = [1.0, 2.0]
    for _ in range(5):
        for run in (first, other, second):
            run.step(40)
    np.testing.assert_array_equal(first.coordinates, second.coordinates)
    np.testing.assert_array_equal(first.rates, second.rates)
    assert first.energy() == second.energy()
    assert np.abs(first.coordinates - other.coordinates).max() > 1e-3
    alone = Simulation(arm)
    alone.step(200)
    np.testing.assert_allclose(alone.coordinates, first.coordinates, rtol=0, atol=0)


@pytest.mark.slow
def test_threads_do_not_disturb_each_other():
    # the compiled steps run without the GIL, so that these overlap
    def run(speed):
        simulation = Simulation(swinging_arm())
        simulation.set_state(velocity=[speed, -speed])
        simulation.step(3000)
        return simulation.coordinates

    speeds = [0.5, 1.0, 1.5]
    one_by_one = [run(speed) for speed in speeds]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(run, speeds))
    np.testing.assert_array_equal(together, one_by_one)
