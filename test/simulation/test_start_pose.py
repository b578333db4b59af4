"""Robots whose zero pose is beyond joint limits: every interface starts within and reports it."""

import importlib.metadata
import json
import re
import warnings

import numpy as np
import pytest
from arms import Z, flexibility, joint, link, robot

import flex_robot_sim as frs
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.batch.batch import Batch
from flex_robot_sim.cli import main
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.realtime.loop_settings import LoopSettings
from flex_robot_sim.util.share import shipped_robots

Y = '<axis xyz="0 1 0"/>'
START = [0.0, 0.8]
NOTE = 'the zero pose is beyond joint limits: the arm starts with "elbow" at 0.8 rad'
BEYOND = '"elbow" at 0 rad is beyond its limits, 0.8 to 2.5 rad'


def limits(lower, upper):
    return f'<limit lower="{lower}" upper="{upper}" effort="200" velocity="4"/>'


OFFSET = robot(
    link('upper'),
    joint('shoulder', 'revolute', 'base', 'upper', Z + limits(-2, 2)),
    link('fore'),
    joint('elbow', 'revolute', 'upper', 'fore', '<origin xyz="1 0 0"/>' + Y + limits(0.8, 2.5)),
    link('hand'),
    joint('wrist', 'fixed', 'fore', 'hand', '<origin xyz="1 0 0"/>'),
    flexibility('<joint name="elbow" stiffness="5e4" rotor_inertia="0.1"/>'),
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / 'offset.urdf'
    path.write_text(OFFSET, 'utf-8')
    return str(path)


def test_a_simulation_starts_at_the_nearest_pose_within_limits_and_reports_it_once():
    sim = frs.Simulation(frs.load(OFFSET))
    assert sim.position.tolist() == sim.motor_position.tolist() == START
    assert sim.reports == [NOTE]
    before = sum(sim.energy()[:3])
    sim.step(1000)
    # the stop stores no energy, so the arm only falls
    assert sim.reports == [NOTE] and sum(sim.energy()[:3]) <= before + 1e-6
    sim.reset()
    assert sim.position.tolist() == START and sim.reports == [NOTE]


def test_a_given_position_replaces_the_line_about_the_start():
    sim = frs.Simulation(frs.load(OFFSET))
    sim.set_state([0.1, 1.0])
    assert sim.reports == []
    sim.set_state([0.0, 0.0])
    assert sim.position.tolist() == [0.0, 0.0]
    assert sim.reports == [f'the state has {BEYOND}; its stop pushes it back']
    sim.set_state(q=np.zeros(sim.arm.size))
    assert sim.reports == [f'the state has {BEYOND}; its stop pushes it back']


def test_a_batch_starts_as_a_simulation_does():
    arm = frs.load(OFFSET)
    batch, sim = Batch(arm, 3), frs.Simulation(arm)
    assert (batch.q == sim.q).all() and batch.reports == [(0, NOTE)]
    batch.step(200)
    sim.step(200)
    assert (batch.q == sim.q).all()
    batch.reset([1])
    assert batch.position[1].tolist() == START
    batch.set_state([[0.0, 1.0], [0.0, 0.0]], members=[0, 2])
    assert batch.reports[-1] == (2, f'the state has {BEYOND}; its stop pushes it back')
    assert all(k == 2 for k, line in batch.reports if 'the state has' in line)


def test_the_real_time_loop_reports_the_start_once():
    arm = frs.load(OFFSET)
    loop = SimulationLoop(frs.Simulation(arm), LoopSettings(), effort_limits(arm))
    assert loop.simulation.position.tolist() == START
    loop.reset()
    loop.turn()
    assert loop.events.get_nowait() == ('warning', NOTE) and loop.events.empty()


def test_a_given_initial_position_of_the_loop_is_kept():
    arm = frs.load(OFFSET)
    loop = SimulationLoop(
        frs.Simulation(arm), LoopSettings(initial_position=(0.2, 1.5)), effort_limits(arm)
    )
    assert loop.simulation.position.tolist() == [0.2, 1.5] and loop.events.empty()


def test_equilibrium_and_modes_are_those_of_the_start():
    arm = frs.load(OFFSET)
    assert equilibrium(arm).q.tolist() == equilibrium(arm, START).q.tolist()
    assert modes(arm).note == ''
    assert modes(arm, [0.0, 0.0]).note == (
        f'{BEYOND}; the stiffness of its stop is part of the modes'
    )


def test_simulate_and_modes_say_where_they_start(file, capsys):
    assert main(['simulate', file, '--seconds', '0.5', '--json']) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary['reports'] == [NOTE] and summary['energy']['dissipated'] < 50.0
    assert main(['simulate', file, '--seconds', '0.1', '--start', '0,0']) == 0
    assert f'note: the state has {BEYOND}; its stop pushes it back\n' in capsys.readouterr().out
    assert main(['modes', file, '--json']) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)['pose'] == START and err == f'flexsim modes: note: {NOTE}\n'


def test_check_names_the_joints(file, capsys):
    assert main(['check', file]) == 0
    line = (
        'offset.urdf:6: zero is beyond the limits of joint "elbow", 0.8 to 2.5. Simulations '
        'start with this joint at 0.8; give another pose if needed.'
    )
    assert line in capsys.readouterr().out


def test_a_sweep_starts_within_limits_and_says_so():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        table = frs.sweeps.sweep(
            OFFSET,
            vary={'shoulder.to': '0.1,0.2'},
            run=frs.sweeps.Manoeuvre(to=(0.1, 1.0), seconds=0.2),
        )
    assert [str(one.message) for one in said] == [f'{NOTE}.']
    assert (table['note'] == '').all()


def test_all_shipped_robots_start_in_their_zero_pose():
    for name in shipped_robots():
        sim = frs.Simulation(frs.load(name))
        # closing a loop leaves rounding
        assert np.abs(sim.q).max() <= 1e-12 * bool(sim.arm.closed_loops), name
        assert sim.reports == [], name


def public_robots():
    """Folder of the installed wheel example-robot-data, or None."""
    try:
        found = importlib.metadata.distribution('example-robot-data')
    except importlib.metadata.PackageNotFoundError:
        return None
    return found.locate_file('cmeel.prefix/share/example-robot-data/robots')


@pytest.mark.skipif(public_robots() is None, reason='pip install example-robot-data')
@pytest.mark.parametrize(
    'path, moved',
    [
        ('panda_description/urdf/panda.urdf', ['panda_joint4']),
        (
            'kinova_description/robots/kinova.urdf',
            ['j2s6s200_joint_2', 'j2s6s200_joint_3', 'j2s6s200_joint_5'],
        ),
    ],
)
def test_stops_do_not_accelerate_public_robots_at_the_start(path, moved):
    sim = frs.Simulation(frs.load(public_robots() / path))
    assert [name for name in sim.arm.joint_names if f'"{name}"' in sim.reports[0]] == moved
    start = sum(sim.energy()[:3])
    sim.step(2000)
    energy = sim.energy()
    # the lost energy comes only from its height
    assert energy.dissipated <= start - energy.gravity + 1e-6


@pytest.mark.skipif(public_robots() is None, reason='pip install example-robot-data')
def test_a_public_arm_with_elastic_gears_starts_a_move_in_equilibrium(tmp_path, capsys):
    text = (public_robots() / 'ur_description/urdf/ur5_robot.urdf').read_text('utf-8')
    gears = flexibility(
        *(
            f'<joint name="{name}_joint" stiffness="2e4" rotor_inertia="1"/>'
            for name in ('shoulder_lift', 'elbow')
        )
    )
    file = tmp_path / 'ur5.urdf'
    file.write_text(text.replace('</robot>', f'{gears}</robot>'), 'utf-8')
    pose = '0,-1.2,1.2,-1.57,-1.57,0'
    words = f'simulate {file} --start={pose} --to={pose} --within 0.5 --seconds 0.5 --json'
    assert main(words.split()) == 0
    # the drop onto straight springs has 0.5 (m g l)^2 / k of some 0.1 J
    assert json.loads(capsys.readouterr().out)['energy']['kinetic'] < 1e-4


@pytest.mark.long
@pytest.mark.skipif(public_robots() is None, reason='pip install example-robot-data')
def test_a_public_arm_with_dry_friction_in_every_joint_comes_to_rest_and_does_not_hunt():
    text = (public_robots() / 'panda_description/urdf/panda.urdf').read_text('utf-8')
    text = re.sub(r'<dynamics [^>]*/>', '', text)
    text = re.sub(
        r'(<joint name="[^"]*" type="(?:revolute|prismatic)">)',
        r'\1<dynamics friction="0.2"/>',
        text,
    )
    arm = frs.load(text)
    sim, controller = frs.Simulation(arm), JointController(arm)
    start = np.array([0.0, 0.2, 0.0, -1.5, 0.0, 1.5, 0.3, 0.02])
    goal = start + np.array([0.6, 0.4, -0.5, -0.5, 0.6, 0.5, 0.6, 0.0])
    sim.set_state(start)
    places = []

    def run(until):
        while sim.time < until - 1e-9:
            sim.effort = controller.update(sim.time, sim.position, sim.velocity)
            sim.step(2)
            places.append(sim.position)

    run(0.1)
    none = np.zeros(8)
    controller.follow(Trajectory(arm.joint_names, [2.0], [goal], [none], [none]), sim.time)
    run(60.0)
    places.clear()
    run(120.0)
    assert np.abs(places[-1] - goal).max() < 5e-3
    assert np.ptp(places, axis=0).max() < 1e-3
