"""Invalid calls of a simulation, and non-finite states."""

import numpy as np
import pytest
from arms import joint, link, robot
from moving_arms import BEAM, LEVEL, clamped_arm, swinging_arm
from refusals import refusal

from flex_robot_sim import forward_dynamics, read_description
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError, SimulationError
from flex_robot_sim.util.settings import SimulationSettings


@pytest.fixture(name='simulation')
def swinging():
    """Return a Simulation of two flexible links and a tool, at rest."""
    return Simulation(swinging_arm())


WAIST_ELBOW = 'must be 2 finite numbers, in this order: waist, elbow'
PAYLOAD = (
    'payload of "tool" needs a mass >= 0 [kg], a centre (3,) [m] and a symmetric inertia '
    '(3, 3) [kg m2], all finite'
)
PUSHED = (
    'the push at "tool" needs a force [N], a moment [N m] and a point [m] of three finite '
    'numbers each'
)


@pytest.mark.parametrize(
    'call, expected',
    [
        (lambda s: s.step(0), 'steps = 0 must be a whole number > 0'),
        (lambda s: s.step(-3), 'steps = -3 must be a whole number > 0'),
        (lambda s: s.step(2.5), 'steps = 2.5 must be a whole number > 0'),
        (lambda s: s.step(True), 'steps = True must be a whole number > 0'),
        (lambda s: s.advance_to('1'), "time = '1' must be finite [s]"),
        (lambda s: s.advance_to(float('nan')), 'time = nan must be finite [s]'),
        (lambda s: s.advance_to(float('inf')), 'time = inf must be finite [s]'),
        (lambda s: s.advance_to(-1.0), 'time = -1.0 is over: it is 0 s by now'),
        (lambda s: setattr(s, 'effort', [1.0]), f'effort {WAIST_ELBOW}'),
        (lambda s: setattr(s, 'effort', [1.0, float('inf')]), f'effort {WAIST_ELBOW}'),
        (lambda s: setattr(s, 'effort', 'much'), f'effort {WAIST_ELBOW}'),
        (lambda s: s.set_state([1.0]), f'q {WAIST_ELBOW}; or all 6 coordinates'),
        (lambda s: s.set_state(v=[1.0, float('nan')]), f'v {WAIST_ELBOW}; or all 6 coordinates'),
        (lambda s: s.set_state(q=np.zeros(5)), f'q {WAIST_ELBOW}; or all 6 coordinates'),
        (
            lambda s: s.set_state(v=np.full(6, np.nan)),
            'v must be 6 finite numbers, in this order: waist, elbow, arm/bending_y_1, '
            'arm/bending_z_1, forearm/bending_y_1, forearm/bending_z_1',
        ),
        (lambda s: s.hold([1.0], 1.0, 1.0), f'target {WAIST_ELBOW}'),
        (lambda s: s.hold([1.0, 2.0], [1.0], 1.0), f'stiffness {WAIST_ELBOW}'),
        (lambda s: s.hold([1.0, 2.0], 1.0, float('nan')), f'damping {WAIST_ELBOW}'),
        (lambda s: s.hold([1.0, 2.0], -1.0, 0.0), 'stiffness must be >= 0'),
        (
            lambda s: s.push('hand', (1.0, 0.0, 0.0)),
            'no link "hand" to push at. Known: base, arm, forearm, tool',
        ),
        (
            lambda s: s.push(['tool']),
            """no link "['tool']" to push at. Known: base, arm, forearm, """
            'tool',
        ),
        (lambda s: s.push('tool', 'abc'), PUSHED),
        (lambda s: s.push('tool', follows='no'), "follows = 'no' must be True or False"),
        (lambda s: s.push('tool', (1.0, 0.0)), PUSHED),
        (lambda s: s.push('tool', (1.0, 0.0, float('nan'))), PUSHED),
        (
            lambda s: s.push('tool', (8e5, 0.0, -8e5)),
            'the force of the push at "tool" is 1.13137e+06 N, more than 1e+06 N',
        ),
        (
            lambda s: s.push('tool', moment=(0.0, 1e308, 1e308)),
            'the moment of the push at "tool" is 1.41421e+308 N m, more than 1e+06 N m',
        ),
        (lambda s: s.set_payload('hand', 1.0), 'no link "hand". Known: base, arm, forearm, tool'),
        (
            lambda s: s.set_payload('base', 1.0),
            'link "base" is fixed to the base and carries no payload',
        ),
        (lambda s: s.set_payload('tool', -1.0), PAYLOAD),
        (lambda s: s.set_payload('tool', float('nan')), PAYLOAD),
        (lambda s: s.set_payload('tool', 1.0, (0.0, 0.0)), PAYLOAD),
        (lambda s: s.set_payload('tool', 1.0, inertia=np.ones(9)), PAYLOAD),
        (lambda s: s.set_payload('tool', '1kg'), PAYLOAD),
        (
            lambda s: s.set_payload('tool', 1.0, inertia=-np.eye(3)),
            'no payload of "tool" has this inertia [kg m2]: it is not positive definite '
            '(principal moments -1, -1, -1 kg m2)',
        ),
        (
            lambda s: s.set_payload('tool', 1.0, inertia=np.diag([1.0, 1.0, 100.0])),
            'no payload of "tool" has this inertia [kg m2]: it breaks the triangle inequality '
            '(principal moments 1 + 1 < 100 kg m2)',
        ),
        (
            lambda s: s.set_payload(['tool'], 1.0),
            """no link "['tool']". Known: base, arm, forearm, tool""",
        ),
        (lambda s: s.set_payload('tool', 1.0, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), PAYLOAD),
        (lambda s: s.pose('hand'), 'no link "hand". Known: base, arm, forearm, tool'),
        (lambda s: s.pose(['tool']), """no link "['tool']". Known: base, arm, forearm, tool"""),
        (
            lambda s: s.wrench('wrist'),
            'no joint "wrist" carries a body. Known: waist, elbow, mount',
        ),
        (lambda s: s.deflection['tool'], 'no flexible link "tool". Known: arm, forearm'),
    ],
)
def test_an_invalid_argument_is_refused_without_effect(simulation, call, expected):
    assert refusal(SettingError, call, simulation) == expected
    fresh = Simulation(swinging_arm())
    for run in (simulation, fresh):
        run.step(20)
    np.testing.assert_array_equal(simulation.q, fresh.q)
    assert simulation.energy() == fresh.energy()


def test_an_effort_that_is_not_finite_is_refused(simulation):
    for steps in (1, 1, 4):  # the first call, and one like the last
        simulation.effort[1] = np.nan
        assert refusal(SettingError, simulation.step, steps) == f'effort {WAIST_ELBOW}'
        time = simulation.time
        simulation.effort[1] = 0.0
        simulation.step(steps)
        assert simulation.time == pytest.approx(time + steps * 1e-3)


def test_a_number_of_steps_like_the_last_one_must_be_whole(simulation):
    simulation.step(1)
    for steps in (True, 1.0, None):
        assert refusal(SettingError, simulation.step, steps) == (
            f'steps = {steps!r} must be a whole number > 0'
        )
    assert simulation.time == pytest.approx(1e-3)


@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4', 'reference'])
def test_before_a_non_finite_state_the_last_good_one_is_kept(scheme):
    simulation = Simulation(swinging_arm(), SimulationSettings(scheme=scheme))
    simulation.set_state(v=[1.0, 0.0])
    simulation.step(100)
    coordinates, rates, energy = simulation.q, simulation.v, simulation.energy()
    simulation.effort = [1e200, 0.0]
    assert refusal(SimulationError, simulation.step, 50) == (
        'the state is not finite after 0.1 s; the last good one is kept. Take a shorter time_step '
        'or smaller efforts'
    )
    assert simulation.time == pytest.approx(0.1)
    np.testing.assert_array_equal(simulation.q, coordinates)
    np.testing.assert_array_equal(simulation.v, rates)
    assert simulation.energy() == energy
    # and it continues from there normally
    simulation.effort = [0.0, 0.0]
    simulation.step(50)
    fresh = Simulation(swinging_arm(), SimulationSettings(scheme=scheme))
    fresh.set_state(q=coordinates, v=rates)
    fresh.step(50)
    np.testing.assert_array_equal(simulation.q, fresh.q)


def test_an_arm_without_joints():
    assert refusal(SettingError, Simulation, build_arm(read_description(robot()))) == (
        'the arm has no coordinates: it has nothing to simulate'
    )
    simulation = Simulation(clamped_arm(BEAM + LEVEL, gravity=(0.0, -1.0, 0.0)))
    simulation.step(100)
    assert simulation.position.size == simulation.effort.size == 0
    assert simulation.deflection['arm'][1] < 0


def test_a_coordinate_without_mass_is_refused():
    text = robot(
        joint('shoulder', child='cuff'),
        '<link name="cuff"/>',
        joint('twist', parent='cuff'),
        link(),
    )
    expected = '" moves no mass. Give what it moves an inertia, or leave it out of the description'
    arm = build_arm(read_description(text))
    for _ in range(2):  # a second attempt finds the same error
        found = refusal(SettingError, Simulation, arm)
        assert found in (f'"shoulder{expected}', f'"twist{expected}')
    assert refusal(SettingError, forward_dynamics, arm, [0.0, 0.0]) == found
