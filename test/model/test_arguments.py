"""Arguments of the wrong type instead of an arm, its settings or pushes are rejected."""

import numpy as np
import pytest
from moving_arms import swinging_arm
from refusals import refusal
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError

ARM = swinging_arm()
Q = np.zeros(ARM.size)


@pytest.mark.parametrize(
    'function, more',
    [
        (frs.Simulation, ()),
        (frs.frequencies, ()),
        (frs.modes, ()),
        (frs.linearise, ()),
        (frs.equilibrium, ()),
        (frs.with_payload, ('tool', 1.0)),
        (frs.mass_matrix, (Q,)),
        (frs.nonlinear_effects, (Q,)),
        (frs.gravity_forces, (Q,)),
        (frs.inverse_dynamics, (Q,)),
        (frs.forward_dynamics, (Q,)),
        (frs.actuated_coordinates, ()),
        (frs.curvatures, (Q,)),
        (frs.deflection, (Q,)),
        (frs.pose, (Q,)),
        (frs.jacobian, (Q,)),
        (frs.twist, (Q, Q)),
        (frs.twist_rate, (Q, Q, Q)),
        (frs.parameters, ()),
        (frs.with_parameters, ({},)),
        (frs.Batch, (2,)),
        (frs.control.design_servo, ()),
        (frs.feedback.Lqr, ([0.0],)),
        (frs.identification.identify_parameters, ('run.csv',)),
        (frs.shaping.design_for_arm, ()),
    ],
)
def test_the_name_of_a_robot_is_not_accepted_as_an_arm(function, more):
    assert refusal(frs.SettingError, function, 'two_link', *more) == (
        "'two_link' is no arm: load one by flex_robot_sim.load(robot)"
    )


@pytest.mark.parametrize(
    'expected, call',
    {
        "settings = {'time_step': 0.001} must be SimulationSettings(time_step=...)": lambda: (
            frs.Simulation(ARM, {'time_step': 1e-3})
        ),
        'iterations = 1000000000 must be <= 1000: minimum number of iterations of the '
        'implicit scheme per step': lambda: frs.SimulationSettings(iterations=10**9),
        'gravity must be three finite numbers [m/s2]': lambda: frs.load(
            'two_link', gravity='down'
        ),
        """no link "['tool']" that carries a payload. Known: arm, forearm, tool""": lambda: (
            frs.with_payload(ARM, ['tool'], 1.0)
        ),
        'pushes = 3 must be a list of Push(link, force, moment, point, follows)': lambda: (
            frs.equilibrium(ARM, pushes=3)
        ),
        "pushes = [('tool', (1, 0, 0))] must be a list of Push(link, force, moment, point, "
        'follows)': lambda: frs.equilibrium(ARM, pushes=[('tool', (1, 0, 0))]),
        "pushes = Push(link='tool', force=1, moment=2, point=3, follows=False) must be a list "
        'of Push(link, force, moment, point, follows)': lambda: frs.equilibrium(
            ARM, pushes=frs.Push('tool', 1, 2, 3)
        ),
    }.items(),
)
def test_an_argument_of_the_wrong_type_is_a_one_line_error(call, expected):
    assert refusal(frs.SettingError, call) == expected


def test_an_inertia_may_be_rotated_to_any_axes():
    moments = np.diag([1e-3, 2e-3, 2.9e-3])
    base = ARM.arrays.inertia.sum(axis=0)
    for R in Rotation.random(100, random_state=0).as_matrix():
        loaded = frs.with_payload(ARM, 'tool', 1.0, inertia=R @ moments @ R.T)
        added = (loaded.arrays.inertia.sum(axis=0) - base)[:3, :3]
        # the trace is invariant: 5.9e-3, plus that of the mass of 1 kg at the tool;
        # rounding of sums of numbers near 1
        _, _, p = ARM.frames['tool']
        assert np.trace(added) == pytest.approx(5.9e-3 + 2.0 * p @ p, abs=1e-14)
        np.testing.assert_array_equal(added, added.T)


def test_a_missing_mode_is_a_one_line_error():
    found = frs.modes(frs.load('single_link'))
    count = len(found.frequencies)
    assert found.shape(-1) == found.shape(count - 1)
    for mode in (count, -count - 1, 99):
        assert refusal(SettingError, found.shape, mode) == (
            f'mode = {mode} must be a whole number below the number of modes, {count}'
        )
