"""`flexsim excite` on public robots: the written trajectory respects the limits of the URDF."""

import contextlib
import io
import json
import re
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from public_robots import public_robot
from scipy.interpolate import CubicHermiteSpline

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.model.arm_model import ArmModel

pytestmark = pytest.mark.slow

SECONDS, KIND = 6.0, 'chirp'
STEP = 1e-3  # of the servo [s]
STIFFNESS, ROTOR = 1e5, 0.1  # of the gears [N m/rad], [kg m2]
GEARS = {
    'ur_description/urdf/ur5_robot.urdf': ('shoulder_lift_joint', 'elbow_joint'),
    'z1_description/urdf/z1.urdf': ('joint2', 'joint3'),
}


class Course(NamedTuple):
    """A trajectory as it stands in the file, with its beginning."""

    time: np.ndarray  # (k,) [s]
    positions: np.ndarray  # (k, joints)
    velocities: np.ndarray  # (k, joints)
    limits: dict[str, np.ndarray]  # (joints,) each, by the word of the URDF
    names: list[str]
    path: str  # of the rigid robot
    key: str  # of GEARS
    arm: ArmModel
    usage: dict[str, float]  # that the command states, of each limit


@pytest.fixture(scope='module', params=GEARS)
def course(request, tmp_path_factory):
    """Return the Course that `flexsim excite` writes for a robot with elastic gears."""
    source, folder = public_robot(request.param), tmp_path_factory.mktemp('excite')
    gears = ''.join(
        f'<joint name="{name}" stiffness="{STIFFNESS}" damping="40" rotor_inertia="{ROTOR}"/>'
        for name in GEARS[request.param]
    )
    # Pinocchio has no friction here
    text = re.sub(r'(<dynamics )[^/]*/>', r'\1/>', source.read_text('utf-8'))
    before, end, after = text.rpartition('</robot>')
    robot = folder / 'robot.urdf'
    robot.write_text(f'{before}<flexibility>{gears}</flexibility>{end}{after}')
    words = ['--kind', KIND, '--seconds', str(SECONDS), '--free', 'stiffness', '--json']
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(['excite', str(robot), *words, '--output', str(folder / 'run')]) == 0
    summary = json.loads(out.getvalue())
    pose = summary['pose']
    message = yaml.safe_load((folder / 'run.trajectory.yaml').read_text('utf-8'))
    names, points = message['joint_names'], message['points']
    joints = {
        joint.get('name'): joint for joint in ElementTree.parse(source).getroot().findall('joint')
    }
    limits = {
        word: np.array([float(joints[name].find('limit').get(word)) for name in names])
        for word in ('lower', 'upper', 'velocity', 'effort')
    }
    stamps = [point['time_from_start'] for point in points]
    return Course(
        np.array([0.0, *(stamp['sec'] + 1e-9 * stamp['nanosec'] for stamp in stamps)]),
        np.array([[pose[name] for name in names], *(point['positions'] for point in points)]),
        np.array([np.zeros(len(names)), *(point['velocities'] for point in points)]),
        limits,
        names,
        str(source),
        request.param,
        frs.load(robot),
        summary['limits'],
    )


@pytest.mark.long(after=1)
def test_positions_and_their_differences_stay_within_the_limits(course):
    assert (course.positions > course.limits['lower']).all()
    assert (course.positions < course.limits['upper']).all()
    rates = np.diff(course.positions, axis=0) / np.diff(course.time)[:, None]
    assert (np.abs(rates) < course.limits['velocity']).all()
    assert (np.abs(course.velocities) < course.limits['velocity']).all()
    assert np.abs(rates / course.limits['velocity']).max() > 0.05  # the arm moves


def test_velocities_are_the_differences_of_the_positions(course):
    central = (course.positions[2:] - course.positions[:-2]) / (
        course.time[2:] - course.time[:-2]
    )[:, None]
    scale = np.abs(course.velocities).max(axis=0)
    assert (np.abs(central - course.velocities[1:-1]) < 0.05 * scale).all()


def test_the_motion_starts_and_ends_at_rest(course):
    step = np.abs(np.diff(course.positions, axis=0)).max(axis=0)
    for first, second in ((0, 1), (-1, -2)):
        assert (np.abs(course.positions[first] - course.positions[second]) < 0.05 * step).all()
    assert not course.velocities[-1].any()


def test_efforts_of_a_servo_along_the_motion_stay_within_the_limits(course):
    # the gears are stiff, so that a rigid arm of Pinocchio has the same efforts
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(course.path)
    data = model.createData()
    assert [*model.names][1:] == course.names
    gears = GEARS[course.key]
    rotors = np.diag([ROTOR * (name in gears) for name in course.names])
    servo = design_servo(course.arm)
    stiffness, damping = np.asarray(servo.stiffness), np.asarray(servo.damping)
    q, v = course.positions[0].copy(), np.zeros(len(course.names))
    weight = pin.computeGeneralizedGravity(model, data, q).copy()
    follow, efforts = CubicHermiteSpline(course.time, course.positions, course.velocities), []
    for t in np.arange(0.0, course.time[-1], STEP):
        effort = weight + stiffness * (follow(t) - q) + damping * (follow(t, 1) - v)
        efforts.append(effort)
        mass = pin.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T + rotors
        v = v + STEP * np.linalg.solve(mass, effort - pin.nonLinearEffects(model, data, q, v))
        q = q + STEP * v
    share = np.abs(efforts).max(axis=0) / course.limits['effort']
    assert share.max() < 1.0
    stated = [course.usage[f'effort/{name}'] for name in course.names]
    assert share == pytest.approx(stated, abs=0.01)
