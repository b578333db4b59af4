"""Identification of the parameters of an arm from its logs, in one call."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.identification.identification import Identification
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import Log, read_log
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.arguments import expect_arm, expect_kind, refuse_moved_base, truth
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import SettingError, shortened

Logs = Log | str | Path | Sequence[Log | str | Path]


def identify_parameters(
    arm: ArmModel,
    logs: Logs,
    *,
    free: Iterable[str] = (),
    validation: Logs = (),
    by_motion: bool = False,
    time_step: float | None = None,
) -> Identification:
    """
    Fit parameters of an arm to logs of its motion, with confidence intervals and a validation.

    It takes seconds to minutes.

    :param arm: ArmModel as described; its gravity and coupling apply.
    :param logs: Log of `make_log` or `read_log`, path of a file, or several.
    :param free: paths of parameters, patterns or groups, such as 'forearm.EIz', '*.mass' or
        'stiffness'; none: those that logs usually determine.
    :param validation: other logs; none: the last quarter of each log.
    :param by_motion: whether the measured motion of the drives is prescribed, and efforts ignored.
    :param time_step: of the simulation, at most [s]; None: as short as the logs require.

    Example::

        arm, times = frs.load('single_link'), np.arange(0.0, 2.0, 0.01)
        log = frs.identification.make_log(times, {'position/motor': np.sin(times)})
        # found = frs.identification.identify_parameters(arm, log, free=['arm.EIz'])
        # found.values, found.estimates[0].interval, found.is_good
    """
    expect_arm(arm, closed_loops=True)
    refuse_moved_base(arm)
    by_motion = truth('by_motion', by_motion)
    expect_kind('free', free, Iterable, 'a list of paths, such as ["forearm.EIz"]')
    paths = [free] if isinstance(free, str) else [*free]
    fitted, checked = logs_of('logs', logs), logs_of('validation', validation)
    if not fitted:
        raise SettingError('logs = [] must have one log at least')
    data = make_data_set(fitted, arm, by_motion)
    other = make_data_set(checked, arm, not data.has_efforts, data) if checked else None
    if other is not None and other.channels != data.channels:
        raise SettingError(
            f'{checked[0].path}: has other signals than {fitted[0].path}: '
            f'{", ".join(other.channels)}. Record the same'
        )
    gravity = tuple(np.negative(arm.arrays.base_acceleration[3:]).tolist())
    described = build_arm(arm.description, arm.coupling, gravity)
    if not np.array_equal(described.arrays.inertia, arm.arrays.inertia):
        raise SettingError(
            'arm carries a payload that its description does not have: add it to '
            'the URDF as a link'
        )
    setup = Setup(arm.description, data, arm.coupling, gravity, time_step=time_step)
    return identify(setup, paths, other.sequences if other else ())


def logs_of(name: str, logs: Logs) -> list[Log]:
    """Return the Logs of one log or several, each a Log or a path, with a name of its own each."""
    try:
        items: list[Any] = [logs] if isinstance(logs, (Log, str, os.PathLike)) else [*logs]
    except TypeError:
        items = [None]
    for item in items:
        if not isinstance(item, (Log, str, os.PathLike)):
            raise SettingError(
                f'{name} = {shortened(repr(logs), 60)} must be logs: paths of '
                'files, or make_log(times, signals)'
            )
    found = [item if isinstance(item, Log) else read_log(item) for item in items]
    seen = Counter[str]()
    for k, log in enumerate(found):
        seen[log.path] += 1
        if seen[log.path] > 1:
            found[k] = log._replace(path=f'{log.path} ({seen[log.path]})')
    return found
