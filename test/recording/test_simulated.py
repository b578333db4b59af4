"""A simulation as a recording, compared with the table that the same simulation prints."""

import shlex

import numpy as np
import pytest

pytest.importorskip('mcap')

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.simulated import SimulationRecording
from flex_robot_sim.recording.tables import read_tables
from flex_robot_sim.reports.recorded_run import read_run
from flex_robot_sim.reports.tip_vibration import recorded_servo_gains
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

WORDS = shlex.split('simulate single_link --effort motor=sine:0.5@3 --start 0.3 --seconds 0.03')


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp('simulated')
    for name in ('run.csv', 'run.mcap'):
        assert main([*WORDS, '--output', str(folder / name)]) == 0
    return folder


def test_it_holds_what_the_table_holds(files):
    table = np.genfromtxt(files / 'run.csv', delimiter=',', names=True, deletechars='')
    reader = RecordingReader(files / 'run.mcap')
    tables = {item.topic.name: item for item in read_tables(reader).tables}
    joints = tables['/joint_states'].columns
    for word, column in (('position', 'position'), ('velocity', 'velocity'), ('effort', 'effort')):
        # nine digits are printed
        assert joints[f'{column}/motor'] == pytest.approx(table[f'{word}/motor'], rel=1e-8)
    assert joints['stamp'] == pytest.approx(np.maximum(table['time'], 1e-9), abs=1e-9)
    tip = tables['/arm/tip_deflection'].columns
    assert np.abs(table['tip/arm/y']).max() > 1e-6
    for axis in 'xyz':
        assert tip[f'pose/position/{axis}'] == pytest.approx(table[f'tip/arm/{axis}'], rel=1e-8)


def test_the_recorded_robot_makes_the_recorded_pose(files):
    tables = {
        item.topic.name: item for item in read_tables(RecordingReader(files / 'run.mcap')).tables
    }
    arm = frs.load(str(tables['/robot_description'].columns['data'][0]))
    simulation = frs.Simulation(arm)
    simulation.set_state(
        q=[
            tables[topic].columns[name][-1]
            for topic in ('/joint_states', '/motor_states', '/flex_states')
            if topic in tables
            for name in tables[topic].columns
            if name.startswith('position/')
        ]
    )
    tool = tables['/tool_pose'].columns
    assert [tool[f'pose/position/{axis}'][-1] for axis in 'xyz'] == pytest.approx(
        simulation.pose('tool')[:3, 3], abs=1e-12
    )


@pytest.mark.parametrize(
    'name, line',
    [
        ('full.mcap', ': cannot be written: No space left on device; nothing is in it.'),
        ('full.csv', ': cannot be written: No space left on device.'),
    ],
)
def test_a_full_disk_leaves_the_figures(tmp_path, capsys, name, line):
    path = tmp_path / name
    path.symlink_to('/dev/full')
    assert main([*WORDS, '--output', str(path)]) == 2
    streams = capsys.readouterr()
    assert 'energy [J]' in streams.out
    assert streams.err == f'flexsim simulate: {path}{line}\n'


def test_a_move_has_its_target_and_what_the_servo_was(tmp_path, capsys):
    path, step = tmp_path / 'move.mcap', 0.4
    words = [
        'simulate',
        'single_link',
        '--to',
        f'{step}',
        *shlex.split(
            '--within 0.5 --payload 0.2 --stiffness 40 --damping 2 --seconds 1.5 --output'
        ),
        str(path),
    ]
    assert main([*words, '--json']) == 0
    reader = RecordingReader(path)
    tables = {item.topic.name: item for item in read_tables(reader).tables}
    target = tables['/controller/target'].columns
    # minimum jerk, in closed form
    u = np.clip(target['stamp'] / 0.5, 0.0, 1.0)
    expected = step * u**3 * (10 - 15 * u + 6 * u * u)
    # it is led by samples of a millisecond, to the newest of which a state belongs
    assert target['position/motor'] == pytest.approx(expected, abs=1.875 * step / 0.5 * 2e-3)
    assert target['position/motor'][-1] == step
    run = read_run(path)
    assert run.parameters['controller'] == {
        'position_gain': [40.0],
        'velocity_gain': [2.0],
        'shaper': 'none',
        'vibration_feedback': 'none',
    }
    assert recorded_servo_gains(run, run.arm)[0] == (pytest.approx(40.0), pytest.approx(2.0))
    # the robot of the report carries what the simulated one did
    bare, laden = (frs.load('single_link'), run.arm)
    assert laden.frames and frs.frequencies(laden)[0] == pytest.approx(
        frs.frequencies(frs.with_payload(bare, 'tool', 0.2))[0], rel=1e-9
    )
    assert frs.frequencies(laden)[0] < 0.9 * frs.frequencies(bare)[0]


def test_an_arm_with_other_numbers_than_its_urdf_is_not_recorded(tmp_path):
    arm = frs.with_parameters(frs.load('two_link'), {'forearm.EIz': ('*', 1.1)})
    with pytest.raises(UsageError, match='parameters differ from those of its URDF'):
        SimulationRecording(tmp_path / 'run.mcap', arm)
    assert not [*tmp_path.iterdir()]
    loaded = frs.with_payload(frs.load('two_link', gravity=(0.0, 0.0, -1.62)), 'tool', 0.1)
    SimulationRecording(tmp_path / 'run.mcap', loaded).close()


def test_state_and_constraint_force_of_a_loop_are_recorded(tmp_path):
    arm = frs.load('four_bar')
    simulation = frs.Simulation(arm)
    recording, forces = SimulationRecording(tmp_path / 'loop.mcap', arm), []
    for _ in range(3):
        simulation.step(5)
        recording.add(simulation)
        forces.append(simulation.constraint_force('coupler_end'))
    recording.close()
    tables = read_tables(RecordingReader(tmp_path / 'loop.mcap')).tables
    columns = next(item.columns for item in tables if item.topic.name.endswith('/coupler_end'))
    for row, name in enumerate(('torque', 'force')):
        for k, axis in enumerate('xyz'):
            found = columns[f'wrench/{name}/{axis}']
            assert found == pytest.approx(np.array(forces)[:, 3 * row + k], abs=1e-12)
    by_topic = {item.topic.name: item.columns for item in tables}
    q = [
        by_topic[topic][name][-1]
        for topic in ('/joint_states', '/flex_states')
        for name in by_topic[topic]
        if name.startswith('position/')
    ]
    assert np.array_equal(q, simulation.q)  # every bit, so that the loop is closed
