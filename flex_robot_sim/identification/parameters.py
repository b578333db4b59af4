"""Unknowns of a fit: parameters of the robot and of its sensors, and the default selection."""

from collections.abc import Iterable

import numpy as np

from flex_robot_sim.description.quantities import GROUPS as QUANTITY_GROUPS
from flex_robot_sim.description.quantities import HARMONICS
from flex_robot_sim.description.robot_parameters import chosen, parameters_of
from flex_robot_sim.identification.bench_parameters import (
    bench_unknowns,
    is_strain,
    tilts_with_effect,
)
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.sequences import DataSet, moving_imus
from flex_robot_sim.identification.unknown import Unknown
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import UsageError

# of the bench, with the kinds of their unknowns
BENCH_GROUPS = {
    'gains': 'gain',
    'crosstalk': 'crosstalk',
    'rate_sign': 'rate_sign',
    'gravity': 'gravity',
    'cable': 'cable',
    'torque_constants': 'torque_constant',
}
FITTED_GROUPS = QUANTITY_GROUPS[: QUANTITY_GROUPS.index('geometry') + 1]  # of the robot
GROUPS = (*FITTED_GROUPS[:-1], 'sensors', *BENCH_GROUPS)
DRIVE_QUANTITIES = 'cable_torque', 'cable_stiffness', 'torque_constant'
DRIVE_GROUPS = 'cable', 'torque_constants'  # that need efforts
# of parameters that start at zero
GROUP_SCALES = {
    'friction': 1.0,
    'damping': 0.01,
    'hysteresis': 0.01,
    'backlash': 1e-3,
    'kinematic_error': 1e-4,
    'cogging': 0.01,
    'torque_ripple': 0.01,
    'creep': 0.01,
    'mass': 0.1,
}
QUANTITY_SCALES = {f'{name}_phase': 1.0 for name in HARMONICS}  # before those of their groups
NEEDS_EFFORTS = 'friction', 'creep', 'cogging', 'torque_ripple'
FRICTION_SCALE_RATIO = 0.02  # scale of friction, relative to the largest effort


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
            scale = QUANTITY_SCALES.get(path.rpartition('.')[2], scale)
            if parameter.group == 'friction' and path.rpartition('.')[0] in arm.joint_names:
                scale = FRICTION_SCALE_RATIO * max(
                    effort[arm.joint_names.index(path.rpartition('.')[0])], 1e-3
                )
        unknowns[path] = Unknown(
            path, parameter.unit, parameter.value, *parameter.search_range, scale, parameter.group
        )
    unknowns.update({unknown.path: unknown for unknown in bench_unknowns(arm, data)})
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
    if any(is_strain(name) for name in data.channels):
        groups.append('gains')
    return groups


def _paths_of_group(group, arm, data, candidates):
    """Paths of the unknowns of one group."""
    description = arm.description
    if group in BENCH_GROUPS:
        return _paths_of_bench_group(group, arm, data, candidates)
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
            # a section of one material has one stiffness factor; a spatial beam and a reduced link
            # have no other one
            separate = {f'{name}.{one}' for one in ('EIy', 'EIz', 'EA')}
            has_single_factor = link.beam.size is not None or separate.isdisjoint(candidates)
            if (
                has_single_factor
                and path in separate
                or (quantity == 'stiffness' and not has_single_factor)
            ):
                continue
        if (
            link is None
            and group in ('damping', 'hysteresis', 'creep', 'stiffness')
            and not data.has_efforts
            and (quantity != 'spring_stiffness')
        ):
            continue
        other = {'presliding': 'creep_rate', 'creep_rate': 'presliding'}.get(quantity)
        if other and getattr(description.joint(name).friction, other) > 0.0:
            continue  # they exclude each other
        if group == 'mass':
            last = description.links[-1].name
            if name != _last_link_with_mass(description, last):
                continue
        paths.append(path)
    return paths


def _paths_of_bench_group(group, arm, data, candidates):
    """Paths of the unknowns of one of BENCH_GROUPS; UsageError if there are none."""
    paths = [path for path, unknown in candidates.items() if unknown.kind == BENCH_GROUPS[group]]
    if group == 'gains':
        paths = [path for path in paths if is_strain(data.channels[candidates[path].channel])]
    elif group == 'gravity':
        paths = [path for path in paths if path in tilts_with_effect(arm)]
    if not paths:
        reasons = dict.fromkeys(DRIVE_GROUPS, 'the fit needs logged efforts: log effort/JOINT')
        reasons['gravity'] = 'there is no gravity: give --gravity'
        reason = reasons.get(group, 'the logs have no such gauges: log LINK/SENSOR')
        raise UsageError(f'--free {group}: {reason}, or leave it out.')
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
    if not data.has_efforts and (unknown.kind in NEEDS_EFFORTS or quantity == 'presliding'):
        raise UsageError(
            f'"{path}" drops out where the measured motion drives the arm. Log '
            f'effort/{name}, or leave it out.'
        )


def _refuse_unfitted(path, arm, candidates):
    """Refuse a parameter that no fit estimates, or none of these logs."""
    name, _, quantity = path.rpartition('.')
    if path not in candidates and quantity in DRIVE_QUANTITIES and name in arm.joint_names:
        raise UsageError(
            f'"{path}" drops out where the measured motion drives the arm. Log '
            f'effort/{name}, or leave it out.'
        )
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
