"""Sweeps: the same numbers with any executor, no run lost, no run repeated."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import own_runs
import pytest
from refusals import refusal
from tables import is_same, whole_lines
from waiting import eventually

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.sweeps import Manoeuvre, sweep
from flex_robot_sim.sweeps.pools import processes
from flex_robot_sim.util.exceptions import SweepError, UsageError

pytestmark = pytest.mark.slow

TO = (0.3,)
MOVE = Manoeuvre(to=TO, within=0.1, seconds=0.3)
SCALED = {'arm.EIz': '0.9,1.1'}


def swept(**options):
    joint = frs.load('single_link').joint_names[0]
    vary = {'payload': '0,0.1', f'{joint}.to': '0.2,0.3'}
    return sweep('single_link', vary=vary, scale=SCALED, run=MOVE, **options)


def test_runs_are_what_a_plain_loop_comes_to():
    table = swept()
    robot = frs.read_description('single_link')
    arm = frs.load('single_link')
    servo, joint = design_servo(arm), arm.joint_names[0]
    assert len(table['run']) == 8
    for k in range(8):
        varied = with_parameters(robot, {'arm.EIz': table['arm.EIz'][k]})
        mass, goal = table['payload'][k], table[f'{joint}.to'][k]
        moved = _built(varied)
        if mass:
            moved = frs.with_payload(moved, 'tool', mass)
        sim = frs.Simulation(moved)
        sim.effort = carrying_efforts(arm, [goal])
        tips = [sim.deflection['arm'][:3]]
        for step in range(0, 300, 2):
            u = min(step * 1e-3 / 0.1, 1.0)
            place = goal * (10 * u**3 - 15 * u**4 + 6 * u**5)
            rate = goal * (30 * u**2 - 60 * u**3 + 30 * u**4) / 0.1 * (u < 1)
            sim.hold([place], servo.stiffness, servo.damping, [rate])
            sim.step(2)
            if (step + 2) % 10 == 0:
                tips.append(sim.deflection['arm'][:3])
        tips = np.array(tips)
        # the polynomial is summed in another order
        assert table[f'{joint}.error'][k] == pytest.approx(sim.position[0] - goal, abs=1e-9)
        assert table['arm.max_deflection'][k] == pytest.approx(
            np.linalg.norm(tips, axis=1).max(), rel=1e-6
        )
        assert table['arm.residual_vibration'][k] == pytest.approx(
            np.linalg.norm(np.ptp(tips[10:], axis=0)) / 2, rel=1e-6
        )


@pytest.mark.parametrize(
    'given, described',
    [
        (
            {'stiffness': (30.0, 20.0, 10.0), 'damping': (3.0,)},
            {
                'shoulder.servo_stiffness': 20.0,
                'elbow.servo_damping': 3.0,
                'elbow.to': -0.6,
                'waist.start': 0.1,
                'within': 0.2,
                'payload': 0.1,
                'servo': 1.0,
            },
        ),
        ({}, {}),
    ],
)
def test_every_word_of_a_manoeuvre_is_scaled_from_what_is_described(given, described):
    if not described:  # servos that hold the arm with its known payload
        servo = design_servo(frs.with_payload(frs.load('two_link'), 'tool', 0.1))
        described = {
            'waist.servo_stiffness': servo.stiffness[0],
            'elbow.servo_damping': servo.damping[2],
        }
    run = Manoeuvre(
        to=(0.3, 0.5, -0.6), start=(0.1, 0.0, 0.0), within=0.2, payload=0.1, seconds=0.02, **given
    )
    for name, value in described.items():
        scaled = sweep('two_link', scale={name: '0.9,1.1'}, run=run)
        assert is_same(scaled, sweep('two_link', vary={name: [0.9 * value, 1.1 * value]}, run=run))
        assert scaled['note'].tolist() == ['', '']


def _built(description):
    from flex_robot_sim.model.assembly import build_arm

    return build_arm(description)


def test_one_process_threads_and_processes_come_to_the_same_numbers():
    alone = swept()
    with ThreadPoolExecutor(3) as threads:
        assert is_same(swept(executor=threads, workers=3), alone)
    with processes(2) as pool:
        assert is_same(swept(executor=pool, workers=2), alone)
        assert 'OPENBLAS_NUM_THREADS' in os.environ
        # a user function has the same random numbers there
        own = {'vary': {'tool.mass': 'uniform:0.1,1'}, 'method': 'latin', 'count': 6, 'seed': 3}
        here = sweep('two_link', run=own_runs.drawn, **own)
        assert is_same(sweep('two_link', run=own_runs.drawn, executor=pool, **own), here)
    # the URDF of a run has its parameter, and the random numbers of all runs differ
    assert (here['mass'] == here['tool.mass']).all() and (here['twice'] == 2 * here['mass']).all()
    assert len({*here['chance']}) == 6


def test_the_table_is_there_as_csv_and_parquet(tmp_path):
    table = swept(folder=tmp_path / 'runs')
    with open(tmp_path / 'runs/table.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]] == [*table]
    for name, column in table.items():
        assert [str(value) if column.dtype.kind in 'iU' else float(value) for value in column] == [
            row[name] if column.dtype.kind in 'iU' else float(row[name]) for row in rows
        ]
    parquet = pytest.importorskip('pyarrow.parquet')
    found = parquet.read_table(tmp_path / 'runs/table.parquet').to_pydict()
    assert all(found[name] == column.tolist() for name, column in table.items())
    # repeated: all runs exist, and none starts
    notes = []
    assert is_same(swept(folder=tmp_path / 'runs', progress=lambda *row: notes.append(row)), table)
    assert notes == [(8, 8)]


PROGRAM = """
import sys, own_runs
from flex_robot_sim.sweeps import processes, sweep
if __name__ == '__main__':
    with processes(2) as pool:
        sweep('single_link', vary={'payload': 'uniform:0,1'}, run=own_runs.noted, method='random',
                  count=120, seed=7, folder=sys.argv[1], executor=pool, workers=2)
"""


def test_after_a_kill_it_goes_on_where_it_was(tmp_path, monkeypatch):
    program, folder, notes = tmp_path / 'program.py', tmp_path / 'runs', tmp_path / 'notes'
    program.write_text(PROGRAM)
    monkeypatch.setenv('NOTES_FILE', str(notes))
    child = subprocess.Popen([sys.executable, program, folder], start_new_session=True)
    assert eventually(lambda: len(_lines(folder / 'runs.jsonl')) >= 20, 120.0)
    child.kill()
    child.wait()
    # the worker processes end with their parent
    assert eventually(lambda: not _session(child.pid), 60.0)
    kept = {json.loads(line)['run'] for line in whole_lines(folder / 'runs.jsonl')}
    before = [int(run) for run in notes.read_text().split()]
    assert 20 <= len(kept) < 120 and kept <= {*before}
    with open(folder / 'runs.jsonl', 'ab') as file:
        file.write(b'{"run": 119, "twi')  # as after a kill in the middle of a line
    notes.unlink()
    options = {
        'vary': {'payload': 'uniform:0,1'},
        'run': own_runs.noted,
        'method': 'random',
        'count': 120,
        'seed': 7,
    }
    with ThreadPoolExecutor(4) as threads:
        table = sweep('single_link', folder=folder, executor=threads, **options)
    again = [int(run) for run in notes.read_text().split()]
    assert sorted(again) == sorted({*range(120)} - kept)  # each of the others, once
    with ThreadPoolExecutor(4) as threads:
        assert is_same(sweep('single_link', executor=threads, **options), table)


def test_runs_behind_a_line_that_is_damaged_are_kept(tmp_path, caplog):
    table, journal = swept(folder=tmp_path), tmp_path / 'runs.jsonl'
    lines = journal.read_bytes().splitlines(keepends=True)
    # damage as by editors and power cuts
    lines[2], lines[4], lines[5] = b'\n', b'\0\0\0\n', b'{"run": "5"}\n'
    journal.write_bytes(b''.join(lines))
    notes = []
    assert is_same(swept(folder=tmp_path, progress=lambda *row: notes.append(row)), table)
    assert notes[0] == (5, 8)
    assert [record.getMessage() for record in caplog.records] == [
        f'{journal}: damaged: line 3, 5, 6. Runs that are not in it are made again.'
    ]
    caplog.clear()  # all runs exist now, so those lines need no repair
    assert is_same(swept(folder=tmp_path), table) and not caplog.records


def test_no_bits_that_flip_in_a_journal_reach_the_table(tmp_path, mutants, caplog):
    """Flip three bits in any of its lines; 500 times with --long."""
    table, journal, draw = swept(folder=tmp_path), tmp_path / 'runs.jsonl', random.Random(5)
    whole = journal.read_bytes()
    for _ in range(max(1, mutants // 2000)):
        data, bits = bytearray(whole), draw.sample(range(8 * len(whole)), 3)
        for bit in bits:
            data[bit // 8] ^= 1 << bit % 8
        journal.write_bytes(data)
        caplog.clear()
        assert is_same(swept(folder=tmp_path), table), bits
        # a line without its end counts as cut off by a kill
        assert len(caplog.records) == 1 or data[-1:] != b'\n', bits


def test_a_damaged_description_of_a_sweep_is_called_damaged(tmp_path):
    swept(folder=tmp_path)
    path = tmp_path / 'sweep.json'
    whole = path.read_bytes()
    assert json.loads(whole)['crc32']
    for damaged in (b'', whole[:-20], whole.replace(b'"seed": 0', b'"seed": 4'), b'\0' * 100):
        assert damaged != whole
        path.write_bytes(damaged)
        assert refusal(UsageError, swept, folder=tmp_path) == (
            f'{path} is damaged, so it is unknown of which sweep the runs there are. Name another '
            'folder, or delete this one.'
        )


def _lines(path):
    return path.read_bytes().splitlines() if path.exists() else []


def _session(number):
    """Living processes of a session."""
    found = []
    for path in Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = path.read_text().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[3]) == number and fields[0] != 'Z':
            found.append(path)
    return found


def test_a_worker_that_dies_is_one_line_and_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setenv('NOTES_FILE', str(tmp_path / 'killed'))
    options = {'vary': {'payload': 'even:0,1,30'}, 'run': own_runs.deadly}
    folder = tmp_path / 'runs'
    with processes(2) as pool, pytest.raises(SweepError) as caught:
        sweep('single_link', folder=folder, executor=pool, workers=1, **options)
    kept = len(whole_lines(folder / 'runs.jsonl'))
    assert str(caught.value) == (
        f'a worker died: it was killed, had no memory left, or could not begin. {kept} of 30 runs '
        f'are kept in {folder}, and the same call goes on.'
    )
    notes = []
    table = sweep('single_link', folder=folder, progress=lambda *row: notes.append(row), **options)
    assert notes[0] == (kept, 30) and is_same(sweep('single_link', **options), table)


FULL = """
import resource, sys
sys.dont_write_bytecode = True      # or it would be cut off, too
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from flex_robot_sim.cli import main
sys.exit(main(sys.argv[2:]))
"""


def sweep_words(folder, payload='0,0.1'):
    """Return the words of a command that sweeps payloads."""
    words = f'sweep single_link --to 0.1 --vary payload={payload} --seconds 0.05 --processes 1'
    return [*words.split(), '--json', '--output', str(folder)]


def on_a_full_disk(most, words):
    """Run a command with a limit on the file size in bytes."""
    return subprocess.run(
        [sys.executable, '-c', FULL, str(most), *words], capture_output=True, text=True
    )


@pytest.mark.long
def test_a_disk_that_fills_is_one_line_and_it_goes_on(tmp_path, capsys):
    words = sweep_words(tmp_path / 'runs', payload='even:0,0.5,40')
    done = on_a_full_disk(3000, words)
    kept = len(whole_lines(tmp_path / 'runs/runs.jsonl'))
    assert 0 < kept < 40
    assert (done.returncode, done.stderr, done.stdout) == (
        2,
        f'flexsim sweep: {tmp_path / "runs"}: cannot be written: File too large. {kept} of 40 '
        'runs are kept; make room, and the same call goes on.\n',
        '',
    )
    assert main(words) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary['runs'], summary['made_now']) == (40, 40 - kept)
    assert (
        summary['figures']['arm.max_deflection']['largest']
        >= summary['figures']['arm.max_deflection']['median']
    )


@pytest.mark.long
def test_a_disk_that_fills_with_parquet_is_the_same_line(tmp_path, capsys):
    pytest.importorskip('pyarrow', reason='pip install pyarrow')
    runs = tmp_path / 'runs'
    words = sweep_words(runs)
    # two rows are 300 bytes of CSV; the column metadata of Parquet alone exceeds 2000
    done = on_a_full_disk(1800, words)
    assert (done.returncode, done.stderr, done.stdout) == (
        2,
        f'flexsim sweep: {runs}: cannot be written: File too large. 2 of 2 runs are kept; make '
        'room, and the same call goes on.\n',
        '',
    )
    assert {path.name for path in runs.iterdir()} == {'sweep.json', 'runs.jsonl', 'table.csv'}
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)['made_now'] == 0
    assert (runs / 'table.parquet').exists()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    folder = tmp_path / 'runs'
    swept(folder=folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert refusal(UsageError, swept, folder=folder, seed=1) == (
        f'{folder} holds another sweep, with another "seed" in its '
        'sweep.json. Name another folder, or delete this one.'
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    other = tmp_path / 'papers'
    other.mkdir()
    (other / 'thesis.tex').write_text('')
    assert refusal(UsageError, swept, folder=other) == (
        f'{other}: there is thesis.tex and no sweep.json: it is not of a '
        'sweep. Name another folder.'
    )
    assert [path.name for path in other.iterdir()] == ['thesis.tex']
    assert refusal(UsageError, lambda: swept(folder=other / 'none' / 'runs')) == (
        f'{other}/none/runs cannot hold the runs: No such file or directory. Name another folder.'
    )


def test_two_programs_do_not_write_into_one_folder(tmp_path):
    from flex_robot_sim.sweeps.journal import Journal

    journal = Journal(tmp_path / 'runs', {'seed': 0}, 8)
    assert refusal(UsageError, lambda: swept(folder=tmp_path / 'runs')) == (
        f'{tmp_path}/runs: another program writes runs there. Wait for it, or name another folder.'
    )
    journal.close()


@pytest.mark.parametrize(
    'options, stays',
    [
        ({}, True),
        ({'vary': {'payload': '0,0.1'}}, True),
        ({'run': Manoeuvre(to=(0.2,), start=(0.2,), seconds=0.01)}, True),
        ({'run': Manoeuvre(to=(0.2,), seconds=0.01), 'vary': {'motor.start': 0.2}}, True),
        ({'run': Manoeuvre(to=(0.2,), seconds=0.01)}, False),
        ({'vary': {'motor.to': '0,0.1'}}, False),
        ({'run': own_runs.drawn}, False),
        ({'run': Manoeuvre(at_rest=False, seconds=0.01)}, False),
    ],
)
def test_a_sweep_in_which_no_run_goes_anywhere_says_so(options, stays):
    options = {'run': Manoeuvre(seconds=0.01), **options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        table = sweep('single_link', **options)
    assert [str(one.message) for one in caught] == stays * [
        'no run goes anywhere, as "to" is where it starts: figures tell at most how a load sags. '
        'Give "to", or vary JOINT.to.'
    ]
    if stays:  # gravity has no effect on an arm that turns about a vertical axis
        assert not table['motor.error'].any() and not table['arm.residual_vibration'].any()


def test_the_command_says_that_no_run_goes_anywhere_before_they_run(tmp_path, capsys):
    words = ['sweep', 'single_link', '--seconds', '0.01', '--processes', '1', '--output']
    assert main([*words, str(tmp_path / 'runs')]) == 0
    assert capsys.readouterr().err.splitlines()[0] == (
        'flexsim sweep: note: no run goes anywhere, as "to" is where it starts: figures tell at '
        'most how a load sags. Give "to", or vary JOINT.to.'
    )


def test_a_failed_run_has_a_note_and_the_others_continue():
    joint = frs.load('single_link').joint_names[0]
    with pytest.warns(RuntimeWarning, match='1 of 3 runs have a note; run 1: '):
        table = sweep(
            'single_link', vary={f'{joint}.start': '0.1,1e200,0.2'}, run=Manoeuvre(seconds=0.1)
        )
    assert [note == '' for note in table['note']] == [True, False, True]
    assert 'the state is not finite after' in table['note'][1]
    assert np.isfinite(table['arm.max_deflection']).tolist() == [True, False, True]


@pytest.mark.parametrize(
    'options, message',
    [
        ({'vary': {'arm.EIx': '1,2'}}, 'no parameter "arm.EIx". Near: '),
        ({'vary': {'arm.EIz': '1,2,-3'}}, 'run 2: arm.EIz = -3 cannot be: '),
        ({'vary': {'arm.damping_ratio': '0.1,2'}}, 'run 1: arm.damping_ratio = 2 cannot be: '),
        ({'vary': {'payload': '0,-1'}}, 'run 1: payload = -1 cannot be: it must be at least 0.'),
        ({'vary': {'servo': '0,1'}}, 'run 0: servo = 0 cannot be: it must be above 0.'),
        (
            {'scale': {'payload': '1,2'}},
            'payload is 0 as described, and no multiple of it is anything '
            'else. Vary it by values.',
        ),
        ({'scale': {'motor.to': '1,2'}, 'run': Manoeuvre()}, 'motor.to is 0 as described, '),
        (
            {'scale': {'gain': '1,2'}, 'run': own_runs.drawn},
            'gain is a word of your own function: '
            'nothing is described that a multiple could be of. Vary it by values.',
        ),
        (
            {'vary': {'payload': 'uniform:-1e308,1e308'}, 'method': 'random', 'count': 2},
            'run 0: payload = inf cannot be: it must be finite.',
        ),
        (
            {'scale': {'payload': '1,1e308'}, 'run': Manoeuvre(payload=10.0)},
            'run 1: payload = inf cannot be: it must be finite.',
        ),
        (
            {'vary': {'arm.EIz': 1}, 'scale': {'arm.EIz': 1}},
            'arm.EIz varies twice. Vary it or scale it.',
        ),
        ({'run': Manoeuvre(to=(1.0, 2.0))}, 'to must be 1 finite numbers, in this order: '),
        (
            {'run': Manoeuvre(to=(-4.0,))},
            'run 0: motor.to = -4 cannot be: the limits of "motor" are -3.14159 to 3.14159 rad.',
        ),
        ({'vary': {'motor.to': '3.14159265,4'}}, 'run 1: motor.to = 4 cannot be: the limits of '),
        ({'run': Manoeuvre(seconds=1e-5)}, 'seconds must be at least one time_step.'),
        ({'run': Manoeuvre(seconds=1e6)}, 'seconds hold more than 1e+07 steps of time_step. '),
    ],
)
def test_what_makes_no_sweep_is_one_line_before_anything_runs(tmp_path, options, message):
    with pytest.raises(UsageError) as caught:
        sweep('single_link', folder=tmp_path / 'runs', **options)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / 'runs').exists()


def test_ctrl_c_just_after_a_run_is_written_counts_it(tmp_path, monkeypatch, capsys):
    def interrupt(progress, done, total):
        if done:
            raise KeyboardInterrupt

    monkeypatch.setattr('flex_robot_sim.cli.sweep._SweepProgress.__call__', interrupt)
    assert main(sweep_words(tmp_path / 'runs')) == 130
    assert len(whole_lines(tmp_path / 'runs/runs.jsonl')) == 1
    assert capsys.readouterr().err == (
        f'flexsim sweep: interrupted; 1 of 2 runs are kept in {tmp_path}/runs, and the same call '
        'goes on.\n'
    )


@pytest.mark.long(after=1)
@pytest.mark.parametrize('times', [1, 2, 3])
def test_ctrl_c_ends_with_what_is_kept(tmp_path, times):
    words = sweep_words(tmp_path / 'runs', payload='uniform:0,1')
    child = subprocess.Popen(
        [sys.executable, '-m', 'flex_robot_sim', *words, '--random', '100000'],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert eventually(lambda: len(_lines(tmp_path / 'runs/runs.jsonl')) >= 2, 120.0)
    for _ in range(times):
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does, to the whole process group
        time.sleep(0.05)
    _, notes = child.communicate(timeout=60)
    kept = len(whole_lines(tmp_path / 'runs/runs.jsonl'))
    assert child.returncode == 130
    assert notes == (
        f'flexsim sweep: interrupted; {kept} of 100000 runs are kept in '
        f'{tmp_path}/runs, and the same call goes on.\n'
    )


def test_arms_that_cannot_be_computed_have_a_note_and_the_others_go_on():
    # for the largest mass, rounding cancels the inertia about the motor
    with pytest.warns(RuntimeWarning):
        table = sweep('single_link', vary={'tip_mass.mass': [0.1, 1e30]}, run=MOVE)
    assert ['"motor" moves no mass.' in note for note in table['note']] == [False, True]
    assert np.isfinite(table['arm.max_deflection']).tolist() == [True, False]
