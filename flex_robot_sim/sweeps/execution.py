"""
Sweeps: many runs with varied numbers, on any executor.

The executor is a `concurrent.futures.Executor`: threads, processes or a cluster. Runs are
submitted in parts that take about a second; results are written immediately.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description import read_description
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.model.arguments import array_or_nan, expect_kind, whole
from flex_robot_sim.sweeps.case import Run, RunResult
from flex_robot_sim.sweeps.journal import Journal
from flex_robot_sim.sweeps.manoeuvre import Manoeuvre
from flex_robot_sim.sweeps.plan import SweepPlan, Words, make_plan, run_part
from flex_robot_sim.util.exceptions import SettingError, SweepError, UsageError, shortened

PART_DURATION_S = 1.0  # target duration of a part of the runs                [s]
MAX_RUNS_PER_PART = 1024  # limit of its size
MAX_PARTS_PER_SECOND = 100  # limit of a scheduler and this process: docs/scale.md
PARTS_PER_WORKER = 2  # submitted parts: one runs, one waits
WATCH_PERIOD_S = 5.0  # between two checks of the workers                     [s]

Progress = Callable[[int, int], object]


def sweep(
    robot: str | Path | RobotDescription,
    *,
    vary: Words | None = None,
    scale: Words | None = None,
    run: Manoeuvre | Run | None = None,
    method: str = 'grid',
    count: int | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    executor: futures.Executor | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    watch: Callable[[], object] | None = None,
    coupling: str = 'shortening',
    gravity: ArrayLike | None = None,
) -> dict[str, np.ndarray]:
    """
    Run many simulations; return their table, by column, with a row for each run in order.

    :param robot: as of `load`, or a RobotDescription.
    :param vary: values by name, or a text such as 'uniform:0.8,1.2'. A name is the path of a
        parameter, such as `forearm.EIz`, or of a Manoeuvre, such as `elbow.to` and `payload`.
    :param scale: the same, in multiples of the value in the URDF or the Manoeuvre.
    :param run: Manoeuvre, or a function of a Case that returns numbers by name; it may define
        additional varying names, without a dot.
    :param method: 'grid', 'latin' or 'random'; count and seed: of the runs of the last two.
    :param folder: stores the results; an interrupted sweep continues there.
    :param executor: runs the parts; default: this process, sequentially.
    :param workers: its number of workers; default: one per processor.
    :param progress: function of the number of finished runs and of all runs.
    :param watch: called every few seconds; it may raise if all workers are gone.
    :param coupling, gravity: see `load`.

    Example::

        def first(case):
            return {'first': frs.frequencies(case.arm)[0]}
        table = frs.sweeps.sweep('two_link', scale={'forearm.EIz': [0.5, 1.0, 2.0]}, run=first)
        assert (np.diff(table['first']) > 0).all()
    """
    description = robot if isinstance(robot, RobotDescription) else read_description(robot)
    plan = make_plan(
        description,
        {} if vary is None else vary,
        {} if scale is None else scale,
        Manoeuvre() if run is None else run,
        method,
        count,
        seed,
        coupling,
        None if gravity is None else tuple(array_or_nan(gravity).ravel()),
    )
    if plan.note:
        warnings.warn(plan.note, RuntimeWarning, stacklevel=2)
    table = run_plan(plan, folder, executor, workers, progress, watch)
    noted = np.flatnonzero(table['note'] != '')
    if noted.size:
        warnings.warn(
            f'{noted.size} of {len(table["run"])} runs have a note; run {noted[0]}: '
            f'{table["note"][noted[0]]}',
            RuntimeWarning,
            stacklevel=2,
        )
    return table


def run_plan(
    plan: SweepPlan,
    folder: str | Path | None = None,
    executor: futures.Executor | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    watch: Callable[[], object] | None = None,
) -> dict[str, np.ndarray]:
    """Run a SweepPlan, see `sweep`."""
    count = len(os.sched_getaffinity(0)) if workers is None else whole('workers', workers)
    if folder is not None:
        expect_kind('folder', folder, (str, os.PathLike), 'the path of a folder')
    if executor is not None and not callable(getattr(executor, 'submit', None)):
        raise SettingError(
            f'executor = {shortened(repr(executor), 60)} must be an executor of '
            'concurrent.futures, such as one of processes()'
        )
    if executor is not None and not isinstance(plan.run, Manoeuvre):
        with _one_line_errors():
            _expect_sendable(plan, executor, watch)
    journal = None if folder is None else Journal(folder, plan.identity, len(plan))
    try:
        done = {} if journal is None else dict(journal.done)
        todo = [run for run in range(len(plan)) if run not in done]
        report = progress or (lambda done, total: None)
        report(len(done), len(plan))
        for part in _finished_parts(plan, todo, executor, count, watch):
            if journal is not None:
                journal.add(part)
            done.update((run_result.run, run_result) for run_result in part)
            report(len(done), len(plan))
        columns = _columns(plan, [done[run] for run in range(len(plan))])
        if journal is not None:
            journal.write_tables(columns)
        return columns
    except SweepError as error:
        saved = ''
        if journal is not None:
            saved = (
                f' {len(journal.done)} of {len(plan)} runs are kept in {folder}, and the same '
                'call goes on.'
            )
        raise SweepError(f'{error}{saved}') from error
    finally:
        if journal is not None:
            journal.close()


def _expect_sendable(plan, executor, watch):
    """Raise UsageError if a function cannot be sent to the workers; an empty part tests it."""
    future = None
    try:
        future = executor.submit(run_part, plan.part([]), [])
        while not futures.wait([future], WATCH_PERIOD_S).done:
            if watch is not None:
                watch()
        future.result()
    except futures.BrokenExecutor as error:
        raise UsageError(
            'no process can begin with the function of the runs. Define it in a module, or in a '
            'program that begins the sweep below `if __name__ == "__main__":`.'
        ) from error
    except Exception as error:
        if isinstance(error, (futures.CancelledError, SweepError)) or _is_dask_error(error):
            raise
        # Dask wraps the reason in a message
        why = error.__cause__ if isinstance(error.__cause__, (TypeError, ImportError)) else error
        raise UsageError(
            'the function of the runs cannot be sent to the workers '
            f'({type(why).__name__}: {why}). Define it in a module that they can '
            'import, and let it hold nothing that is open here.'
        ) from error
    finally:
        if future is not None:
            future.cancel()


def _finished_parts(plan, todo, executor, count, watch) -> Iterator[list[RunResult]]:
    """Yield parts of the runs as they finish."""
    parts = _Parts(todo, max(PART_DURATION_S, count / MAX_PARTS_PER_SECOND))
    if executor is None:
        while runs := parts.next():
            done, seconds = run_part(plan.part(runs), runs)
            parts.learn(len(runs), seconds)
            yield done
        return
    max_pending = PARTS_PER_WORKER * count
    pending: set[futures.Future] = set()
    try:
        while True:
            with _one_line_errors():
                while len(pending) < max_pending and (runs := parts.next()):
                    pending.add(executor.submit(run_part, plan.part(runs), runs))
            if not pending:
                return
            finished, pending = futures.wait(pending, WATCH_PERIOD_S, futures.FIRST_COMPLETED)
            if not finished and watch is not None:
                watch()
            for future in finished:
                with _one_line_errors():
                    done, seconds = future.result()
                parts.learn(len(done), seconds)
                yield done
    finally:
        for future in pending:
            future.cancel()


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn errors of a lost executor into one line."""
    try:
        yield
    except futures.BrokenExecutor as error:
        raise SweepError(
            'a worker died: it was killed, had no memory left, or could not begin.'
        ) from error
    except futures.CancelledError as error:
        raise SweepError(
            'the executor has cancelled the runs: it was stopped, or it is out of reach.'
        ) from error
    except Exception as error:
        if not _is_dask_error(error):
            raise
        reason = str(error).split('. ')[0]  # Dask appends four lines of advice
        raise SweepError(f'the cluster has given a part up: {reason}.') from error


def _is_dask_error(error):
    """Whether Dask raised it, after a part has killed several workers."""
    return type(error).__module__.startswith('distributed.')


class _Parts:
    """Splits runs into parts of a target duration, from the duration of earlier parts."""

    def __init__(self, todo: Sequence[int], part: float) -> None:
        self._todo, self._part, self._next, self._size = todo, part, 0, 1

    def next(self) -> list[int]:
        runs = [*self._todo[self._next : self._next + self._size]]
        self._next += len(runs)
        return runs

    def learn(self, count: int, seconds: float) -> None:
        size = max(1, min(MAX_RUNS_PER_PART, int(self._part / max(seconds / count, 1e-6))))
        self._size = min(size, 4 * count)  # the first ones may include compilation


def _columns(plan, done):
    """Return the table by column: run, varied numbers, results, and notes."""
    names = dict.fromkeys(name for run_result in done for name in run_result.figures)
    names.pop('note', None)
    columns = {'run': np.arange(len(done)), **dict(zip(plan.names, plan.values.T))}
    for name in names:
        column = [run_result.figures.get(name, np.nan) for run_result in done]
        is_text = any(isinstance(value, str) for value in column)
        columns[name] = np.array(
            ['' if value != value else str(value) for value in column] if is_text else column
        )
    columns['note'] = np.array(
        [str(run_result.figures.get('note', '')) for run_result in done], dtype=str
    )
    return columns
