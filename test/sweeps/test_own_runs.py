"""Sweeps of a user function: an error in one run does not stop the others."""

import contextlib
import dataclasses
import functools
import itertools
import json
import re
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import own_runs
import pytest
from tables import is_same, whole_lines

import flex_robot_sim as frs
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.sweeps import sweep
from flex_robot_sim.sweeps.identity import function_identity
from flex_robot_sim.sweeps.plan import make_plan, run_part
from flex_robot_sim.sweeps.pools import processes
from flex_robot_sim.util.exceptions import SettingError, SweepError, UsageError

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    'run, why',
    [
        (lambda case: {}, r"\w+: Can't pickle .*"),
        (own_runs.LockHolder(), "TypeError: cannot pickle '_thread.lock' object"),
    ],
)
def test_a_function_that_cannot_be_sent_is_one_line_before_any_work(tmp_path, run, why):
    with processes(1) as pool, pytest.raises(UsageError) as caught:
        sweep('single_link', run=run, executor=pool, folder=tmp_path / 'runs')
    assert re.fullmatch(
        'the function of the runs cannot be sent to the workers '
        rf'\({why}\)\. Define it in a module that they can import, and let it '
        'hold nothing that is open here\\.',
        str(caught.value),
    )
    assert not (tmp_path / 'runs').exists()


class Gone(ThreadPoolExecutor):
    """Executor that cancels all submitted work, like a stopped scheduler."""

    def submit(self, function, /, *arguments, **named):
        """Cancel it."""
        future: Future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_an_executor_that_cancels_all_runs_is_a_one_line_error(tmp_path):
    with pytest.raises(SweepError) as caught:
        sweep('single_link', run=own_runs.drawn, executor=Gone(), folder=tmp_path / 'runs')
    assert str(caught.value) == (
        'the executor has cancelled the runs: it was stopped, or it is out of reach.'
    )
    assert not (tmp_path / 'runs').exists()


UNGUARDED = """
import flex_robot_sim as frs
from flex_robot_sim.sweeps import sweep
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.sweeps.pools import processes
def run(case):
    return {}
with processes(1) as pool:
    sweep('single_link', run=run, executor=pool, folder='runs')
"""


def test_a_program_that_its_processes_cannot_import_names_what_it_lacks(tmp_path):
    program = tmp_path / 'program.py'
    program.write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.stderr.splitlines()[-1] == (
        'flex_robot_sim.util.exceptions.UsageError: no process can begin with the function of the '
        'runs. Define it in a module, or in a program that begins the sweep below `if __name__ == '
        '"__main__":`.'
    )
    assert [*tmp_path.iterdir()] == [program]


FAILING = {'vary': {'payload': 'even:0,1,8'}, 'run': own_runs.failing}


def notes_of_failing():
    lines = own_runs.failing.__code__.co_firstlineno + np.array([4, 6])
    return [
        '',
        *(
            line
            for k in (1, 5)
            for line in (
                f'ValueError: no frequency in run {k} (failing, line {lines[0]})',
                f'SystemExit: 3 (failing, line {lines[1]})',
                "run returned {'x': None}: it must be a dict from names to numbers or text",
                '',
            )
        ),
    ][:8]


@pytest.mark.parametrize(
    'pool', [contextlib.nullcontext, lambda: ThreadPoolExecutor(2), lambda: processes(2)]
)
def test_a_function_that_fails_is_the_note_of_a_run_and_the_others_go_on(
    tmp_path, monkeypatch, pool
):
    monkeypatch.setenv('NOTES_FILE', str(tmp_path / 'notes'))
    folder = tmp_path / 'runs'
    with pool() as executor, pytest.warns(RuntimeWarning) as warned:
        table = sweep('single_link', executor=executor, folder=folder, **FAILING)
    assert table['note'].tolist() == notes_of_failing()
    assert table['twice'][4] == 2 * 4 / 7 and np.isnan(table['twice'][[1, 2, 3]]).all()
    assert [str(one.message) for one in warned] == [
        f'6 of 8 runs have a note; run 1: {table["note"][1]}'
    ]
    # the sweep continues: failed runs are recorded and not repeated
    lines = (folder / 'runs.jsonl').read_bytes().splitlines(keepends=True)
    (folder / 'runs.jsonl').write_bytes(b''.join(lines[:5]))
    with pytest.warns(RuntimeWarning):
        again = sweep('single_link', folder=folder, **FAILING)
    assert is_same(again, table)
    began = [int(run) for run in (tmp_path / 'notes').read_text().split()]
    assert sorted(began) == sorted([*range(8), *(json.loads(line)['run'] for line in lines[5:])])


def test_ctrl_c_in_a_function_ends_the_sweep_and_keeps_what_was_made(tmp_path):
    def run(case):
        if case.run == 3:
            raise KeyboardInterrupt
        return {'x': 1.0}

    with pytest.raises(KeyboardInterrupt):
        sweep('single_link', vary={'payload': 'even:0,1,8'}, run=run, folder=tmp_path / 'runs')
    # a part of one run precedes the interrupted part
    assert len(whole_lines(tmp_path / 'runs/runs.jsonl')) >= 1


@pytest.mark.parametrize(
    'returned, problem',
    [
        *(
            (one, f'run returned {one!r}: it must be a dict from names to numbers or text')
            for one in (3, {'x': None}, None, {'x': [1.0, 2.0]})
        ),
        *(
            (
                {name: 1.0},
                f'run returned a figure with the name {name!r}. Give it a text that is not '
                '"run" and not what varies',
            )
            for name in ('run', 'arm.damping_ratio', 7)
        ),
    ],
)
def test_a_run_of_ones_own_that_returns_no_figures_has_a_note(returned, problem):
    with pytest.warns(RuntimeWarning, match='1 of 1 runs have a note'):
        table = sweep('single_link', vary={'arm.damping_ratio': [0.01]}, run=lambda case: returned)
    assert [*table] == ['run', 'arm.damping_ratio', 'note']
    assert table['note'].tolist() == [problem]


def test_text_of_ones_own_that_no_file_can_hold_is_escaped(tmp_path):
    table = sweep('single_link', run=lambda case: {'file': 'a\udcff'}, folder=tmp_path / 'runs')
    assert table['file'].tolist() == ['a\\udcff']
    assert 'a\\udcff' in (tmp_path / 'runs/table.csv').read_text('utf-8')


@pytest.mark.parametrize(
    'options, message',
    [
        ({'run': 3}, 'run = 3 must be a Manoeuvre, or a function of a Case'),
        ({'vary': 'payload=1'}, "vary = 'payload=1' must be a dict from names to values"),
        ({'scale': {3: 1}}, 'scale = {3: 1} must be a dict from names to values'),
        ({'gravity': 'down'}, 'gravity must be three finite numbers [m/s2]'),
        ({'workers': 0}, 'workers = 0 must be a whole number > 0'),
        (
            {'workers': -1, 'executor': ThreadPoolExecutor(1)},
            'workers = -1 must be a whole number > 0',
        ),
    ],
)
def test_arguments_of_the_wrong_kind_are_one_line(tmp_path, options, message):
    with pytest.raises(SettingError) as caught:
        sweep('single_link', **{'run': own_runs.drawn, 'folder': tmp_path / 'runs', **options})
    assert str(caught.value) == message
    assert not (tmp_path / 'runs').exists()


def test_numbers_of_numpy_are_as_good_and_the_same_sweep(tmp_path):
    design = {'vary': {'gain': 'uniform:0,1'}, 'run': joints_of, 'method': 'random'}
    table = sweep('single_link', count=2, seed=3, folder=tmp_path, **design)
    assert is_same(
        sweep('single_link', count=np.int64(2), seed=np.int64(3), folder=tmp_path, **design), table
    )


def test_a_function_cannot_change_the_arm_that_runs_share():
    def run(case):
        case.arm.arrays.inertia[:] *= 2.0

    table = sweep('single_link', vary={'gain': '1,2'}, run=run)
    assert all('read-only' in note for note in table['note'])


def test_a_function_makes_an_arm_of_its_own():
    def run(case):
        arm = frs.with_parameters(case.arm, {'tip_mass.mass': ('*', 2.0)})
        return {'of_tip': arm.arrays.inertia[-1, 3, 3]}

    table = sweep('single_link', vary={'gain': '1,2'}, run=run)
    assert table['of_tip'].tolist() == [0.2, 0.2]  # twice the 0.1 kg of the URDF


def test_a_name_that_every_table_has_does_not_vary():
    with pytest.raises(UsageError, match='no parameter "run"'):
        sweep('single_link', vary={'run': '1,2'}, run=own_runs.drawn)


def _with(gain):
    def run(case):
        return {'gain': gain}

    return run


class Own:
    """A run with a gain."""

    def __init__(self, gain):
        self.gain, self.itself, self.lock = gain, self, threading.Lock()

    def __call__(self, case):
        """Return the gain."""
        return {'gain': self.gain}


@pytest.mark.parametrize(
    'make',
    [
        lambda gain: functools.partial(own_runs.noted, gain=gain),
        _with,
        Own,
        lambda gain: _with({'gain': np.array([gain])}),
        lambda gain: Own(gain).__call__,
    ],
)
def test_a_function_with_another_gain_is_another_sweep(make):
    assert function_identity(make(1.0)) == function_identity(make(1.0))
    assert function_identity(make(1.0)) != function_identity(make(2.0))


def test_a_robot_that_a_program_changed_is_another_one(tmp_path):
    robot = frs.read_description('single_link')
    mount = robot.joints[1]
    moved = dataclasses.replace(
        robot,
        joints=(
            robot.joints[0],
            dataclasses.replace(mount, position=mount.position + [0.1, 0.0, 0.0]),
            *robot.joints[2:],
        ),
    )
    for one in (robot, moved):
        table = sweep(one, run=reach_of)
        assert table['reach'][0] == reach(build_arm(one))
    sweep(robot, run=reach_of, folder=tmp_path)
    with pytest.raises(UsageError, match='holds another sweep, with another "robot"'):
        sweep(moved, run=reach_of, folder=tmp_path)


def reach_of(case):
    return {'reach': reach(case.arm)}


def reach(arm):
    return frs.pose(arm, np.zeros(arm.size), link='tool')[0, 3]


def test_a_thread_may_build_another_robot_while_one_looks_for_its_own():
    class Slow(str):
        """A key that another thread interrupts at each comparison."""

        def __eq__(self, other):
            return self._looked_at() == other

        def __hash__(self):
            return hash(self._looked_at())

        def _looked_at(self):
            if threading.current_thread() is threading.main_thread():
                threads.submit(run_part, next(others), [0]).result(60)
            return str(self)

    here, *there = (
        make_plan(
            frs.read_description(robot),
            {},
            {},
            joints_of,
            'grid',
            None,
            0,
            'shortening',
            (0.0, 0.0, fall),
        )
        for robot, fall in (('single_link', 0), ('two_link', 0), ('two_link', -9))
    )
    others = itertools.cycle(there)
    with ThreadPoolExecutor(1) as threads:
        for _ in range(2):
            done, _ = run_part(dataclasses.replace(here, key=Slow(here.key)), [0])
    assert done[0].figures['joints'] == 1


def joints_of(case):
    return {'joints': len(case.arm.joint_names)}
