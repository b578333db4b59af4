"""Static Jacobians, compared with differences of equilibria and with a closed form."""

import numpy as np
import pytest
from arms import joint, robot
from public_robots import public_robot
from random_arms import random_robot
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs

STEP = 1e-3
WEIGHTS = (3 / 4, -3 / 20, 1 / 60)  # of a central difference of sixth order


def by_differences(arm, position, link, pushes, station):
    """Return the body Jacobian (6, joints) from poses of equilibria on both sides."""

    def frame(position):
        return frs.pose(
            arm, frs.equilibrium(arm, position, pushes=pushes).q, link=link, station=station
        )

    here, columns = frame(position), []
    for direction in np.eye(len(position)):
        column = np.zeros(6)
        for m, weight in enumerate(WEIGHTS, 1):
            for sign in (-1.0, 1.0):
                moved = np.linalg.inv(here) @ frame(position + sign * m * STEP * direction)
                turn = Rotation.from_matrix(moved[:3, :3]).as_rotvec()
                column += sign * weight * np.concatenate([turn, moved[:3, 3]]) / STEP
        columns.append(column)
    return np.array(columns).T


@pytest.mark.long(after=4)
@pytest.mark.parametrize(
    'source', ['two_link', 'rig', *(random_robot(seed) for seed in (0, 3, 5))]
)
@pytest.mark.parametrize('pushed', [False, True])
def test_it_is_the_derivative_of_the_pose_in_equilibrium(source, pushed):
    arm, rng = frs.load(source), np.random.default_rng(4)
    position = rng.uniform(-0.3, 0.3, len(arm.joint_names))
    links = [name for name, frame in arm.frames.items() if frame.body >= 0]
    pushes = (
        [
            frs.Push(links[-1], (0.3, -0.2, 0.4), (0.02, 0.0, 0.01), follows=True),
            frs.Push(links[0], (0.1, 0.5, 0.2)),
        ]
        if pushed
        else []
    )
    for name, station in (
        (links[-1], None),
        (links[len(links) // 2], None),
        *((name, 'tip') for name in [*arm.tips][:1]),
    ):
        expected = by_differences(arm, position, name, pushes, station)
        found = frs.static_jacobian(arm, position, link=name, pushes=pushes, station=station)
        # the twist along the path of a frame is not its rotation vector: third order
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=2e-7 * max(1.0, np.abs(expected).max())
        )
        at_rest = frs.equilibrium(arm, position, pushes=pushes).q
        np.testing.assert_allclose(
            frs.static_jacobian(arm, at_rest, link=name, pushes=pushes, station=station),
            found,
            rtol=0,
            atol=1e-9 * max(1.0, np.abs(found).max()),
        )


@pytest.mark.parametrize(
    'path', ['panda_description/urdf/panda.urdf', 'ur_description/urdf/ur5_robot.urdf']
)
@pytest.mark.parametrize('representation', ['body', 'spatial', 'hybrid', 'mixed'])
def test_for_a_rigid_arm_it_is_the_jacobian(path, representation):
    arm = frs.load(str(public_robot(path)))
    q = np.random.default_rng(2).uniform(-0.5, 0.5, arm.nq)
    np.testing.assert_allclose(
        frs.static_jacobian(arm, q, representation=representation),
        frs.jacobian(arm, q, link=arm.tool, representation=representation)[:, arm.motor_q],
        rtol=0,
        atol=1e-15,  # the second finger of the panda follows the first one
    )


def test_a_soft_gear_under_weight_moves_further_than_its_motor():
    # a pendulum m g r on a spring k, at the angle a of the link: da/dmotor = k / (k + m g r cos)
    stiffness, mass, reach = 200.0, 2.0, 0.5
    inertial = (
        f'<inertial><origin xyz="{reach} 0 0"/><mass value="{mass}"/><inertia ixx="0.01" '
        'iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    gear = f'stiffness="{stiffness}" rotor_inertia="1e-4" gear_ratio="50"'
    arm = frs.load(
        robot(
            joint(
                'hip',
                'revolute',
                'base',
                'arm',
                '<axis xyz="0 -1 0"/><limit lower="-3" upper="3" effort="99" velocity="9"/>',
            ),
            f'<link name="arm">{inertial}</link>',
            f'<flexibility><joint name="hip" {gear}/></flexibility>',
        )
    )
    rest = frs.equilibrium(arm, [0.7]).q
    found = frs.static_jacobian(arm, [0.7], link='arm')
    g = np.linalg.norm(arm.arrays.base_acceleration)
    slope = -mass * g * reach * np.sin(rest[0])
    assert abs(found[1, 0]) == pytest.approx(stiffness / (stiffness + slope), rel=1e-9)
    assert rest[0] < 0.7


@pytest.mark.parametrize(
    'arguments, line',
    [
        ({'link': 'hand'}, 'no link "hand". Known: base, '),
        ({'representation': 'own'}, "representation = 'own' must be one of body, spatial, "),
        ({'pushes': 3}, 'pushes = 3 must be a list of Push'),
    ],
)
def test_a_mistake_is_one_line(arguments, line):
    with pytest.raises(frs.SettingError) as caught:
        frs.static_jacobian(frs.load('single_link'), [0.2], **arguments)
    assert str(caught.value).startswith(line)
