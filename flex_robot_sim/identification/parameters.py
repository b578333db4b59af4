"""Unknowns of a fit: parameters of the robot and of its sensors, and the default selection."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.robot_parameters import chosen, parameters_of
from flex_robot_sim.identification.imu import UNITS, imu_channel
from flex_robot_sim.identification.sequences import DataSet, moving_imus
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import UsageError

GROUPS = ('stiffness', 'damping', 'friction', 'hysteresis', 'mass', 'sensors')
# of parameters that start at zero
GROUP_SCALES = {'friction': 1.0, 'damping': 0.01, 'hysteresis': 0.01, 'mass': 0.1}
# of the robot
FITTED_GROUPS = ('stiffness', 'damping', 'friction', 'hysteresis', 'mass', 'geometry')
DELAY_SCALE_S = 1e-3
MAX_DELAY_S = 0.1
MIN_OFFSET_SCALE = 1e-6  # scale of the offset of a gauge with a constant signal     [1/m]
FRICTION_SCALE_RATIO = 0.02  # scale of friction, relative to the largest effort


class Unknown(NamedTuple):
    """An unknown parameter: `start exp(z)`, or `start + scale z`."""

    path: str
    unit: str
    start: float
    lower: float
    upper: float
    scale: float  # 0: relative
    kind: str  # a group of the description; 'delay', 'gain' or 'offset'
    channel: int = -1  # channel of a gain or an offset

    def value(self, z: float) -> float:
        """Return the parameter value of a normalized value z."""
        return self.start * float(np.exp(z)) if self.scale == 0.0 else self.start + self.scale * z

    def slope(self, z: float) -> float:
        """Return the derivative of the parameter value by z."""
        return self.value(z) if self.scale == 0.0 else self.scale

    def normalized(self, value: float) -> float:
        """Return the z of a parameter value, limited to the bounds."""
        value = min(max(value, self.lower), self.upper)
        if self.scale == 0.0:
            return float(np.log(value / self.start))
        return (value - self.start) / self.scale

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of z."""
        if self.scale == 0.0:
            return float(np.log(self.lower / self.start)), float(np.log(self.upper / self.start))
        return (self.lower - self.start) / self.scale, (self.upper - self.start) / self.scale


def is_gauge(channel: str) -> bool:
    """Whether a channel is a flex sensor or an IMU; its zero and gain may be unknown."""
    return not channel.startswith(('position/', 'motor/', 'tip/'))


def unknowns_of(arm: ArmModel, data: DataSet, words: Iterable[str] = ()) -> list[Unknown]:
    """
    Return the unknowns of a fit.

    :param words: paths, patterns of them, or GROUPS; none: those that logs usually determine.
    """
    candidates = _all_unknowns(arm, data)
    words = [*words]
    if not words:
        words = _default_groups(data)
    paths: dict[str, None] = {}
    for word in words:
        if word in GROUPS:
            paths.update(dict.fromkeys(_paths_of_group(word, arm, data, candidates)))
        else:
            _refuse_unfitted(word, arm, candidates)
            paths.update(dict.fromkeys(chosen(candidates, [word])))
    for path in paths:
        _refuse_unidentifiable(path, candidates[path], data)
    # gauge offsets are always unknown, and linear, so fitting them is cheap
    selected = [candidates[path] for path in paths]
    zeros = [
        unknown
        for unknown in candidates.values()
        if unknown.kind == 'offset' and unknown.path not in paths
    ]
    return selected + zeros


def _all_unknowns(arm, data):
    unknowns = {}
    effort = np.max([np.abs(sequence.efforts).max(axis=0) for sequence in data.sequences], axis=0)
    for path, parameter in parameters_of(arm.description).items():
        if not _can_be_fitted(parameter):
            continue
        scale = 0.0
        if not parameter.is_relative:
            scale = GROUP_SCALES.get(parameter.group, 1.0)
            if parameter.group == 'friction' and path.rpartition('.')[0] in arm.joint_names:
                scale = FRICTION_SCALE_RATIO * max(
                    effort[arm.joint_names.index(path.rpartition('.')[0])], 1e-3
                )
        unknowns[path] = Unknown(
            path, parameter.unit, parameter.value, *parameter.search_range, scale, parameter.group
        )
    unknowns['delay'] = Unknown(
        'delay', 's', 0.0, -MAX_DELAY_S, MAX_DELAY_S, DELAY_SCALE_S, 'delay'
    )
    for k, name in enumerate(data.channels):
        if is_gauge(name):
            spread = float(
                np.std(np.concatenate([sequence.measured[:, k] for sequence in data.sequences]))
            )
            spread = spread or MIN_OFFSET_SCALE
            unknowns[f'{name}.gain'] = Unknown(
                f'{name}.gain', '', 1.0, 0.01, 100.0, 0.0, 'gain', k
            )
            imu = imu_channel(name)
            unknowns[f'{name}.offset'] = Unknown(
                f'{name}.offset',
                UNITS[imu.kind] if imu else '1/m',
                0.0,
                -np.inf,
                np.inf,
                spread,
                'offset',
                k,
            )
    return unknowns


def _can_be_fitted(parameter):
    """Whether a fit can estimate a Parameter of the robot, and the robot has such a part."""
    has_part = parameter.value > 0.0 or parameter.path.rpartition('.')[2] not in (
        'spring_stiffness',
        'rotor_inertia',
    )
    return parameter.group in FITTED_GROUPS and has_part


def _default_groups(data):
    groups = ['stiffness', 'damping', 'delay']
    if data.has_efforts:
        groups.append('friction')
    return groups


def _paths_of_group(group, arm, data, candidates):
    """Paths of the unknowns of one group."""
    description = arm.description
    if group == 'sensors':  # an IMU axis without motion does not determine its gain
        excited = {
            k for sequence in data.sequences for k in moving_imus(sequence.measured, data.channels)
        }
        return [
            path
            for path, unknown in candidates.items()
            if unknown.kind == 'delay'
            or unknown.kind == 'gain'
            and (unknown.channel in excited or not imu_channel(data.channels[unknown.channel]))
        ]
    paths = []
    for path, unknown in candidates.items():
        name, _, quantity = path.rpartition('.')
        if unknown.kind != group or quantity in ('rotor_inertia', 'length'):
            continue
        link = next((link for link in description.links if link.name == name and link.beam), None)
        if link is not None and group == 'stiffness':
            # a section of one material has one stiffness factor
            has_single_factor = link.beam.size is not None
            if (
                quantity in ('EIy', 'EIz', 'EA')
                and has_single_factor
                or (quantity == 'stiffness' and not has_single_factor)
            ):
                continue
        if (
            link is None
            and group in ('damping', 'hysteresis', 'stiffness')
            and not data.has_efforts
            and (quantity != 'spring_stiffness')
        ):
            continue
        if group == 'mass':
            last = description.links[-1].name
            if name != _last_link_with_mass(description, last):
                continue
        paths.append(path)
    return paths


def _last_link_with_mass(description, last):
    """Return the name of the last link with a mass."""
    return next(
        (
            link.name
            for link in reversed(description.links)
            if link.inertial is not None and link.inertial.mass > 0
        ),
        last,
    )


def _refuse_unidentifiable(path, unknown, data):
    """Refuse parameters that cancel out of every fit with prescribed motion."""
    name, _, quantity = path.rpartition('.')
    if not data.has_efforts and (unknown.kind == 'friction' or quantity == 'presliding'):
        raise UsageError(
            f'"{path}" drops out where the measured motion drives the arm. Log '
            f'effort/{name}, or leave it out.'
        )


def _refuse_unfitted(path, arm, candidates):
    """Refuse a parameter of the robot that no fit estimates."""
    if path not in candidates and path in parameters_of(arm.description):
        raise UsageError(
            f'"{path}" is not fitted: a fit estimates stiffness, damping, friction, '
            'mass and length. Leave it out, or correct it in the description.'
        )


def refuse_twice(unknowns: Iterable[Unknown]) -> None:
    """Refuse two names of one parameter."""
    paths = {unknown.path for unknown in unknowns}
    for path in paths:
        name, _, quantity = path.rpartition('.')
        if quantity == 'stiffness' and {f'{name}.EIy', f'{name}.EIz', f'{name}.EA'} & paths:
            conflicting = min({f'{name}.EIy', f'{name}.EIz', f'{name}.EA'} & paths)
            raise UsageError(f'"{path}" and "{conflicting}" say the same. Free one of them.')
