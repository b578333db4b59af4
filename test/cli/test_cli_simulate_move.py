"""`flexsim simulate --to` with a shaper or feedback: residual vibration and errors."""

import json
import re
import shlex

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from moving_arms import swinging_text
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.control.closed_loop_move import ClosedLoopMove, integral_rates
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.shaping.shaper_design import design_for_arm
from flex_robot_sim.simulation.rollout import rollout

pytestmark = pytest.mark.slow

SOFT = ('--stiffness', '20', '--damping', '1')
MOVE = ('simulate', 'single_link', '--to', '0.3', '--within', '0.5', '--seconds', '6')


def figures(capsys, *words):
    """Return the JSON object that a command prints."""
    assert main([*words, '--json']) == 0
    return json.loads(capsys.readouterr().out)


def warning(capsys, *words):
    """Return the one-line error of a command."""
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == '' and err.count('\n') == 1
    return err.strip()


@pytest.mark.long(after=1)
@pytest.mark.parametrize('kind', ['zvd', 'ei2 by pose', 'auto'])
def test_a_shaped_move_leaves_almost_no_vibration(kind, capsys):
    summary = figures(capsys, *MOVE, *SOFT, '--shaper', kind)
    assert summary['residual_vibration_ratio'] < 0.05
    assert summary['residual_vibration'] == pytest.approx(
        summary['residual_vibration_ratio'] * summary['residual_vibration_without'], rel=1e-12
    )
    assert 0.1 < summary['added_time'] < 2.0
    assert summary['missed'] == ''


@pytest.mark.long(after=1)
@pytest.mark.parametrize('kind', ['strain', 'ppf', 'lqg'])
def test_feedback_damps_the_residual_vibration_of_a_move(kind, capsys):
    # slow enough for the motor limit
    words = ['simulate', 'single_link', '--to', '0.02', '--within', '0.5', '--seconds', '4']
    servo = ['--stiffness', '60', '--damping', '0.18']
    summary = figures(capsys, *words, *servo, '--feedback', kind)
    assert summary['note'] == ''
    assert summary['residual_vibration_ratio'] < 0.3
    assert summary['added_time'] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.long(after=1)
@pytest.mark.parametrize('words', [['--feedback', 'strain'], ['--shaper', 'zvd']], ids=str)
def test_a_soft_servo_that_settles_slowly_is_reported(words, capsys):
    assert main([*MOVE, *words]) == 0
    assert (
        '  note: the servo is soft and comes to rest slowly by itself, at 1.1 Hz with 52% of '
        'critical damping: little vibration is left to suppress. Give stiffer gains, '
        '--stiffness and --damping\n'
    ) in capsys.readouterr().out
    # the recommended gain settles
    gentle = ['simulate', 'single_link', '--to', '0.02', '--within', '0.5', '--seconds', '4']
    assert main([*gentle, *words, '--stiffness', '60', '--damping', '0.18']) == 0
    out = capsys.readouterr().out
    assert 'the servo is soft' not in out
    assert float(re.findall(r'([\d.]+)% is left', out)[0]) < 30.0


@pytest.mark.long
def test_an_arm_that_no_shaper_improves_gets_none():
    arm = frs.load('single_link')
    servo = design_servo(arm)
    with pytest.raises(frs.SettingError) as caught:
        design_for_arm(arm, gains=(servo.stiffness, servo.damping))
    assert str(caught.value) == (
        'no shaper helps single_link: with each it comes to rest later, as the servo is soft '
        'and comes to rest slowly by itself, at 1.1 Hz with 52% of critical damping. Take none'
    )


@pytest.mark.long
def test_a_recommended_shaper_worse_than_none_is_rejected_for_the_move(tmp_path, capsys):
    text = (ROOT / 'test/data/robots/ur5e.urdf').read_text('utf-8')
    gears = ''.join(
        f'<joint name="{name}_joint" stiffness="{size}" damping="{3e-4 * size}" '
        f'rotor_inertia="{1e-8 * size}" gear_ratio="100"/>'
        for name, size in (
            ('shoulder_pan', 15000),
            ('shoulder_lift', 15000),
            ('elbow', 15000),
            ('wrist_1', 2800),
            ('wrist_2', 2800),
            ('wrist_3', 2800),
        )
    )
    file = tmp_path / 'ur5e.urdf'
    file.write_text(text.replace('</robot>', f'<flexibility>{gears}</flexibility></robot>'))
    pose = {'--start': ','.join(['0.1'] * 6), '--to': ','.join(['0.4'] * 6)}
    words = [f'{option}={values}' for option, values in pose.items()]
    line = warning(
        capsys, 'simulate', str(file), *words, *shlex.split('--within 1 --seconds 5 --shaper auto')
    )
    assert re.search(
        r'no shaper helps this move of ur5e: the recommended one leaves 1\d\d% of '
        r'the vibration, as the servo is soft .* Leave --shaper out, or give '
        r'stiffer gains, --stiffness and --damping$',
        line,
    )


def test_a_move_without_shaper_and_feedback_is_smooth_and_arrives(capsys):
    summary = figures(capsys, *MOVE)
    assert summary['position']['motor'] == pytest.approx(0.3, abs=0.01)
    assert 'residual' not in summary


def test_the_shaper_includes_the_payload(capsys):
    words = [*MOVE, *SOFT, '--shaper', 'zvd', '--payload']
    left, added = zip(
        *(
            (summary['residual_vibration_ratio'], summary['added_time'])
            for summary in (figures(capsys, *words, mass) for mass in ('0', 'tool=0.2'))
        )
    )
    assert max(left) < 0.05
    assert added[1] > 1.05 * added[0]  # its frequency is lower


@pytest.mark.long
def test_integral_action_compensates_an_unmodelled_payload():
    arm, goal, left = frs.load('two_link'), np.array([0.3, 0.5, -0.4]), []
    fit = design_servo(arm)
    servo = fit.stiffness, fit.damping
    for integral in (None, integral_rates(arm, servo, 0.2, 1e-3)):
        simulation = frs.Simulation(arm)
        simulation.set_payload('tool', 0.1)
        move = ClosedLoopMove(simulation, goal, servo, 1.0, integral=integral)
        rollout(simulation, duration=15.0, controller=move, **move.timing._asdict())
        left.append(np.abs(simulation.motor_position - goal).max())
    assert left[0] > 0.01 and left[1] < 1e-3


def test_the_text_output_is_one_line(capsys):
    assert main([*MOVE, *SOFT, '--shaper', 'zv']) == 0
    assert re.search(
        r'  residual vibration of the tip: [\d.]+ mm with zv, [\d.]+ mm without: '
        r'[\d.]+% is left; it takes [\d.]+ s longer\n',
        capsys.readouterr().out,
    )
    assert (
        main([*shlex.split('simulate single_link --to 0.05 --seconds 0.2 --shaper zv'), *SOFT])
        == 0
    )
    assert 'zv: the move ends too late to see what is left' in capsys.readouterr().out


@pytest.mark.parametrize(
    'words, line',
    [
        (['--shaper', 'zv'], '--integral and --within need a pose to go to: --to.'),
        (['--to', '0.1', '--shaper', 'round'], '--shaper round: is none of zv, zvd'),
        (['--to', '0.1,0.2', '--shaper', 'zv'], 'must be 1 finite numbers, in this order: motor'),
        (
            ['--to', '0.1', '--shaper', 'zv', '--time-step', '0.4'],
            'is not below half of the 2.5 set',
        ),
        (['--to', '0.1', '--payload', 'much'], '--payload much: is not a mass'),
        (['--to', '0.1', '--payload', 'hat=1'], 'no link "hat" that carries a payload'),
        (['--to', '0.1', '--integral', '0'], '--integral must be above 0 and at most 1.'),
        (['--to', '0.1', '--within', '-1'], '--within must be 0 or more.'),
        (['--to', '0.1', '--within', '1', '--effort', 'motor=1'], 'go without --effort.'),
    ],
    ids=str,
)
def test_an_impossible_option_is_one_line(words, line, capsys):
    assert line in warning(
        capsys, 'simulate', 'single_link', *words, *(SOFT if '--to' in words else ())
    )


def test_arms_without_vibration_or_gauges_are_reported(tmp_path, capsys):
    stiff, blind = tmp_path / 'stiff.urdf', tmp_path / 'blind.urdf'
    stiff.write_text(
        robot(joint('hinge', inside='<axis xyz="0 0 1"/>'), link('arm', 1.0, '0 0 0', (0.4,) * 3))
    )
    blind.write_text(swinging_text(damping='0.1'))
    for kind in ('zvd', 'auto'):
        assert 'it needs no shaper' in warning(
            capsys, 'simulate', str(stiff), '--to', '0.1', '--shaper', kind
        )
    assert 'needs flex sensors' in warning(
        capsys, 'simulate', str(blind), '--to', '0.1,0.1', '--feedback', 'strain'
    )


def sagging_text(stiffness=(8e3, 4e3)):
    """Return two links in a vertical plane, with flexible undamped gears."""
    y = '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="500" velocity="4"/>'
    forward = '<origin xyz="1 0 0"/>'
    gears = (
        f'<joint name="{name}" stiffness="{size}" rotor_inertia="{rotor}"/>'
        for name, size, rotor in zip(('shoulder', 'elbow'), stiffness, (3, 1))
    )
    return robot(
        link('upper', 4.0),
        joint('shoulder', 'revolute', 'base', 'upper', y),
        link('fore', 2.0),
        joint('elbow', 'revolute', 'upper', 'fore', forward + y),
        link('tool', 1.0, '0 0 0', (1e-3,) * 3),
        joint('wrist', 'fixed', 'fore', 'tool', forward),
        flexibility(*gears),
    )


STIFF = ('--stiffness', '3e4,1e4', '--damping', '300,100')


def test_a_move_starts_in_equilibrium_so_that_a_shaper_leaves_nothing(tmp_path, capsys):
    file = tmp_path / 'sagging.urdf'
    file.write_text(sagging_text(), 'utf-8')
    words = ['simulate', str(file), *STIFF]
    # held at its start it stays, except for a second-order effect: the weight moves with the sag
    summary = figures(capsys, *words, '--start=-0.6,0.8', '--to=-0.6,0.8', '--seconds', '0.5')
    assert summary['energy']['kinetic'] < 1e-4 and summary['reports'] == []
    for start in (['--start=-0.6,0.8'], []):
        left = figures(
            capsys,
            *words,
            *start,
            *shlex.split('--to=-0.2,0.4 --within 0.6 --seconds 4 --shaper zvd'),
        )['residual_vibration_ratio']
        # a linear arm has no residual vibration; with initially straight springs, 99 %
        assert left < 0.03


def test_an_arm_without_equilibrium_starts_straight_and_reports_it(tmp_path, capsys):
    file = tmp_path / 'soft.urdf'
    file.write_text(sagging_text((30.0, 5.0)), 'utf-8')  # upright, the gears buckle
    summary = figures(capsys, 'simulate', str(file), '--start=-1.5707963,0', '--seconds', '0.01')
    assert len(summary['reports']) == 1
    assert summary['reports'][0].startswith(
        'the arm starts with straight springs: the arm has no stable equilibrium'
    )
