"""Path deviation of shaped and joined trajectories, against independent kinematics and shaping."""

from xml.etree import ElementTree

import numpy as np
import pytest
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.impulses import of_kind
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper

FILE = ROOT / 'test' / 'data' / 'robots' / 'ur5e.urdf'
FREQUENCY = 0.8  # of the mode that is shaped: half a period is 0.625 s           [Hz]
SAMPLES = 4000  # of both paths


def turn(axis, angle):
    """Rotation about a unit axis, by Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def transform(rotation, place):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, place
    return matrix


class UrdfChain:
    """Product of the transforms of a URDF from the base to a link."""

    def __init__(self, path, link):
        joints = {
            joint.find('child').get('link'): joint
            for joint in ElementTree.parse(path).getroot().findall('joint')
        }
        self._chain: list = []
        while link in joints:
            joint = joints[link]
            origin = joint.find('origin')
            place, angles = (
                np.array((origin.get(key) or '0 0 0').split(), float)
                if origin is not None
                else np.zeros(3)
                for key in ('xyz', 'rpy')
            )
            fixed = transform(
                turn((0, 0, 1), angles[2])
                @ turn((0, 1, 0), angles[1])
                @ turn((1, 0, 0), angles[0]),
                place,
            )
            axis = (
                None
                if joint.get('type') == 'fixed'
                else np.array(joint.find('axis').get('xyz').split(), float)
            )
            self._chain.insert(0, (joint.get('name'), fixed, axis))
            link = joint.find('parent').get('link')
        self.names = [name for name, _, axis in self._chain if axis is not None]

    def places(self, rows):
        """Places (k, 3) of the link for joint positions (k, joints)."""
        out = []
        for row in rows:
            values, pose = dict(zip(self.names, row)), np.eye(4)
            for name, fixed, axis in self._chain:
                pose = pose @ fixed
                if axis is not None:
                    pose = pose @ transform(turn(axis, values[name]), np.zeros(3))
            out.append(pose[:3, 3])
        return np.array(out)


def hermite(times, places, speeds, t):
    """Positions and velocities (k, joints) on cubics between points; at rest outside."""
    t = np.clip(t, times[0], times[-1])
    k = np.clip(np.searchsorted(times, t, side='right') - 1, 0, len(times) - 2)
    length = (times[k + 1] - times[k])[:, None]
    s = (t - times[k])[:, None] / length
    a, b, u, v = places[k], places[k + 1], length * speeds[k], length * speeds[k + 1]
    return (
        a * (1 + 2 * s) * (1 - s) ** 2
        + b * s**2 * (3 - 2 * s)
        + u * s * (1 - s) ** 2
        - v * s**2 * (1 - s),
        ((b - a) * 6 * s * (1 - s) + u * (1 - s) * (1 - 3 * s) + v * s * (3 * s - 2)) / length,
    )


def largest_distance(points, path):
    return max(np.linalg.norm(path - point, axis=1).min() for point in points)


CORNERS = np.array(
    [
        [0.0, -1.2, 1.0, -1.4, -1.5, 0.0],
        [0.7, -1.2, 1.0, -1.4, -1.5, 0.0],
        [0.7, -0.8, 1.3, -1.4, -1.5, 0.3],
        [0.2, -0.8, 0.8, -1.0, -1.5, 0.3],
    ]
)
TIMES = np.array([0.0, 1.0, 2.0, 3.0])


@pytest.fixture(scope='module')
def arm():
    return frs.load(str(FILE))


@pytest.fixture(scope='module')
def chain(arm):
    chain = UrdfChain(FILE, arm.tool)
    assert chain.names == list(arm.joint_names)
    return chain


@pytest.mark.slow
@pytest.mark.parametrize('joined', [False, True], ids=['one', 'joined to a motion'])
def test_the_deviation_is_that_of_the_command_on_the_chain_of_the_urdf(arm, chain, joined):
    # zero vibration: two equal impulses, half a period apart (Singer and Seering 1990)
    shaper = TrajectoryShaper(lambda end: of_kind('zv', FREQUENCY, 0.0), 0.01, arm)
    still = np.zeros_like(CORNERS)
    times, places, speeds = TIMES, CORNERS, still
    shaped = shaper.shaped(Trajectory(arm.joint_names, times, places, speeds), 0.0)
    if joined:
        shaper.keep(shaped)
        cut, goals = 1.3, np.array([[0.4, -1.0, 1.0, -1.2, -1.5, 0.1], CORNERS[0]])
        shaped = shaper.shaped(Trajectory(arm.joint_names, [0.8, 1.8], goals, still[:2]), cut)
        present = hermite(TIMES, CORNERS, still, np.array([cut]))
        times = np.array([0.0, 1.0, cut, cut + 0.8, cut + 1.8])
        places = np.vstack([CORNERS[:2], present[0], goals])
        speeds = np.vstack([still[:2], present[1], still[:2]])
    half = 0.5 / FREQUENCY
    t = np.linspace(0.0, times[-1] + half, SAMPLES)
    path = hermite(times, places, speeds, t)[0]
    command = (path + hermite(times, places, speeds, t - half)[0]) / 2
    # the sent points lie on this command
    sent = np.column_stack(
        [np.interp(shaped.start + shaped.times, t, column) for column in command.T]
    )
    np.testing.assert_allclose(shaped.positions, sent, atol=1e-5)  # lines between the samples
    is_new = t >= shaped.start
    expected = largest_distance(chain.places(command[is_new][::10]), chain.places(path))
    assert 0.01 < expected < 0.3
    # 150 samples of each path: between two of them the deviation is at most 1 % larger
    assert shaper.path_deviation(shaped) == pytest.approx(expected, rel=0.015)
