"""
Predicted standard deviations of a design, against fits of many noise samples.

The reference is linear and shares only the arm with fit and design: its matrices about the
pose, their exact steps, differences, and noise that the servo filters (Gauss-Markov).
"""

import json
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.signal import cont2discrete

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.identification.excitation_trajectories import excitation_trajectory
from flex_robot_sim.identification.experiment_design import information, with_noise
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.simulated_experiment import available_channels, scaled_to_limits
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

PERIOD = 4e-3  # of samples                                                        [s]
NOISE = np.array([1e-4, 5e-4, 5e-4, 2e-3, 2e-2])  # assumed [rad, 1/m, rad/s, m/s2]
LENGTH = 0.6  # of the link with the IMU at its end                               [m]
SIZES = {'arm.stiffness': (1.0, 1e-3), 'arm.damping_ratio': (0.005, 1e-2)}  # value, relative step
FREE = [*SIZES, 'delay']
IMU = ('gyro/imu/z', 'acceleration/imu/y')
NOISES = 400


def robot(name='imu', has_gauges=True):
    """Return the URDF of single_link with a massless link at its tip."""
    text = (
        shipped_robots()['single_link']
        .read_text('utf-8')
        .replace(
            '</robot>',
            f'<link name="{name}"/><joint name="mount" type="fixed"><parent link="arm"/>'
            f'<child link="{name}"/><origin xyz="{LENGTH} 0 0"/></joint></robot>',
        )
    )
    return (
        text
        if has_gauges
        else '\n'.join(line for line in text.splitlines() if '<flex_sensor' not in line)
    )


def arm_of(values=None, name='imu'):
    return build_arm(with_parameters(frs.read_description(robot(name)), values or {}))


def trial_of(arm):
    plan = excitation_trajectory('sweep', np.zeros(1), 4.0, (0.5, 4.0), PERIOD)
    return scaled_to_limits(arm, plan, signals=[name for name in IMU if 'imu' in arm.frames])


@cache
def soft_servo():
    """Return stiffness, damping and lag of the servo for the linear arm, (I2)."""
    model = frs.linearise(arm_of(), [0.0])
    A, B = model.A[1:, 1:], model.B[1:]
    slow = np.abs(np.linalg.eigvals(A)).min()  # friction over inertia
    row = model.C[model.outputs.index('motor/velocity'), 1:]
    inertia = 1 / (slow * float((-row @ np.linalg.solve(A, B)).item()))
    first = min(f for f in frs.modes(arm_of(), [0.0]).frequencies if f > 0.1)
    rate = 2 * np.pi * min(1.0, 0.3 * first)
    return inertia * rate**2, 1.4 * inertia * rate, 0.1 / rate


def simulate(values, effort, place):
    """Return the measurements (k, 5, m) of the arm, prescribed by efforts and positions (k, m)."""
    kp, kd, lag = soft_servo()
    model = frs.linearise(arm_of(values), [0.0])
    row = {name: model.C[k] for k, name in enumerate(model.outputs)}
    B, motor = model.B[:, :1], row['motor/position'][None]
    # lag s' = kp (y - q) + kd (y' - q') - s, with s = kd / lag (y - q) + z
    A = np.block(
        [[model.A - kd / lag * B @ motor, B], [-(kp - kd / lag) / lag * motor, -np.eye(1) / lag]]
    )
    B = np.block([[B, kd / lag * B], [np.zeros((1, 1)), (kp - kd / lag) / lag * np.eye(1)]])
    row = {name: np.append(values, 0.0) for name, values in row.items()}
    tip = LENGTH * row['motor/velocity'] + row['arm/tip_y/rate']
    C = np.array(
        [
            row['motor/position'],
            row['arm/root'],
            row['arm/tip'],
            row['motor/velocity'] + row['arm/tip_turn_z/rate'],
            tip @ A,
        ]
    )
    D = np.zeros((5, 2))
    D[4] = tip @ B
    A, B, C, D, _ = cont2discrete((A, B, C, D), PERIOD, 'foh')
    x, out = np.zeros((len(A), place.shape[1])), []
    for push in np.stack(np.broadcast_arrays(effort, place), axis=1):
        out.append(C @ x + D @ push)
        x = A @ x + B @ push
    return np.array(out)


@pytest.mark.parametrize('name, count', [('cap', 3), ('imu', 5)], ids=['gauges', 'and an IMU'])
def test_predicted_deviations_of_a_design_agree_with_fits(name, count):
    arm = arm_of(name=name)
    trial = trial_of(arm)
    found = information(arm, trial, FREE)
    effort, place = trial.sequence.efforts, trial.sequence.positions
    time, at = trial.sequence.time, CubicSpline(trial.sequence.time, place)

    def late(d):  # the servo acts towards the delayed position
        ahead = np.clip(time + d, time[0], time[-1])
        out = simulate({}, effort, at(ahead))[..., 0]
        return CubicSpline(time, out)(np.clip(time - d, time[0], time[-1]))

    columns = []
    for path, (value, share) in SIZES.items():
        more, less = (
            simulate({path: value * (1 + sign * share)}, effort, place)[..., 0] for sign in (1, -1)
        )
        columns.append((more - less) / (2 * share))
    columns.append((late(1e-4) - late(-1e-4)) / 0.2)  # for a millisecond
    columns += [np.tile(zero, (len(place), 1)) for zero in np.eye(5)[1:count]]  # zeros
    noise = NOISE[:count, None]
    J = (np.stack(columns, axis=-1)[:, :count] / noise).reshape(len(place) * count, -1)
    white = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))[:3]
    # small angles, and rates by seven neighbours
    assert found.deviations == pytest.approx(white, rel=0.02)
    random = np.random.default_rng(1)
    rough = noise * random.normal(size=(len(place), count, NOISES))
    off = rough - simulate({}, np.zeros(1), rough[:, 0])[:, :count]
    fits = np.linalg.lstsq(J, (off / noise).reshape(-1, NOISES), rcond=None)[0]
    scatter = fits[:3].std(axis=1) / found.deviations
    # 400 noise samples determine it to 3.5 %; noise through the servo adds to the prediction
    assert (scatter > 0.9).all() and (scatter < 1.4).all()


def test_imus_are_found_by_link_name_and_by_signal():
    six = {f'{kind}/imu/{axis}' for kind in ('gyro', 'acceleration') for axis in 'xyz'}
    assert six < {*available_channels(arm_of())[0]}
    arm = arm_of(name='cap')
    assert available_channels(arm)[0] == ('position/motor', 'arm/root', 'arm/tip')
    # the options of flexsim identify; the columns do not exist yet
    words = ['gyro/cap/z=wz*deg', 'position/motor=q1']
    assert available_channels(arm, words)[0] == (
        'position/motor',
        'arm/root',
        'arm/tip',
        'gyro/cap/z',
    )
    bare = frs.read_description(robot('cap', has_gauges=False))
    # tip positions count as measured only if there is no other sensor
    assert 'tip/arm/y' in available_channels(build_arm(bare))[0]
    assert available_channels(build_arm(bare), words)[0] == ('position/motor', 'gyro/cap/z')


def test_a_signal_without_a_sensor_is_a_one_line_error(tmp_path, capsys):
    (tmp_path / 'arm.urdf').write_text(robot('cap'), 'utf-8')
    assert main(['excite', str(tmp_path / 'arm.urdf'), '--signal', 'gyro/cup/z']) == 2
    assert capsys.readouterr().err.endswith(
        'flexsim excite: --signal gyro/cup/z: no sensor of this robot. Near: gyro/cap/z, '
        'gyro/hub/z, gyro/cap/y, gyro/cap/x, gyro/hub/y, gyro/hub/x.\n'
    )


@pytest.mark.parametrize('words', [['--output', 'ex'], ['--log', 'ex.profile.yaml']])
def test_an_existing_file_is_reported_before_the_design_starts(
    tmp_path, monkeypatch, capsys, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'ex.profile.yaml').touch()
    # a motion of ten minutes is not computed
    assert main(['excite', 'two_link', '--seconds', '600', *words]) == 2
    assert capsys.readouterr().err == (
        f'flexsim excite: {words[0]} ex.profile.yaml: exists already. Name another one, or '
        'replace it by --force.\n'
    )
    assert main(['excite', 'two_link', '--seconds', '600', '--log', 'none/run.csv']) == 2
    assert capsys.readouterr().err == (
        'flexsim excite: none/run.csv: cannot be written: No such file or directory.\n'
    )


@pytest.mark.long
def test_a_design_for_an_imu_alone_is_identified_with_it(tmp_path, capsys):
    path, log = tmp_path / 'arm.urdf', tmp_path / 'run.csv'
    path.write_text(robot('cap', has_gauges=False), 'utf-8')
    free = ['--free', 'arm.stiffness,delay', '--json']
    words = f'excite {path} --kind decay --seconds 5 --pose 0 --signal gyro/cap/z --log {log}'
    assert main([*words.split(), *free]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said['measured'] == ['position/motor', 'gyro/cap/z']
    assert main(['identify', str(log), str(path), *free]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['estimates']['arm.stiffness']['value'] == pytest.approx(1.0, abs=2e-3)


def test_a_log_has_the_noise_of_its_sensors_and_none_in_efforts():
    time = np.arange(20000) * 1e-3
    log = Log(
        'run',
        {
            name: Column(time, np.sin(time))
            for name in (
                'position/motor',
                'arm/root',
                'gyro/imu/z',
                'acceleration/imu/y',
                'effort/motor',
            )
        },
        [],
    )
    first, again, other = (with_noise(log, seed) for seed in (3, 3, 4))
    for name, size in zip(log.columns, (*NOISE[[0, 1, 3, 4]], 0.0)):
        values = [one.columns[name].values for one in (first, again, other)]
        np.testing.assert_array_equal(values[0], values[1])
        # of 20,000 differences, to four standard deviations
        assert (values[0] - values[2]).std() == pytest.approx(np.sqrt(2) * size, rel=0.02)
        assert (values[0] - np.sin(time)).std() == pytest.approx(size, rel=0.02)
