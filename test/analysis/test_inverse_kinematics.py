"""Inverse kinematics, against Pinocchio's poses, closed forms of sag, and points that stay put."""

import numpy as np
import pytest
from contact_arms import reaching_arm
from public_robots import public_robot
from refusals import refusal
from scipy.optimize import minimize

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError

PUBLIC = (
    'ur_description/urdf/ur5_robot.urdf',
    'panda_description/urdf/panda.urdf',
    'so_arm_description/urdf/so100.urdf',
    'xarm_description/urdf/xarm7.urdf',
)
EXACT: dict = {'rtol': 0.0, 'atol': 1e-8}  # the search promises 1e-9
ROUND = (0.45, 0.25, 0.15)  # within reach of two_link [m]


def random_joints(arm, random):
    """Joint positions within limits, and within half a turn where there are none."""
    low, high = np.maximum(arm.arrays.lower, -np.pi), np.minimum(arm.arrays.upper, np.pi)
    return random.uniform(low, high)


def coordinates(arm, joints):
    q = np.zeros(arm.nq)
    arm.set_joints(q, joints)
    return q


@pytest.mark.long(after=2)
@pytest.mark.parametrize('path', PUBLIC)
def test_public_arms_reach_the_poses_that_pinocchio_has_at_random_joints(path):
    pinocchio = pytest.importorskip('pinocchio')
    path = str(public_robot(path))
    arm = frs.load(path)
    model = pinocchio.buildModelFromUrdf(path)
    data, frame = model.createData(), model.getFrameId(arm.tool)

    def in_pinocchio(joints):
        q = pinocchio.neutral(model)
        for name, value in zip(arm.joint_names, joints):
            joint = model.joints[model.getJointId(name)]
            turn = [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
            q[joint.idx_q : joint.idx_q + joint.nq] = turn
        pinocchio.framesForwardKinematics(model, data, q)
        return data.oMf[frame].homogeneous

    random = np.random.default_rng(44)
    for _ in range(25):
        target = in_pinocchio(random_joints(arm, random))
        found = frs.inverse_kinematics(arm, target, random_joints(arm, random), straight=True)
        np.testing.assert_allclose(in_pinocchio(found.joints), target, **EXACT)
        assert (found.joints >= arm.arrays.lower).all()
        assert (found.joints <= arm.arrays.upper).all()


def test_an_elastic_joint_is_turned_further_by_the_torque_of_its_load_over_its_stiffness():
    k, m, length = 50.0, 0.8, 0.6
    arm = frs.with_payload(frs.load(LEVER.format(stiffness=k)), 'tip', m)
    for angle in (-1.0, 0.0, 0.4, 1.2):
        place = length * np.array([np.cos(angle), 0.0, np.sin(angle)])
        found = frs.inverse_kinematics(arm, place, [angle])
        expected = angle + m * 9.81 * length * np.cos(angle) / k
        np.testing.assert_allclose(found.joints, [expected], **EXACT)


LEVER = """<robot name="lever"><link name="base"/>
<joint name="hinge" type="revolute"><parent link="base"/><child link="bar"/><axis xyz="0 -1 0"/>
<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
<link name="bar"><inertial><origin xyz="0.3 0 0"/><mass value="1e-9"/>
<inertia ixx="1e-9" iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="end" type="fixed"><parent link="bar"/><child link="tip"/>
<origin xyz="0.6 0 0"/></joint>
<link name="tip"/>
<flexibility><joint name="hinge" stiffness="{stiffness}" damping="0.1" rotor_inertia="0.01"/>
</flexibility></robot>"""


def test_a_sagging_arm_reaches_places_at_which_a_simulation_holds_its_tool():
    arm = frs.with_payload(frs.load('two_link'), 'tool', 0.3)
    random = np.random.default_rng(7)
    for _ in range(5):
        target = np.array(ROUND) + random.uniform(-0.1, 0.1, 3)
        found = frs.inverse_kinematics(arm, target)
        sim = frs.Simulation(arm)
        sim.set_state(found.q)
        sim.effort = frs.equilibrium(arm, found.joints).effort
        sim.advance_to(0.5)
        np.testing.assert_allclose(sim.pose()[:3, 3], target, rtol=0.0, atol=1e-6)
        assert found.is_reached


def test_the_axis_of_the_tool_passes_through_a_point_that_stays_where_it_is():
    arm = frs.load(str(public_robot(PUBLIC[0])))
    trocar = np.array([0.45, 0.1, 0.15])
    start = [0.2, -1.2, 1.6, -1.9, -1.5, 0.0]
    for shift in np.linspace(0.0, 0.06, 4):
        target = trocar + [shift, -shift, -0.12]
        found = frs.inverse_kinematics(arm, target, start, through=trocar, straight=True)
        start = found.joints
        T = frs.pose(arm, found.q)
        np.testing.assert_allclose(T[:3, 3], target, **EXACT)
        to_trocar = trocar - T[:3, 3]
        np.testing.assert_allclose(np.cross(T[:3, 2], to_trocar), 0.0, **EXACT)


def test_the_nearest_pose_of_a_target_out_of_reach_points_at_it():
    arm = frs.load(LEVER.format(stiffness=50.0), gravity=[0.0, 0.0, 0.0])
    target = [1.0, 0.0, 1.0]
    assert refusal(frs.SettingError, frs.inverse_kinematics, arm, target) == (
        'the target is out of reach: "tip" comes as near as 0.814 m, at the joint positions '
        '0.7854. Move the target, or take these positions: nearest=True (--nearest)'
    )
    found = frs.inverse_kinematics(arm, target, nearest=True)
    np.testing.assert_allclose(found.joints, [np.pi / 4], rtol=0.0, atol=1e-6)
    assert found.distance == pytest.approx(np.sqrt(2.0) - 0.6, abs=1e-9)
    # beyond the stop of the joint, the stop is nearest
    bound = frs.load(LEVER.format(stiffness=50.0).replace('upper="3"', 'upper="0.5"'))
    found = frs.inverse_kinematics(bound, target, straight=True, nearest=True)
    np.testing.assert_allclose(found.joints, [0.5], **EXACT)


def test_a_stretched_arm_is_singular_and_a_bent_one_is_not():
    arm = frs.load(str(public_robot(PUBLIC[0])))
    for elbow, is_singular in ((0.0, True), (1.2, False)):
        T = frs.pose(arm, [0.3, -0.5, elbow, -1.0, -1.2, 0.1])
        start = [0.3, -0.5, elbow, -1.0, -1.2, 0.1]
        found = frs.inverse_kinematics(arm, T, start, straight=True)
        assert found.is_singular is is_singular
        J = frs.jacobian(arm, found.q, representation='hybrid')
        expected = abs(np.linalg.det(J[:, arm.joint_q]))
        assert found.manipulability == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_a_search_from_a_solution_of_a_sagging_arm_returns_it():
    rigid = frs.load(str(public_robot(PUBLIC[0])))
    gears = ''.join(
        f'<joint name="{name}" stiffness="{3000 - 500 * k}" rotor_inertia="1"/>'
        for k, name in enumerate(rigid.joint_names)
    )
    words = f'<flexibility>{gears}</flexibility></robot>'
    arm = frs.load(rigid.description.text.replace('</robot>', words))
    random = np.random.default_rng(5)
    for _ in range(60):  # some near singular poses
        start = random_joints(arm, random)
        target = frs.pose(arm, frs.equilibrium(arm, start).q)
        found = frs.inverse_kinematics(arm, target, start)
        np.testing.assert_allclose(found.joints, start, rtol=0.0, atol=1e-9)
        # from nearby, as along a path, the arm stays on its branch
        near = start + random.uniform(-0.03, 0.03, start.size)
        found = frs.inverse_kinematics(arm, target, near)
        np.testing.assert_allclose(found.joints, near, rtol=0.0, atol=0.3)


@pytest.mark.slow
def test_the_nearest_pose_of_a_public_arm_is_that_of_slsqp():
    arm, target = frs.load(str(public_robot(PUBLIC[1]))), np.array([-0.7494, 0.22669, -1.5461])
    fingers = np.arange(len(arm.joint_names)) > 6
    lower, upper = np.where(fingers, 0.0, [arm.arrays.lower, arm.arrays.upper])

    def square(joints):
        q = coordinates(arm, joints)
        miss = frs.pose(arm, q)[:3, 3] - target
        J = frs.jacobian(arm, q, representation='hybrid')[3:, arm.joint_q]
        return miss @ miss, 2.0 * miss @ J

    random, bounds = np.random.default_rng(1), list(zip(lower, upper))
    words: dict = {'jac': True, 'bounds': bounds, 'method': 'SLSQP', 'options': {'ftol': 1e-14}}
    least = min(minimize(square, random.uniform(lower, upper), **words).fun for _ in range(20))
    found = frs.inverse_kinematics(arm, target, straight=True, nearest=True)
    assert found.distance <= np.sqrt(least) + 1e-5


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        ({'target': [0.1, np.nan, 0.2]}, 'target must be a pose (4, 4), or a position'),
        ({'target': np.zeros((4, 4))}, 'a pose must be (4, 4): a rotation'),
        ({'q': [0.0]}, 'q must be 3 finite numbers'),
        ({'link': 'hand'}, 'no link "hand"'),
        ({'link': 'base'}, 'link "base" is fixed to the base: no joint moves it'),
        ({'axis': [0.0, 0.0, 0.0]}, 'axis must have a direction'),
        ({'through': [0.0]}, 'through must be 3 finite numbers'),
        ({'searches': 0}, 'searches = 0 must be a whole number > 0'),
        ({'seed': -1}, 'seed = -1 must be a whole number >= 0'),
    ],
)
def test_a_wrong_argument_is_one_line(words, expected):
    arm = frs.load('two_link')
    words = {'target': ROUND, **words}
    assert refusal(frs.SettingError, frs.inverse_kinematics, arm, **words).startswith(expected)


def folding_arm():
    """Return two links of 0.5 m, of which the second folds back twice as far as the first."""
    builder = frs.ArmBuilder('folding')
    for name in ('upper', 'fore', 'hand'):
        builder.add_rigid(name, mass=0.5, centre=(0.25, 0, 0), inertia=(1e-3, 1e-2, 1e-2))
    builder.add_joint('shoulder', parent='base', child='upper', axis='-y', lower=-1.5, upper=1.5)
    place = {'parent': 'upper', 'child': 'fore', 'xyz': (0.5, 0, 0)}
    builder.add_joint('elbow', **place, axis='-y')
    builder.add_mimic('elbow', leader='shoulder', multiplier=-2.0, offset=0.1)
    wrist = {'parent': 'fore', 'child': 'hand', 'xyz': (0.5, 0, 0)}
    builder.add_joint('wrist', **wrist, type='spherical', spring_stiffness=50)
    return builder


def test_a_mimic_joint_follows_in_the_search():
    arm = folding_arm().build(tool='fore')
    for angle in (-0.7, 0.2, 1.1):
        both = np.array([angle, 0.1 - angle])  # turns of both links
        target = 0.5 * np.array([np.cos(both).sum(), 0.0, np.sin(both).sum()])
        found = frs.inverse_kinematics(arm, target, link='hand')
        shoulder, elbow = found.joints[:2]
        np.testing.assert_allclose(elbow, 0.1 - 2.0 * shoulder, **EXACT)
        # its image has the same position
        assert min(abs(shoulder - both)) < 1e-8
        # the ball joint hangs in equilibrium
        rest = frs.equilibrium(arm, found.joints)
        np.testing.assert_allclose(found.q, rest.q, rtol=0, atol=1e-6)
        assert abs(found.q[3]) > 1e-3


def test_a_target_on_an_obstacle_is_reached_and_one_inside_is_refused():
    bench = '<origin xyz="0.6 0 -0.25"/><geometry><box size="0.5 0.6 0.05"/></geometry>'
    arm = frs.load(reaching_arm('', f'<obstacle name="bench">{bench}</obstacle>'))
    target = [0.6, 0.0, -0.18]
    reach = frs.inverse_kinematics(arm, target)
    tip = frs.pose(arm, frs.equilibrium(arm, reach.joints).q)[:3, 3]
    np.testing.assert_allclose(tip, target, rtol=0.0, atol=1e-6)
    line = refusal(frs.SettingError, frs.inverse_kinematics, arm, [0.55, 0.0, -0.25])
    assert line.startswith('contact "tool" is 0.055 m inside what it touches before the links')


def test_a_search_does_not_end_in_an_obstacle():
    builder = frs.ArmBuilder('press')
    section = frs.SectionStiffness(EIy=60.0, EIz=60.0)
    builder.add_beam('beam', length=0.8, section=section, mass=0.4, torsion=0)
    builder.add_rigid('tool', shape=frs.Sphere(0.05), mass=0.5).attach('tool', parent='beam')
    builder.add_joint('pitch', parent='base', child='beam', axis='y', lower=-2, upper=2)
    builder.add_obstacle('bench', shape=frs.Box(0.5, 0.6, 0.05), xyz=(0.7, 0, -0.4))
    builder.add_contact('tip', link='tool', shape=frs.Sphere(0.05))
    arm = builder.build()
    # a step of the search passes the middle of the bench, where the straight tool has no side
    with pytest.raises(SettingError, match='contact "tip" is .* m inside what it touches'):
        frs.equilibrium(arm, [0.522])
    # the tool rests on the bench, its centre at z = -0.325 and x = 0.731
    found = frs.inverse_kinematics(arm, [0.7, 0.0, -0.33], nearest=True, searches=1)
    assert found.distance == pytest.approx(0.031, abs=2e-3)
    assert found.pose[2, 3] == pytest.approx(-0.325, abs=2e-3)
