"""Runs of a user function: its argument, and validation of its result."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError, shortened


class Case(NamedTuple):
    """
    Argument of a user function: one run of a sweep.

    Example::

        def payload_frequency(case):
            loaded = frs.with_payload(case.arm, 'tool', case.rng.uniform(0.0, 0.05))
            return {'frequency': frs.frequencies(loaded, [0.0])[0]}
    """

    run: int  # from 0
    arm: ArmModel  # with the numbers of the run
    values: Mapping[str, float]  # varied numbers, by name
    rng: np.random.Generator  # of this run, independent of the executor


Figures = Mapping[str, Any]  # results of a run: numbers by name
Run = Callable[[Case], Figures]


class RunResult(NamedTuple):
    """A finished run."""

    run: int
    figures: Figures  # with `note`: '' or remarks


def run_function(run: Run, case: Case) -> RunResult:
    """Call a user function for a run; an error becomes the note of this run."""
    reserved_names = {'run', *case.values}
    try:
        return RunResult(case.run, {'note': '', **_checked(run(case), reserved_names)})
    except FlexRobotSimError as error:
        return RunResult(case.run, {'note': str(error)})
    except (Exception, SystemExit) as error:  # user code may raise anything
        return RunResult(case.run, {'note': _error_line(error)})


def _checked(figures, reserved_names):
    """Figures as numbers and text, with unique names."""
    try:
        out = {
            name: value.encode('utf-8', 'backslashreplace').decode()
            if isinstance(value, str)
            else float(value)
            for name, value in figures.items()
        }
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise SettingError(
            f'run returned {figures!r:.200}: it must be a dict from names to numbers or text'
        ) from error
    for name in out:
        if not isinstance(name, str) or name in reserved_names:
            raise SettingError(
                f'run returned a figure with the name {name!r}. Give it a text '
                'that is not "run" and not what varies'
            )
    return out


def _error_line(error):
    """One line about an error: message, function and line."""
    frame = error.__traceback__.tb_next
    place = frame and f' ({frame.tb_frame.f_code.co_name}, line {frame.tb_lineno})'
    return shortened(''.join(traceback.format_exception_only(error)).strip()) + (place or '')
