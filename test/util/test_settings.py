"""Settings are refused in one line that has their name, bound, meaning and unit."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SCHEMES, SimulationSettings


@pytest.mark.parametrize(
    'values, message',
    [
        ({'time_step': 0.0}, 'time_step = 0.0 must be > 0.0: integration step [s]'),
        ({'time_step': -1e-3}, 'time_step = -0.001 must be > 0.0: integration step [s]'),
        ({'time_step': float('nan')}, 'time_step = nan must be finite: integration step [s]'),
        ({'time_step': float('inf')}, 'time_step = inf must be finite: integration step [s]'),
        ({'time_step': '1e-3'}, "time_step = '1e-3' must be a number: integration step [s]"),
        ({'time_step': None}, 'time_step = None must be a number: integration step [s]'),
        ({'time_step': True}, 'time_step = True must be a number: integration step [s]'),
        (
            {'iterations': 0},
            'iterations = 0 must be >= 1: minimum number of iterations of the implicit scheme '
            'per step',
        ),
        (
            {'iterations': 1.5},
            'iterations = 1.5 must be a whole number: minimum number of iterations of the '
            'implicit scheme per step',
        ),
        (
            {'iterations': float('nan')},
            'iterations = nan must be a whole number: minimum number of iterations of the '
            'implicit scheme per step',
        ),
        (
            {'scheme': 'rk5'},
            "scheme = 'rk5' must be one of implicit_midpoint, rk4, "
            'semi_implicit_euler, forward_euler, reference: integration scheme',
        ),
        (
            {'scheme': 4},
            'scheme = 4 must be one of implicit_midpoint, rk4, semi_implicit_euler, '
            'forward_euler, reference: integration scheme',
        ),
        (
            {'deflection_limit': 0},
            'deflection_limit = 0 must be > 0.0: tip deflection of a segment, relative to its '
            'length, above which a warning is reported',
        ),
        (
            {'turn_rate_limit': -0.3},
            'turn_rate_limit = -0.3 must be > 0.0: turn rate, relative to the first natural '
            'frequency of a link, above which a model without shortening reports a warning',
        ),
    ],
)
def test_a_useless_value_is_refused(values, message):
    with pytest.raises(SettingError) as caught:
        SimulationSettings(**values)
    assert str(caught.value) == message


def test_numbers_of_numpy_are_numbers():
    settings = SimulationSettings(time_step=np.float32(0.5), iterations=np.int64(3))
    assert (settings.time_step, settings.iterations) == (0.5, 3)


@pytest.mark.parametrize('scheme', SCHEMES)
def test_every_scheme_can_be_chosen(scheme):
    assert SimulationSettings(scheme=scheme).scheme == scheme


def test_settings_do_not_change():
    with pytest.raises(FrozenInstanceError):
        SimulationSettings().time_step = 1.0


@pytest.mark.parametrize(
    'kind, values, message',
    [
        (
            ControllerSettings,
            {'position_gain': 3.0},
            'position_gain = 3.0 must be a list: position gains; empty: gains for bandwidth [N '
            'm/rad, N/m]',
        ),
        (
            ControllerSettings,
            {'position_gain': (3.0, -1.0)},
            'position_gain[1] = -1.0 must be >= 0.0: position gains; empty: gains for bandwidth '
            '[N m/rad, N/m]',
        ),
        (
            ControllerSettings,
            {'effort_limits': (0.0,)},
            'effort_limits[0] = 0.0 must be > 0.0: largest effort of each motor; empty: <limit '
            'effort> of the description, where 0 means no limit [N m, N]',
        ),
        (
            ControllerSettings,
            {'feedback': 'tool'},
            "feedback = 'tool' must be one of motor, link: controlled side of a flexible joint",
        ),
        (
            ControllerSettings,
            {'state_timeout': float('inf')},
            'state_timeout = inf must be finite: age of the newest joint state above which '
            'efforts are zero [s]',
        ),
        (
            ProfileSettings,
            {'profile_poses': (0.1, 'up')},
            "profile_poses[1] = 'up' must be a number: poses of swing, all joints of the first "
            'pose, then of the second, and so on [rad, '
            'm]',
        ),
        (
            ProfileSettings,
            {'profile_duration': 0.0},
            'profile_duration = 0.0 must be > 0.0: duration of a minimum_jerk or bang_bang '
            'motion, or of each swing [s]',
        ),
    ],
)
def test_a_useless_value_of_the_controller_is_refused(kind, values, message):
    with pytest.raises(SettingError) as caught:
        kind(**values)
    assert str(caught.value) == message


def test_settings_that_share_a_node_have_names_of_their_own():
    names = [
        item.name
        for kind in (SimulationSettings, ControllerSettings, ProfileSettings)
        for item in fields(kind)
    ]
    assert len(set(names)) == len(names)
