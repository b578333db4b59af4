"""Invalid settings cause a one-line error with name, bound, meaning and unit."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from refusals import refusal

from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SCHEMES, SimulationSettings

SCHEME = f'one of {", ".join(SCHEMES)}'


@pytest.mark.parametrize(
    'kind, name, value, problem',
    [
        (SimulationSettings, 'time_step', 0.0, 'time_step = 0.0 must be > 0.0'),
        (SimulationSettings, 'time_step', -1e-3, 'time_step = -0.001 must be > 0.0'),
        (SimulationSettings, 'time_step', float('nan'), 'time_step = nan must be finite'),
        (SimulationSettings, 'time_step', float('inf'), 'time_step = inf must be finite'),
        (SimulationSettings, 'time_step', '1e-3', "time_step = '1e-3' must be a number"),
        (SimulationSettings, 'time_step', None, 'time_step = None must be a number'),
        (SimulationSettings, 'time_step', True, 'time_step = True must be a number'),
        (SimulationSettings, 'iterations', 0, 'iterations = 0 must be >= 1'),
        (SimulationSettings, 'iterations', 1.5, 'iterations = 1.5 must be a whole number'),
        (
            SimulationSettings,
            'iterations',
            float('nan'),
            'iterations = nan must be a whole number',
        ),
        (SimulationSettings, 'scheme', 'rk5', f"scheme = 'rk5' must be {SCHEME}"),
        (SimulationSettings, 'scheme', 4, f'scheme = 4 must be {SCHEME}'),
        (SimulationSettings, 'deflection_limit', 0, 'deflection_limit = 0 must be > 0.0'),
        (SimulationSettings, 'turn_rate_limit', -0.3, 'turn_rate_limit = -0.3 must be > 0.0'),
        (ControllerSettings, 'position_gain', 3.0, 'position_gain = 3.0 must be a list'),
        (ControllerSettings, 'position_gain', (3, -1.0), 'position_gain[1] = -1.0 must be >= 0.0'),
        (ControllerSettings, 'effort_limits', (0.0,), 'effort_limits[0] = 0.0 must be > 0.0'),
        (ControllerSettings, 'feedback', 'tool', "feedback = 'tool' must be one of motor, link"),
        (ControllerSettings, 'state_timeout', float('inf'), 'state_timeout = inf must be finite'),
        (ProfileSettings, 'profile_poses', (0, 'up'), "profile_poses[1] = 'up' must be a number"),
        (ProfileSettings, 'profile_duration', 0.0, 'profile_duration = 0.0 must be > 0.0'),
    ],
)
def test_a_useless_value_is_refused_and_its_meaning_and_unit_are_named(kind, name, value, problem):
    about = next(item.metadata for item in fields(kind) if item.name == name)
    unit = f' [{about["unit"]}]' if about['unit'] else ''
    assert refusal(SettingError, kind, **{name: value}) == f'{problem}: {about["help"]}{unit}'


def test_numbers_of_numpy_are_numbers():
    settings = SimulationSettings(time_step=np.float32(0.5), iterations=np.int64(3))
    assert (settings.time_step, settings.iterations) == (0.5, 3)


@pytest.mark.parametrize('scheme', SCHEMES)
def test_every_scheme_can_be_chosen(scheme):
    assert SimulationSettings(scheme=scheme).scheme == scheme


def test_settings_do_not_change():
    with pytest.raises(FrozenInstanceError):
        SimulationSettings().__setattr__('time_step', 1.0)


def test_settings_that_share_a_node_have_names_of_their_own():
    names = [
        item.name
        for kind in (SimulationSettings, ControllerSettings, ProfileSettings)
        for item in fields(kind)
    ]
    assert len(set(names)) == len(names)
