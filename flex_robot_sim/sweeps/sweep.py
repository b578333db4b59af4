"""
A sweep: the same run with other numbers, again and again, made by whatever can make it.

It is written against `concurrent.futures.Executor`: threads, processes and a cluster are an
argument. Runs go out in parts that take about a second; what comes back is written at once.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description import read_description
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.model.arguments import array_or_nan, whole
from flex_robot_sim.model.assembly import GRAVITY
from flex_robot_sim.sweeps.case import Done, Run
from flex_robot_sim.sweeps.journal import Journal
from flex_robot_sim.sweeps.manoeuvre import Manoeuvre
from flex_robot_sim.sweeps.plan import Plan, Words, make_plan, run_part
from flex_robot_sim.util.exceptions import SweepError, UsageError

PART = 1.0                  # how long a part of the runs shall take                        [s]
LARGEST_PART = 1024         # runs
PARTS_A_SECOND = 100        # that one scheduler and this process bear: docs/scale.md
AHEAD = 2                   # parts for each worker: one runs, one waits
PATIENCE = 5.0              # between two looks at whether workers are there                [s]

Progress = Callable[[int, int], object]


def sweep(robot: str | Path | RobotDescription, vary: Words | None = None,
          scale: Words | None = None, run: Manoeuvre | Run | None = None, method: str = 'grid',
          count: int | None = None, seed: int = 0, folder: str | Path | None = None,
          executor: Executor | None = None, workers: int | None = None,
          progress: Progress | None = None, watch: Callable[[], object] | None = None,
          coupling: str = 'shortening', gravity: ArrayLike = GRAVITY) -> dict[str, np.ndarray]:
    """
    Make many runs; return the table of them, by column, a row for each run in order.

    :param robot: as of `load`, or a RobotDescription.
    :param vary: name -> values, as told in `sweeps/forms.py`; names are those of numbers of the
        URDF, such as `forearm.EIz`, and those of a Manoeuvre, such as `elbow.to` and `payload`.
    :param scale: likewise, in multiples of what the URDF or the Manoeuvre says.
    :param run: Manoeuvre, or a function of a Case that returns numbers by name; it may have names
        of its own, without a dot, that vary.
    :param method: 'grid', 'latin' or 'random'; count: of the runs of the last two.
    :param folder: keeps what is made; where the same sweep was interrupted, it goes on.
    :param executor: who makes the runs; default: this process, one after the other.
    :param workers: how many of it work at a time; default: as many as there are processors.
    :param progress: function of the runs that are there, and of all.
    :param watch: called every few seconds; it may raise where there is nobody left to wait for.
    """
    description = robot if isinstance(robot, RobotDescription) else read_description(robot)
    plan = make_plan(description, vary or {}, scale or {}, Manoeuvre() if run is None else run,
                     method, count, seed, coupling, tuple(array_or_nan(gravity).ravel()))
    if plan.note:
        warnings.warn(plan.note, RuntimeWarning, stacklevel=2)
    table = run_plan(plan, folder, executor, workers, progress, watch)
    noted = np.flatnonzero(table['note'] != '')
    if noted.size:
        warnings.warn(f'{noted.size} of {len(table["run"])} runs have a note; run {noted[0]}: '
                      f'{table["note"][noted[0]]}', RuntimeWarning, stacklevel=2)
    return table


def run_plan(plan: Plan, folder: str | Path | None = None, executor: Executor | None = None,
             workers: int | None = None, progress: Progress | None = None,
             watch: Callable[[], object] | None = None) -> dict[str, np.ndarray]:
    """Make the runs of a Plan, see `sweep`."""
    count = len(os.sched_getaffinity(0)) if workers is None else whole('workers', workers)
    if executor is not None and not isinstance(plan.run, Manoeuvre):
        with _plainly():
            _expect_sendable(plan, executor, watch)
    journal = None if folder is None else Journal(folder, plan.identity, len(plan))
    try:
        done = {} if journal is None else dict(journal.done)
        todo = [run for run in range(len(plan)) if run not in done]
        tell = progress or (lambda done, total: None)
        tell(len(done), len(plan))
        for part in _made(plan, todo, executor, count, watch):
            if journal is not None:
                journal.add(part)
            done.update((one.run, one) for one in part)
            tell(len(done), len(plan))
        columns = _columns(plan, [done[run] for run in range(len(plan))])
        if journal is not None:
            journal.write_tables(columns)
        return columns
    except SweepError as error:
        kept = '' if journal is None else (
            f' {len(journal.done)} of {len(plan)} runs are kept in {folder}, and the same call '
            'goes on.')
        raise SweepError(f'{error}{kept}') from error
    finally:
        if journal is not None:
            journal.close()


def _expect_sendable(plan, executor, watch):
    """Raise UsageError where a function does not reach who makes the runs: an empty part tells."""
    future = None
    try:
        future = executor.submit(run_part, plan.part([]), [])
        while not wait([future], PATIENCE).done:
            if watch is not None:
                watch()
        future.result()
    except BrokenExecutor as error:
        raise UsageError('no process can begin with the function of the runs. Define it in a '
                         'module, or in a program that begins the sweep below `if __name__ == '
                         '"__main__":`.') from error
    except Exception as error:
        if isinstance(error, (CancelledError, SweepError)) or _is_of_dask(error):
            raise
        # Dask has a line of its own around the reason
        why = error.__cause__ if isinstance(error.__cause__, (TypeError, ImportError)) else error
        raise UsageError('the function of the runs cannot be sent to who makes them '
                         f'({type(why).__name__}: {why}). Define it in a module that they can '
                         'import, and let it hold nothing that is open here.') from error
    finally:
        if future is not None:
            future.cancel()


def _made(plan, todo, executor, count, watch) -> Iterator[list[Done]]:
    """Yield parts of the runs as they are made."""
    parts = _Parts(todo, max(PART, count / PARTS_A_SECOND))
    if executor is None:
        while runs := parts.next():
            done, seconds = run_part(plan.part(runs), runs)
            parts.learn(len(runs), seconds)
            yield done
        return
    ahead = AHEAD * count
    pending: set[Future] = set()
    try:
        while True:
            with _plainly():
                while len(pending) < ahead and (runs := parts.next()):
                    pending.add(executor.submit(run_part, plan.part(runs), runs))
            if not pending:
                return
            finished, pending = wait(pending, PATIENCE, FIRST_COMPLETED)
            if not finished and watch is not None:
                watch()
            for future in finished:
                with _plainly():
                    done, seconds = future.result()
                parts.learn(len(done), seconds)
                yield done
    finally:
        for future in pending:
            future.cancel()


@contextlib.contextmanager
def _plainly() -> Iterator[None]:
    """Say in one line that who makes the runs is gone."""
    try:
        yield
    except BrokenExecutor as error:
        raise SweepError('a worker died: it was killed, had no memory left, or could not '
                         'begin.') from error
    except CancelledError as error:
        raise SweepError('who makes the runs has given them up: it was stopped, or it is out of '
                         'reach.') from error
    except Exception as error:
        if not _is_of_dask(error):
            raise
        reason = str(error).split('. ')[0]      # what follows is advice of Dask's, in four lines
        raise SweepError(f'the cluster has given a part up: {reason}.') from error


def _is_of_dask(error):
    """Whether Dask itself raises it: it has given up a part that killed worker after worker."""
    return type(error).__module__.startswith('distributed.')


class _Parts:
    """Runs in parts that take about so long, by what those before took."""

    def __init__(self, todo: Sequence[int], part: float) -> None:
        self._todo, self._part, self._next, self._size = todo, part, 0, 1

    def next(self) -> list[int]:
        runs = [*self._todo[self._next:self._next + self._size]]
        self._next += len(runs)
        return runs

    def learn(self, count: int, seconds: float) -> None:
        fitting = max(1, min(LARGEST_PART, int(self._part / max(seconds / count, 1e-6))))
        self._size = min(fitting, 4 * count)        # the first ones may have waited for a compiler


def _columns(plan, done):
    """Return the table by column: the runs, what varied, what came of it, and notes."""
    names = dict.fromkeys(name for one in done for name in one.figures)
    names.pop('note', None)
    columns = {'run': np.arange(len(done)), **dict(zip(plan.names, plan.values.T))}
    for name in names:
        column = [one.figures.get(name, np.nan) for one in done]
        is_text = any(isinstance(value, str) for value in column)
        columns[name] = np.array(['' if value != value else str(value) for value in column]
                                 if is_text else column)
    columns['note'] = np.array([str(one.figures.get('note', '')) for one in done], dtype=str)
    return columns
