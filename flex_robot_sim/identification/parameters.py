"""What a fit looks for: numbers of the robot and of its sensors; and which, if nobody says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.parameters import (
    chosen,
    parameters_of,
)
from flex_robot_sim.identification.imu import UNITS, imu_channel
from flex_robot_sim.identification.sequences import Measured, lively_imus
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import UsageError

GROUPS = ('stiffness', 'damping', 'friction', 'mass', 'sensors')
DELAY_SCALE = 1e-3      # [s]
MOST_DELAY = 0.1        # [s]
LEAST_SCALE = 1e-6      # of the zero of a gauge that stands still                         [1/m]
FRICTION_SHARE = 0.02   # of the effort, that is a scale of friction


class Unknown(NamedTuple):
    """A number that is looked for: `start exp(z)`, or `start + scale z`."""

    path: str
    unit: str
    start: float
    lower: float
    upper: float
    scale: float            # 0: relative
    kind: str               # a group of the description; 'delay', 'gain' or 'offset'
    channel: int = -1       # that a gain or an offset belongs to

    def value(self, z: float) -> float:
        """Return the number that the fit means by z."""
        return self.start * float(np.exp(z)) if self.scale == 0.0 else self.start + self.scale * z

    def slope(self, z: float) -> float:
        """Change of the number with z."""
        return self.value(z) if self.scale == 0.0 else self.scale

    def place(self, value: float) -> float:
        """Return the z of a value within the bounds."""
        value = min(max(value, self.lower), self.upper)
        return float(np.log(value / self.start)) if self.scale == 0.0 else (
            (value - self.start) / self.scale)

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest z."""
        if self.scale == 0.0:
            return float(np.log(self.lower / self.start)), float(np.log(self.upper / self.start))
        return (self.lower - self.start) / self.scale, (self.upper - self.start) / self.scale


def is_gauge(channel: str) -> bool:
    """Whether a channel is a flex sensor or an IMU, whose zero and gain nobody may know."""
    return not channel.startswith(('position/', 'motor/', 'tip/'))


def unknowns_of(arm: ArmModel, data: Measured, words: Iterable[str] = ()) -> list[Unknown]:
    """
    Return what is to be fitted.

    :param words: paths, patterns of them, or GROUPS; none: what the logs may well tell.
    """
    known = _known(arm, data)
    words = [*words]
    if not words:
        words = _by_default(arm, data)
    paths: dict[str, None] = {}
    for word in words:
        if word in GROUPS:
            paths.update(dict.fromkeys(_group(word, arm, data, known)))
        else:
            paths.update(dict.fromkeys(chosen(known, [word])))
    for path in paths:
        _refuse_untold(path, known[path], data)
    # the zero of a gauge is never known, and costs nothing to find
    free = [known[path] for path in paths]
    zeros = [one for one in known.values() if one.kind == 'offset' and one.path not in paths]
    return free + zeros


def _known(arm, data):
    out = {}
    effort = np.max([np.abs(row.efforts).max(axis=0) for row in data.sequences], axis=0)
    for path, one in parameters_of(arm.description).items():
        scale = 0.0
        if not one.is_relative:
            scale = {'friction': 1.0, 'damping': 0.01, 'mass': 0.1}.get(one.group, 1.0)
            if one.group == 'friction' and path.rpartition('.')[0] in arm.joint_names:
                scale = FRICTION_SHARE * max(
                    effort[arm.joint_names.index(path.rpartition('.')[0])], 1e-3)
        out[path] = Unknown(path, one.unit, one.value, one.lower, one.upper, scale, one.group)
    out['delay'] = Unknown('delay', 's', 0.0, -MOST_DELAY, MOST_DELAY, DELAY_SCALE, 'delay')
    for k, name in enumerate(data.channels):
        if is_gauge(name):
            size = float(np.std(np.concatenate([row.measured[:, k] for row in data.sequences])))
            size = size or LEAST_SCALE
            out[f'{name}.gain'] = Unknown(f'{name}.gain', '', 1.0, 0.01, 100.0, 0.0, 'gain', k)
            imu = imu_channel(name)
            out[f'{name}.offset'] = Unknown(f'{name}.offset', UNITS[imu.kind] if imu else '1/m',
                                            0.0, -np.inf, np.inf, size, 'offset', k)
    return out


def _by_default(arm, data):
    words = ['stiffness', 'damping', 'delay']
    if data.has_efforts:
        words.append('friction')
    return words


def _group(word, arm, data, known):
    """Paths of a group that go together."""
    description = arm.description
    if word == 'sensors':       # an axis of an IMU across the motion tells nothing of its gain
        lively = {k for row in data.sequences for k in lively_imus(row.measured, data.channels)}
        return [path for path, one in known.items() if one.kind == 'delay' or one.kind == 'gain'
                and (one.channel in lively or not imu_channel(data.channels[one.channel]))]
    out = []
    for path, one in known.items():
        name, _, what = path.rpartition('.')
        if one.kind != word or what in ('rotor_inertia', 'length'):
            continue
        link = next((link for link in description.links if link.name == name and link.beam), None)
        if link is not None and word == 'stiffness':
            # a section of one material has one factor
            whole = link.beam.size is not None
            if what in ('EIy', 'EIz', 'EA') and whole or what == 'stiffness' and not whole:
                continue
        if link is None and word in ('damping', 'stiffness') and not data.has_efforts and (
                what != 'spring_stiffness'):
            continue
        if word == 'mass':
            last = description.links[-1].name
            if name != _carried(description, last):
                continue
        out.append(path)
    return out


def _carried(description, last):
    """The last link with a mass."""
    return next((link.name for link in reversed(description.links)
                 if link.inertial is not None and link.inertial.mass > 0), last)


def _refuse_untold(path, one, data):
    """Refuse what drops out of a fit by motion, for whatever log."""
    name, _, word = path.rpartition('.')
    if not data.has_efforts and one.kind == 'friction':
        raise UsageError(f'"{path}" drops out where the measured motion drives the arm. Log '
                         f'effort/{name}, or leave it out.')


def refuse_twice(unknowns: Iterable[Unknown]) -> None:
    """Refuse two names for one number."""
    paths = {one.path for one in unknowns}
    for path in paths:
        name, _, word = path.rpartition('.')
        if word == 'stiffness' and {f'{name}.EIy', f'{name}.EIz', f'{name}.EA'} & paths:
            both = sorted({f'{name}.EIy', f'{name}.EIz', f'{name}.EA'} & paths)[0]
            raise UsageError(f'"{path}" and "{both}" say the same. Free one of them.')
