"""Plan of a sweep, small enough to send to workers, and the execution of a part."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.robot_parameters import near, parameters_of, with_parameters
from flex_robot_sim.model.arguments import refuse_moved_base
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.start_pose import start_note
from flex_robot_sim.sweeps.case import Case, Figures, Run, RunResult, run_function
from flex_robot_sim.sweeps.design import generator_of_run, runs_of
from flex_robot_sim.sweeps.forms import Form, form_of
from flex_robot_sim.sweeps.identity import function_identity, robot_identity
from flex_robot_sim.sweeps.manoeuvre import (
    Manoeuvre,
    ManoeuvreController,
    controller_of,
    nominal_value,
    run_manoeuvres,
    words_of,
)
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError, UsageError, shortened
from flex_robot_sim.util.summary import summarized
from flex_robot_sim.version import __version__

Words = Mapping[str, 'str | float | Sequence[float]']
# key and nominal arm of the latest sweep; replaced atomically, for threads
_NOMINAL_ARM: list[tuple[str, ArmModel]] = []
# errors that affect a single run; all other runs continue
RUN_ERRORS = (FlexRobotSimError, np.linalg.LinAlgError, ArithmeticError)
COLUMNS = ('run', 'note')  # of every table
NO_MOTION_NOTE = (
    'no run goes anywhere, as "to" is where it starts: figures tell at most how a '
    'load sags. Give "to", or vary JOINT.to.'
)
ROUNDING = 1e-9  # rounding of a limit with few digits              [rad, m]
NON_NEGATIVE = ('within', 'payload', 'servo_stiffness', 'servo_damping')


@summarized
@dataclass(frozen=True)
class SweepPlan:
    """A sweep; it can be pickled if its function can be pickled."""

    description: RobotDescription
    coupling: str
    gravity: tuple[float, ...]
    names: tuple[str, ...]  # of the varied numbers
    is_parameter: tuple[bool, ...]  # whether they are numbers of the URDF
    values: np.ndarray  # (runs, names)
    seed: int
    run: Manoeuvre | Run
    controller: ManoeuvreController | None  # of a Manoeuvre
    key: str  # of the nominal robot, for caching
    identity: Mapping[str, Any] = field(repr=False)  # of the sweep, by name
    note: str = ''  # remarks about all runs

    def __len__(self) -> int:
        return len(self.values)

    def row(self, run: int) -> dict[str, float]:
        """Varied values of a run, by name."""
        return dict(zip(self.names, self.values[run].tolist()))

    def part(self, runs: Sequence[int]) -> SweepPlan:
        """Return the SweepPlan with the values of these runs only, for a worker."""
        return replace(self, values=self.values[list(runs)], identity={})


def make_plan(
    description: RobotDescription,
    vary: Words,
    scale: Words,
    run: Manoeuvre | Run,
    method: str,
    count: int | None,
    seed: int,
    coupling: str,
    gravity: Sequence[float] | None,
) -> SweepPlan:
    """Return the SweepPlan of a sweep; errors in any run are raised before the first run."""
    _refuse_wrong_kinds(vary, scale, run)
    gravity = description.gravity if gravity is None else gravity
    arm = build_arm(description, coupling, gravity)
    if isinstance(run, Manoeuvre):
        refuse_moved_base(arm)  # its runs are members of a Batch
    words = words_of(arm.description.actuated_joint_names) if isinstance(run, Manoeuvre) else []
    known = parameters_of(description)
    forms: dict[str, Form] = {}
    for name, form in [*vary.items(), *scale.items()]:
        if name in forms:
            raise UsageError(f'{name} varies twice. Vary it or scale it.')
        is_user_name = not isinstance(run, Manoeuvre) and '.' not in name and name not in COLUMNS
        if name not in known and name not in words and not is_user_name:
            raise UsageError(f'no parameter "{name}". {near(name, [*words, *known])}')
        forms[name] = form_of(name, form)
    controller = controller_of(arm, run) if isinstance(run, Manoeuvre) else None
    with np.errstate(over='ignore', invalid='ignore'):  # non-finite values are refused below
        values = runs_of([*forms.values()], [*forms], method, count, seed)
        for column, name in enumerate(forms):
            if name in scale:
                values[:, column] *= _nominal_value(name, arm, known, run, controller)
    _refuse_wrong_values(description, [*forms], known, values)
    if controller is not None:
        _refuse_beyond_stops(arm, controller.to, [*forms], values)
    identity = {
        'version': __version__,
        'robot': robot_identity(description),
        'coupling': coupling,
        'gravity': [float(g) for g in gravity],
        'method': method,
        'count': count and int(count),
        'seed': int(seed),
        'vary': {name: list(forms[name]) for name in vary},
        'scale': {name: list(forms[name]) for name in scale},
        'run': asdict(run) if isinstance(run, Manoeuvre) else function_identity(run),
    }
    return SweepPlan(
        description,
        coupling,
        tuple(map(float, gravity)),
        tuple(forms),
        tuple(name in known for name in forms),
        values,
        int(seed),
        run,
        controller,
        json.dumps([identity[name] for name in ('robot', 'coupling', 'gravity')]),
        json.loads(json.dumps(identity)),
        ' '.join(_notes(arm, run, controller, [*forms], values)),
    )


def _notes(arm, run, controller, names, values):
    """Yield remarks about all runs of a sweep."""
    if _has_no_motion(arm, run, controller, names, values):
        yield NO_MOTION_NOTE
    if isinstance(run, Manoeuvre) and not run.start and start_note(arm):
        yield f'{start_note(arm)}.'


def run_part(plan: SweepPlan, runs: Sequence[int]) -> tuple[list[RunResult], float]:
    """Execute runs, a row of plan.values each, in a worker; return them, and the time [s]."""
    start = time.perf_counter()
    builder = _Builder(plan)
    if not isinstance(plan.run, Manoeuvre):
        done = [_run_function(plan, builder, k, int(run)) for k, run in enumerate(runs)]
        return done, time.perf_counter() - start
    arms: list[ArmModel | str] = [builder.arm_or_error(k) for k in range(len(runs))]
    valid = [k for k, arm in enumerate(arms) if not isinstance(arm, str)]
    figures: dict[int, Figures] = {
        k: {'note': arm} for k, arm in enumerate(arms) if isinstance(arm, str)
    }
    try:
        figures.update(zip(valid, _manoeuvres(plan, builder.nominal, arms, valid)))
    except RUN_ERRORS:
        # one of them fails: run them one by one
        for k in valid:
            try:
                (figures[k],) = _manoeuvres(plan, builder.nominal, arms, [k])
            except RUN_ERRORS as error:
                figures[k] = {'note': _error_line(error)}
    return (
        [RunResult(int(run), figures[k]) for k, run in enumerate(runs)],
        time.perf_counter() - start,
    )


def _manoeuvres(plan, nominal, arms, rows):
    if not rows:
        return []
    return run_manoeuvres(
        nominal, [arms[k] for k in rows], plan.run, plan.controller, [plan.row(k) for k in rows]
    )


def _run_function(plan, builder, k, run):
    arm = builder.arm_or_error(k)
    if isinstance(arm, str):
        return RunResult(run, {'note': arm})
    return run_function(plan.run, Case(run, arm, plan.row(k), generator_of_run(plan.seed, run)))


def _error_line(error):
    """Line about one of RUN_ERRORS."""
    if isinstance(error, FlexRobotSimError):
        return str(error)
    return f'cannot be computed: {error.args[-1] if error.args else type(error).__name__}'


class _Builder:
    """Builds the arms of runs; equal ones are built once."""

    def __init__(self, plan):
        self._plan, self._key, self._last = plan, None, None
        self.nominal = next((arm for key, arm in [*_NOMINAL_ARM] if key == plan.key), None)
        if self.nominal is None:
            self.nominal = build_arm(plan.description, plan.coupling, plan.gravity)
            _NOMINAL_ARM[:] = [(plan.key, self.nominal)]

    def arm_or_error(self, k):
        plan = self._plan
        values = {
            name: value
            for name, value, is_parameter in zip(
                plan.names, plan.values[k].tolist(), plan.is_parameter
            )
            if is_parameter
        }
        if not values:
            return self.nominal
        key = tuple(values.values())
        if key != self._key:
            try:
                description = with_parameters(plan.description, values)
                self._last = build_arm(description, plan.coupling, plan.gravity)
            except RUN_ERRORS as error:
                self._last = _error_line(error)
            self._key = key
        return self._last


def _refuse_wrong_kinds(vary, scale, run):
    for argument, words in (('vary', vary), ('scale', scale)):
        if not isinstance(words, Mapping) or not all(isinstance(name, str) for name in words):
            raise SettingError(
                f'{argument} = {shortened(repr(words), 60)} must be a dict from names to values'
            )
    if not callable(run) and not isinstance(run, Manoeuvre):
        raise SettingError(
            f'run = {shortened(repr(run), 60)} must be a Manoeuvre, or a function of a Case'
        )


def _nominal_value(name, arm, known, run, controller):
    """Return the nominal value of a scaled number."""
    if name in known:
        value = known[name].value
    elif controller is not None:
        value = nominal_value(name, arm.joint_names, run, controller)
    else:
        raise UsageError(
            f'{name} is a word of your own function: nothing is described that a '
            'multiple could be of. Vary it by values.'
        )
    if not value:
        raise UsageError(
            f'{name} is 0 as described, and no multiple of it is anything else. Vary it by values.'
        )
    return value


def _refuse_beyond_stops(arm, to, names, values):
    """Raise UsageError, with the number of the run, about a goal beyond the stops."""
    for joint, fixed, unit, *limits in zip(
        arm.joint_names, to, arm.units, arm.arrays.lower, arm.arrays.upper
    ):
        name = f'{joint}.to'
        goals = values[:, names.index(name)] if name in names else np.full(len(values), fixed)
        beyond = (goals < limits[0] - ROUNDING) | (goals > limits[1] + ROUNDING)
        if beyond.any():
            k = int(np.argmax(beyond))
            raise UsageError(
                f'run {k}: {name} = {goals[k]:g} cannot be: the limits of "{joint}" '
                f'are {limits[0]:g} to {limits[1]:g} {unit}.'
            )


def _has_no_motion(arm, run, controller, names, values):
    """Whether all runs of a Manoeuvre start at rest in their goal pose."""
    if controller is None or not run.at_rest:
        return False
    poses = {
        word: [
            values[:, names.index(f'{joint}.{word}')] if f'{joint}.{word}' in names else fixed
            for joint, fixed in zip(arm.joint_names, getattr(controller, word))
        ]
        for word in ('to', 'start')
    }
    return all(np.all(to == start) for to, start in zip(poses['to'], poses['start']))


def _refuse_wrong_values(description, names, known, values):
    """Raise UsageError, with the number of the run, about an impossible value."""
    for column, name in enumerate(names):
        rows = values[:, column]
        if not np.isfinite(rows).all():
            k = int(np.argmin(np.isfinite(rows)))
            raise UsageError(f'run {k}: {name} = {rows[k]:g} cannot be: it must be finite.')
        if name not in known:
            k = int(np.argmin(rows))
            if (
                name.rpartition('.')[2] in NON_NEGATIVE
                and rows[k] < 0.0
                or (name == 'servo' and rows[k] <= 0.0)
            ):
                raise UsageError(
                    f'run {k}: {name} = {rows[k]:g} cannot be: it must be '
                    f'{"above" if name == "servo" else "at least"} 0.'
                )
            continue
        for k in {int(np.argmin(rows)), int(np.argmax(rows))}:
            try:
                with_parameters(description, {name: rows[k]})
            except UsageError as error:
                raise UsageError(f'run {k}: {error}') from error
