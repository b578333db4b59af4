"""
Robot arms whose links bend and twist, and whose joints give, from one URDF.

    import flex_robot_sim as frs
    arm = frs.load('two_link')
    sim = frs.Simulation(arm)
    sim.advance_to(2.0)
"""

from importlib import import_module

from flex_robot_sim.exceptions import (
    DescriptionError,
    FlexRobotSimError,
    SettingError,
    SimulationError,
)

__version__ = '0.1.0'

# what needs SciPy or the compiled part is imported when it is asked for: that takes a second
_LATER = {
    'ArmModel': 'model', 'Push': 'loads', 'RobotDescription': 'description',
    'Simulation': 'simulation', 'SimulationSettings': 'settings', 'convert_rate': 'twists',
    'convert_twist': 'twists', 'convert_wrench': 'twists', 'equilibrium': 'statics',
    'frequencies': 'linear', 'jacobian': 'jacobians', 'linearise': 'linear', 'load': 'assembly',
    'modes': 'linear', 'pose': 'jacobians', 'read_description': 'description',
    'twist': 'jacobians', 'twist_rate': 'jacobians'}

__all__ = ['DescriptionError', 'FlexRobotSimError', 'SettingError', 'SimulationError', *_LATER]


def __getattr__(name):
    if name in _LATER:
        return getattr(import_module(f'{__name__}.{_LATER[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__():
    return sorted([*globals(), *_LATER])
