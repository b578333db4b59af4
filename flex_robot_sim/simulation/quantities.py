"""
Quantities of a log: what a Simulation or a Batch returns under a name, with units and labels.

A name is that of a property or of a query without arguments, or `query:link`, such as `pose:tool`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError, shortened

Quantity = Callable[[Any], Any]  # function of a Simulation or a Batch

DEFAULT_QUANTITIES = ('q', 'v', 'applied_effort')
UNITS = {
    'q': 'rad, m',
    'v': 'rad/s, m/s',
    'position': 'rad, m',
    'velocity': 'rad/s, m/s',
    'motor_position': 'rad, m',
    'motor_velocity': 'rad/s, m/s',
    'effort': 'N m, N',
    'applied_effort': 'N m, N',
    'mean_effort': 'N m, N',
    'motor_current': 'A',
    'motor_heat': 'J',
    'electrical_energy': 'J',
    'deflection': 'm, rad',
    'curvature': '1/m',
    'base_pose': 'm, -',
    'base_twist': 'rad/s, m/s',
    'momentum': 'N m s, N s',
    'centre_of_mass': 'm',
    'energy': 'J',
    'pose': 'm',
    'twist': 'rad/s, m/s',
    'twist_rate': 'rad/s2, m/s2',
    'wrench': 'N m, N',
    'contact': 'N',
}
BY_NAME = ('pose', 'twist', 'twist_rate', 'wrench', 'contact')  # queries by a name
NEEDS_NAME = {'wrench': ('a joint', 'elbow'), 'contact': ('a contact', 'tool')}
AXES = ('x', 'y', 'z')
COMPONENTS = {  # names along the last axes of a quantity
    'deflection': (*(f'tip_{axis}' for axis in AXES), *(f'tip_turn_{axis}' for axis in AXES)),
    'twist': (*(f'angular_{axis}' for axis in AXES), *(f'linear_{axis}' for axis in AXES)),
    'wrench': (*(f'moment_{axis}' for axis in AXES), *(f'force_{axis}' for axis in AXES)),
    'contact': AXES,
}
COMPONENTS['twist_rate'] = COMPONENTS['twist']
OF_WHOLE_ARM = {
    'base_pose': (*AXES, *(f'quaternion_{axis}' for axis in (*AXES, 'w'))),
    'base_twist': COMPONENTS['twist'],
    'momentum': COMPONENTS['twist'],
    'centre_of_mass': AXES,
}


def quantities_of(record: Any) -> dict[str, Quantity]:
    """
    Return functions of a Simulation or a Batch by name; SettingError for an unusable record.

    :param record: names, functions, mappings from names to either, or several of them.
    """
    if isinstance(record, str) or callable(record) or isinstance(record, Mapping):
        record = [record]
    if not isinstance(record, Iterable):
        raise _unusable(record)
    found: dict[str, Quantity] = {}
    for item in record:
        pairs = item.items() if isinstance(item, Mapping) else [(_name_of(item), item)]
        found.update({name: _quantity(value) for name, value in pairs})
    if not found:
        raise _unusable(record)
    return found


def unit_of(name: str) -> str:
    """Unit of a quantity, '' if unknown."""
    return UNITS.get(name.partition(':')[0], '')


def labels_of(arm: ArmModel, name: str, shape: tuple[int, ...], part: str = '') -> list[str]:
    """
    Names of the elements of a sample, such as 'elbow/position', as in a LinearModel.

    :param shape: of a sample of one arm; part: name of the link or sensor in a sample by name.
    """
    kind, _, link = name.partition(':')
    if not shape:
        return [part if kind == 'curvature' else f'{name}/{part}' if part else name]
    if kind in ('q', 'v'):
        return [f'{coordinate}/{kind}' for coordinate in arm.coordinate_names]
    if kind in ('motor_position', 'motor_velocity'):
        return [f'{joint}/{kind.replace("_", "/")}' for joint in arm.joint_names]
    if kind in OF_WHOLE_ARM:
        return [f'{kind}/{one}' for one in OF_WHOLE_ARM[kind]]
    if kind in UNITS and shape == (len(arm.joint_names),) and kind not in COMPONENTS:
        return [f'{joint}/{kind}' for joint in arm.joint_names]
    if kind in COMPONENTS:
        separator = '/' if kind == 'deflection' else f'/{kind}_'
        return [f'{part or link or arm.tool}{separator}{one}' for one in COMPONENTS[kind]]
    prefix = '/'.join(word for word in (name, part) if word)
    return [f'{prefix}/{",".join(map(str, index))}' for index in np.ndindex(*shape)]


def _name_of(item):
    if isinstance(item, str):
        return item
    name = getattr(item, '__name__', None)
    if not callable(item):
        raise _unusable(item)
    if name is None or name == '<lambda>':
        raise SettingError(
            'record has a function without a name: give it one, as in record='
            "{'tip': lambda simulation: ...}"
        )
    return name


def _quantity(item):
    """Return the function of a name or a function."""
    if callable(item):
        return item
    if not isinstance(item, str) or item.partition(':')[0] not in UNITS:
        raise _unusable(item)
    query, _, name = item.partition(':')
    if name and query not in BY_NAME:
        raise SettingError(f'record = "{item}": only {", ".join(BY_NAME)} take a name')
    if query in NEEDS_NAME and not name:
        what, example = NEEDS_NAME[query]
        raise SettingError(f'record = "{query}" needs {what}, as in "{query}:{example}"')

    def value(simulation):
        if not hasattr(simulation, query):
            raise SettingError(f'a {type(simulation).__name__} has no {query} to record')
        found = getattr(simulation, query)
        found = found(*([name] if name else [])) if callable(found) else found
        return found.force if query == 'contact' else found

    return value


def _unusable(item):
    names = (f'{name}:NAME' if name in BY_NAME else name for name in UNITS)
    return SettingError(
        f'record = {shortened(repr(item), 60)} is no quantity. Known: '
        f'{", ".join(names)}, and functions of the simulation'
    )
