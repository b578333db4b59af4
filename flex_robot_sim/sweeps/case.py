"""A run by somebody's own function: what it gets, and what becomes of what it returns."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError, bearable


class Case(NamedTuple):
    """One run, for whoever brings a function of their own."""

    run: int                        # from 0
    arm: ArmModel                   # with the numbers of the run
    values: Mapping[str, float]     # all that vary, by name
    rng: np.random.Generator        # of this run, the same whatever runs it


Figures = Mapping[str, Any]         # what a run came to: numbers by name
Run = Callable[[Case], Figures]


class Done(NamedTuple):
    """A run that was made."""

    run: int
    figures: Figures                # with `note`: '' or lines about it


def own_run(run: Run, case: Case) -> Done:
    """Make a run of a function; what goes wrong in it is the note of this run alone."""
    taken = {'run', *case.values}
    try:
        return Done(case.run, {'note': '', **_checked(run(case), taken)})
    except FlexRobotSimError as error:
        return Done(case.run, {'note': str(error)})
    except (Exception, SystemExit) as error:        # somebody's code may raise anything
        return Done(case.run, {'note': _told(error)})


def _checked(figures, taken):
    """Figures as numbers and text, under names that nothing else has."""
    try:
        out = {name: value.encode('utf-8', 'backslashreplace').decode()
               if isinstance(value, str) else float(value) for name, value in figures.items()}
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise SettingError(f'run returned {figures!r:.200}: it must be a dict from names to '
                           'numbers or text') from error
    for name in out:
        if not isinstance(name, str) or name in taken:
            raise SettingError(f'run returned a figure with the name {name!r}. Give it a text '
                               'that is not "run" and not what varies')
    return out


def _told(error):
    """One line about an error: what it is, and where in the function it came up."""
    inside = error.__traceback__.tb_next
    place = inside and f' ({inside.tb_frame.f_code.co_name}, line {inside.tb_lineno})'
    return bearable(''.join(traceback.format_exception_only(error)).strip()) + (place or '')
