"""Lines about loops that leave passive joints free, and about singular start poses."""

import re

import numpy as np
import pytest
from closed_loops import LOOPS

import flex_robot_sim as frs
from flex_robot_sim.cli import main


def five_bar(length):
    """Return the four-bar with a rod between coupler and rocker: one more degree of freedom."""
    text = frs.read_description('four_bar').text
    start = text.index('<constraint name')
    rod = re.sub(r'<(parent|child)_axis[^>]*/>', '', text[start:])
    return text[:start] + rod.replace('"revolute"', f'"distance" length="{length}"', 1)


def parallelogram():
    """Return a parallelogram with all links on one line, moved by its crank."""
    builder = frs.ArmBuilder('parallelogram')
    for name in ('crank', 'coupler', 'rocker'):
        builder.add_rigid(name, mass=0.3, centre=(0.1, 0, 0), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_joint('crank_joint', parent='base', child='crank', axis='y')
    passive = {'axis': 'y', 'effort': 0.0}
    builder.add_joint('coupler_joint', parent='crank', child='coupler', xyz=(0.2, 0, 0), **passive)
    builder.add_joint('rocker_joint', parent='base', child='rocker', xyz=(0.5, 0, 0), **passive)
    return builder.add_constraint(
        'pin',
        type='spherical',
        parent='rocker',
        parent_xyz=(0.2, 0, 0),
        child='coupler',
        child_xyz=(0.5, 0, 0),
    ).build()


def test_a_joint_that_nothing_holds_is_reported_with_its_line(tmp_path, capsys):
    text = five_bar(0.1)
    path = tmp_path / 'five_bar.urdf'
    path.write_text(text)
    line = text[: text.index('<joint name="coupler_joint"')].count('\n') + 1
    simulation = frs.Simulation(frs.load(str(path)))  # both points coincide at zero
    assert simulation.reports == [
        f'{path}:{line}: 1 degree of freedom is left where all motors stand still, with motion of '
        'coupler_joint, rocker_joint. Add a constraint, or give a joint a motor or a spring, '
        'unless it is to swing freely.'
    ]
    assert main(['check', str(path)]) == 0
    assert f'warning: {simulation.reports[0]}' in capsys.readouterr().out


def test_a_spring_holds_it():
    text = five_bar(0.1).replace(
        '<flexibility>', '<flexibility><joint name="rocker_joint" spring_stiffness="2"/>'
    )
    assert frs.Simulation(frs.load(text)).reports == []


def test_a_singular_start_pose_is_reported():
    simulation = frs.Simulation(parallelogram())
    (line,) = simulation.reports
    assert 'the start pose is singular: the motors do not determine the passive joints' in line
    simulation.set_state([0.4, 0.0, 0.0])
    assert simulation.reports == []
    simulation.step(10)
    assert simulation.reports == []


def moving(position, rate):
    """Positions and velocities of the joints of the parallelogram."""
    return position * np.array([1.0, -1.0, 1.0]), rate * np.array([1.0, -1.0, 1.0])


def test_a_singular_pose_in_a_run_is_reported_once():
    # all links have the same rate in every pose, so that only gravity would change it
    arm = parallelogram()
    line = (
        'the closed loops reach a singular pose at {:.4g} s: the motors do not determine the '
        'passive joints there. Keep away from it'
    )
    simulation = frs.Simulation(arm)
    simulation.set_state(*moving(0.1, -20.0))
    simulation.step(2)
    state = simulation.save_state()
    for _ in range(20):
        simulation.step()
    (found,) = simulation.reports
    passed = float(found.split(' at ')[1].split(' s:')[0])
    assert found == line.format(passed)
    assert passed == pytest.approx(0.1 / 20.0, abs=1.1e-3)
    simulation.restore_state(state)
    assert simulation.reports == []
    simulation.step(400)  # more turns, in one call
    assert simulation.reports == [found]
    batch = frs.Batch(arm, 2)
    batch.set_state(*np.stack([moving(0.1, -20.0), moving(1.5, 0.0)], axis=1))
    batch.step(20)
    assert batch.reports == [(0, found)]


def test_a_loop_without_singular_poses_has_no_such_line():
    simulation = frs.Simulation(frs.load('four_bar'))
    simulation.set_state(v=[20.0, 0.0, 0.0])
    simulation.step(1000)
    assert simulation.position[0] > 6.0  # turns
    assert simulation.reports == []


def test_check_refuses_a_loop_that_does_not_close(tmp_path, capsys):
    path = tmp_path / 'far.urdf'
    text = frs.read_description('four_bar').text
    path.write_text(text.replace('<origin xyz="0.5 0 0"/>', '<origin xyz="1.2 0 0"/>'))
    assert main(['check', str(path)]) == 2
    line = text[: text.index('<constraint name')].count('\n') + 1
    assert capsys.readouterr().err.startswith(
        f'{path}:{line}: constraint "coupler_end" does not close: 0.1 m are left'
    )


@pytest.mark.parametrize('name', LOOPS)
def test_shipped_robots_have_no_such_joint(name):
    assert frs.Simulation(frs.load(name)).reports == []
