"""
Robot arms whose links bend and twist, and whose joints give, from one URDF.

    import flex_robot_sim as frs
    arm = frs.load('two_link')
    sim = frs.Simulation(arm)
    sim.advance_to(2.0)
"""

from importlib import import_module

from flex_robot_sim.description import RobotDescription, read_description
from flex_robot_sim.exceptions import (
    DescriptionError,
    FlexRobotSimError,
    SettingError,
    SimulationError,
)

__version__ = '0.1.0'

# what needs the compiled part is imported when it is asked for: that takes half a second
_COMPILED = {
    'ArmModel': 'model', 'Push': 'loads', 'Simulation': 'simulation',
    'SimulationSettings': 'settings', 'convert_rate': 'twists', 'convert_twist': 'twists',
    'convert_wrench': 'twists', 'equilibrium': 'statics', 'frequencies': 'linear',
    'jacobian': 'jacobians', 'linearise': 'linear', 'load': 'assembly', 'modes': 'linear',
    'pose': 'jacobians', 'twist': 'jacobians', 'twist_rate': 'jacobians'}

__all__ = ['DescriptionError', 'FlexRobotSimError', 'RobotDescription', 'SettingError',
           'SimulationError', 'read_description', *_COMPILED]


def __getattr__(name):
    if name in _COMPILED:
        return getattr(import_module(f'{__name__}.{_COMPILED[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__():
    return sorted([*globals(), *_COMPILED])
