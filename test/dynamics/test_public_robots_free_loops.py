"""Loops, mimic joints and prescribed drives of public robots on free bases, against Pinocchio."""

import numpy as np
import pytest
from closed_loops import constraint_text
from free_arms import with_free_root
from null_space_arm import NullSpaceArm
from public_robots import plain_robot

import flex_robot_sim as frs

pin = pytest.importorskip('pinocchio')

GRAVITY = (0.3, -5.0, 7.0)
ROBOTS = {  # file, and the links that a constraint joins
    'solo12': ('solo_description/robots/solo12.urdf', 'FL_FOOT', 'HR_FOOT'),
    'panda': ('panda_description/urdf/panda.urdf', 'panda_link0', 'panda_hand'),  # mimic fingers
    'tied': ('panda_description/urdf/panda.urdf', 'world_frame', 'panda_hand'),
}
BASES = 'floating', 'planar'
CONSTRAINTS = 'spherical', 'fixed', 'distance', 'revolute', 'universal', 'prismatic'
WEIGHTS = (1, 3 / 4), (2, -3 / 20), (3, 1 / 60)  # of a central difference of sixth order


class Case:
    """A robot with a loop that is closed in a random state, and its reference."""

    def __init__(self, robot, base, constraint, seed, gravity=GRAVITY, prescribed=None):
        path, parent, child = ROBOTS[robot]
        text = with_free_root(plain_robot(path), base)
        self.rng = rng = np.random.default_rng([seed, CONSTRAINTS.index(constraint)])
        arm = frs.load(text)
        q = np.zeros(arm.nq)
        reach = 0.5 if robot == 'tied' else 1.0  # a start pose is nearer
        q[arm.joint_q] = rng.uniform(-reach, reach, len(arm.joint_names))
        q[arm.base_q] = rng.normal(size=len(arm.arrays.base)) / 2
        frame, (axis, other) = np.eye(4), rng.normal(size=(2, 3))
        frame[:3, 3] = rng.uniform(-0.1, 0.1, 3)
        axis /= np.linalg.norm(axis)
        if constraint == 'universal':
            other = np.cross(axis, other) / np.linalg.norm(np.cross(axis, other))
        ends = [frs.pose(arm, q, link=link) for link in (parent, child)]
        place = np.linalg.solve(ends[0], ends[1] @ frame)
        if constraint == 'distance':
            place[:3, 3] += 0.3 * axis
        axes = axis, other if constraint == 'universal' else axis
        loop = constraint_text('loop', constraint, (parent, place), (child, frame), *axes, 0.3)
        self.arm = arm = frs.load(text.replace('</robot>', f'{loop}</robot>'), gravity=gravity)
        self.q, self.v = q, rng.normal(size=arm.nv)
        self.effort = rng.normal(size=len(arm.joint_names)) * arm.actuated
        self.reference = NullSpaceArm(pin, arm, gravity, prescribed)

    def simulation(self, **settings):
        """Return a Simulation in the state of the case."""
        sim = frs.Simulation(self.arm, frs.SimulationSettings(**settings))
        sim.set_state(self.q, self.v)
        return sim

    def state_of(self, sim):
        """Return configuration and rates of a Simulation in Pinocchio's coordinates."""
        reference = self.reference
        return reference.configuration(sim.base_pose, sim.position), sim.v[reference.order]

    def force(self, effort):
        """Return efforts as generalised forces in the order of Pinocchio."""
        values = np.zeros(self.arm.nv)
        values[: len(effort)] = effort
        return values[self.reference.order]

    def error(self, sim, q, v):
        """Return the difference of a Simulation from a configuration and rates."""
        found, rates = self.state_of(sim)
        step = pin.difference(self.reference.model, q, found)
        return max(abs(step).max(), abs(rates - v).max() / abs(v).max())


@pytest.mark.parametrize('constraint', CONSTRAINTS)
@pytest.mark.parametrize('robot', ROBOTS)
def test_accelerations_and_linear_models_are_those_in_the_null_space(robot, constraint):
    base = BASES[(CONSTRAINTS.index(constraint) + len(robot)) % 2]  # each with both
    case = Case(robot, base, constraint, 1)
    arm, reference, sim = case.arm, case.reference, case.simulation()
    q, v = case.state_of(sim)
    gaps, J, _ = reference.rows(q, v)
    assert abs(gaps).max() < 1e-13 and abs(J @ v).max() < 1e-12
    force = case.force(case.effort)
    expected = reference.accelerations(q, v, force)
    found = frs.forward_dynamics(arm, sim.q, sim.v, case.effort)[reference.order]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * abs(expected).max())
    # the slope of the accelerations along random changes of independent coordinates and rates
    model = frs.linearise(arm, sim.q, sim.v, case.effort)
    n = len(model.states) // 2
    names = [state.removesuffix('/q') for state in model.states[:n]]
    free = np.argsort(reference.order)[[arm.coordinate_names.index(name) for name in names]]
    for change in case.rng.normal(size=(2, 2 * n)) / np.sqrt(2 * n):
        slope = np.zeros(n)
        for k, weight in WEIGHTS:
            ends = (
                reference.accelerations(*moved_on_loop(reference, q, v, free, x), force)[free]
                for x in (1e-3 * k * change, -1e-3 * k * change)
            )
            slope += weight * np.subtract(*ends) / 1e-3
        # differences over 1e-3 rad of a motion with stiff constraint forces
        bound = 2e-6 * abs(slope).max()
        np.testing.assert_allclose(model.A[n:] @ change, slope, rtol=0, atol=bound)
    torque = case.rng.normal(size=len(model.inputs))
    drives = [arm.joint_names.index(name.removesuffix('/effort')) for name in model.inputs]
    more = case.effort.copy()
    more[drives] += torque
    slope = reference.accelerations(q, v, case.force(more))[free] - expected[free]
    np.testing.assert_allclose(model.B[n:] @ torque, slope, rtol=0, atol=1e-9 * abs(slope).max())


def moved_on_loop(reference, q, v, free, change):
    """Return a state with other independent coordinates and rates, by Newton's method."""
    model, n = reference.model, free.size
    others, step = np.setdiff1d(np.arange(model.nv), free), np.zeros(model.nv)
    step[free] = change[:n]
    q = pin.integrate(model, q, step)
    for _ in range(5):
        gaps, J, _ = reference.rows(q, v)
        step = np.zeros(model.nv)
        step[others] = -np.linalg.lstsq(J[:, others], gaps, rcond=1e-9)[0]
        q = pin.integrate(model, q, step)
    v, J = v.copy(), reference.rows(q, v)[1]
    v[free] += change[n:]
    v[others] = -np.linalg.lstsq(J[:, others], J[:, free] @ v[free], rcond=1e-9)[0]
    return q, v


@pytest.mark.parametrize('constraint', ['spherical', 'revolute', 'prismatic'])
@pytest.mark.parametrize('robot', ROBOTS)
def test_modes_on_servos_are_those_in_the_null_space(robot, constraint):
    case = Case(robot, 'floating', constraint, 2, gravity=(0.0, 0.0, 0.0))
    case.v[:] = 0.0
    arm, reference, sim = case.arm, case.reference, case.simulation()
    q, v = case.state_of(sim)
    gains = case.rng.uniform(1.0, 50.0, arm.nv), case.rng.uniform(0.1, 0.5, arm.nv)
    K, D = (case.force(one[: len(arm.joint_names)] * arm.actuated) for one in gains)
    found = frs.modes(
        arm, sim.q, gains=[one[: len(arm.joint_names)] * arm.actuated for one in gains]
    )
    _, J, _ = reference.rows(q, v)
    _, sizes, basis = np.linalg.svd(J)
    N = basis[(sizes > 1e-9 * sizes[0]).sum() :].T
    M = pin.crba(reference.model, reference.data, q)
    M = N.T @ (np.triu(M) + np.triu(M, 1).T) @ N
    K, D = (np.linalg.solve(M, N.T @ (one[:, None] * N)) for one in (K, D))
    zero, one = np.zeros_like(M), np.eye(len(M))
    rates = np.linalg.eigvals(np.block([[zero, one], [-K, -D]]))
    # six motions of the whole arm have two eigenvalues zero each; a tied one has a servo
    sizes = np.sort(abs(rates[rates.imag > 1e-3]))
    assert robot == 'tied' or found.frequencies[:6].max() < 1e-6
    vibrations = found.frequencies[(found.damping_ratios < 1.0) & (found.frequencies > 1e-3)]
    assert sizes.size > 2
    np.testing.assert_allclose(2 * np.pi * vibrations, sizes, rtol=1e-8)


@pytest.mark.parametrize('constraint', ['spherical', 'distance'])
@pytest.mark.parametrize('base', BASES)
@pytest.mark.parametrize('robot', ROBOTS)
def test_motion_is_that_of_another_integrator(robot, base, constraint):
    case = Case(robot, base, constraint, 3)
    case.v, case.effort = 0.3 * case.v, 0.1 * case.effort
    explicit = case.simulation(scheme='rk4', time_step=5e-4)
    sims = [case.simulation(time_step=h) for h in (1e-3, 5e-4)]
    batch = frs.Batch(case.arm, 2, frs.SimulationSettings(time_step=1e-3))
    batch.set_state(case.q, case.v, members=[1])
    batch.effort[1] = case.effort
    start = case.state_of(explicit)
    (_, q), (_, v) = case.reference.motion(*start, case.force(case.effort), [0.0, 0.02])
    assert abs(pin.difference(case.reference.model, start[0], q)).max() > 5e-3
    for sim in (explicit, *sims):
        sim.effort = case.effort
        sim.advance_to(0.02)
    assert case.error(explicit, q, v) < 3e-9
    errors = [case.error(sim, q, v) for sim in sims]
    assert errors[0] < 3e-5 and errors[1] == pytest.approx(errors[0] / 4, rel=0.05)
    batch.step(20)
    # of a step's last iteration
    np.testing.assert_allclose(batch.q[1], sims[0].q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(batch.base_pose[1], sims[0].base_pose, rtol=0, atol=1e-12)


@pytest.mark.parametrize('constraint', ['spherical', 'revolute'])
@pytest.mark.parametrize('base', BASES)
@pytest.mark.parametrize('robot', ROBOTS)
def test_a_prescribed_drive_moves_loop_and_base_and_exchanges_no_momentum(robot, base, constraint):
    drive, rate = 'FL_HFE' if robot == 'solo12' else 'panda_joint2', 20.0
    acceleration = {drive: lambda t: 0.1 * rate**2 * np.cos(rate * t)}
    case = Case(robot, base, constraint, 4, (0.0, 0.0, 0.0), acceleration)
    row = case.arm.joint_names.index(drive)
    case.v[:] = 0.0
    start = case.q[row]
    times, errors = np.array([0.0, 0.01, 0.02]), []
    for h in (2e-3, 1e-3):
        sim = case.simulation(time_step=h)
        sim.prescribe(
            drive, lambda t: (start + 0.1 * (1 - np.cos(rate * t)), 0.1 * rate * np.sin(rate * t))
        )
        q, v = case.state_of(sim)
        q, v = case.reference.motion(q, v, np.zeros(case.arm.nv), times)
        work = 0.0
        for t, *state in zip(times[1:], q[1:], v[1:]):
            while sim.time < t - 1e-9:
                last = sim.position[row]
                sim.step()
                work += sim.mean_effort[row] * (sim.position[row] - last)
            errors.append(case.error(sim, *state))
        assert abs(sim.base_twist).max() > 1e-3
        model, data = case.reference.model, case.reference.data
        q, v = case.state_of(sim)
        gaps, J, _ = case.reference.rows(q, v)
        closed = len(gaps) - (1 if robot == 'solo12' else 2)  # the last rows are of single joints
        assert abs(gaps).max() < 1e-12 and abs(J[:closed] @ v).max() < 1e-12
        np.testing.assert_allclose(frs.pose(case.arm, sim.q), sim.pose(), rtol=0, atol=1e-14)
        kinetic = pin.computeKineticEnergy(model, data, q, v)
        assert work == pytest.approx(kinetic, rel=5e-3)
        momentum = pin.computeCentroidalMomentum(model, data, q, v)
        theirs = np.concatenate([momentum.angular, momentum.linear])
        np.testing.assert_allclose(sim.momentum(), theirs, rtol=0, atol=1e-13)
        if base == 'planar':  # the plane holds the other components
            theirs = theirs[2:5]
        assert robot == 'tied' or abs(theirs).max() < 1e-12
    assert errors[3] < 3e-5 and errors[3] < 0.3 * errors[1]


@pytest.mark.parametrize('base', BASES)
def test_a_tied_base_follows_when_all_drives_follow_samples(base):
    names = [f'panda_joint{k}' for k in range(1, 8)] + ['panda_finger_joint1']
    rates = dict(zip(names, np.linspace(0.5, -0.4, 8)))
    moves = {name: lambda t, r=r: 2.0 * r for name, r in rates.items()}
    case = Case('tied', base, 'distance', 6, (0.0, 0.0, 0.0), moves)
    case.v[:] = 0.0
    errors = []
    for h in (2e-3, 1e-3):
        sim = case.simulation(time_step=h)
        q, v = case.state_of(sim)
        (_, q), (_, v) = case.reference.motion(q, v, np.zeros(case.arm.nv), [0.0, 0.1])
        t = h * np.arange(round(0.1 / h) + 1)[:, None]
        rate = np.array([rates.get(name, 0.0) for name in case.arm.joint_names])
        sim.follow(sim.position + rate * t**2, 2.0 * rate * t)
        errors.append(case.error(sim, q, v))
        np.testing.assert_allclose(frs.pose(case.arm, sim.q), sim.pose(), rtol=0, atol=1e-14)
    assert abs(sim.base_twist).max() > 1e-2
    assert errors[1] < 1e-5 and errors[1] < 0.3 * errors[0]


def test_a_tied_base_starts_closed_at_any_pose_of_the_base():
    case = Case('tied', 'floating', 'spherical', 5)
    sims = frs.Simulation(case.arm), frs.Batch(case.arm, 2)
    pose = [*(case.q[case.arm.base_q][3:] + 0.02), 0.0, 0.0, 0.6, 0.8]
    for sim in sims:
        sim.set_state(case.q[case.arm.joint_q], base_pose=pose, base_twist=np.arange(6.0) / 9)
    assert not np.any(sims[1].q[0] - sims[0].q)
    q, v = case.state_of(sims[0])
    gaps, J, _ = case.reference.rows(q, v)
    assert abs(gaps).max() < 1e-12 and abs(J @ v).max() < 1e-12
