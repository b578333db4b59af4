"""Closed loops of an arm on a free base: momentum, energy, Pinocchio, and a base that is held."""

import numpy as np
import pytest
from closed_loops import closed_robot, constraint_text
from compare import GRAVITY
from free_arms import SPACE_ARM, freed
from pinocchio_loops import pinocchio_loops

import flex_robot_sim as frs


def moving(text, seed=0, gravity=(0.0, 0.0, 0.0)):
    """Return a Simulation whose base and joints have random rates."""
    sim = frs.Simulation(frs.load(text, gravity=gravity))
    arm, rng, v = sim.arm, np.random.default_rng(seed), np.zeros(sim.arm.nv)
    arm.set_joints(v, rng.normal(size=len(arm.joint_names)))
    v[arm.base_q] = rng.normal(size=len(arm.arrays.base))
    sim.set_state(v=v)
    return sim


@pytest.mark.parametrize('kind', ['spherical', 'revolute', 'distance'])
@pytest.mark.parametrize('options', [{'kinds': ('rigid',), 'gears': False}, {}])
def test_a_loop_keeps_momentum_and_energy(kind, options):
    sim = moving(freed(closed_robot(len(options), kind, 5, **options)))
    momentum, start = sim.momentum(), sim.energy()
    sim.step(200)
    assert abs(sim.momentum() - momentum).max() <= 1e-12 * abs(momentum).max()
    assert abs(sim.energy().balance) <= 1e-12 * start.kinetic
    assert sim.hard_steps == (0, 0)


def test_a_rigid_loop_has_accelerations_and_forces_of_pinocchio():
    pin = pytest.importorskip('pinocchio')
    options = {'kinds': ('rigid',), 'gears': False, 'links': 8}
    sim = moving(freed(closed_robot(1, 'spherical', **options)), gravity=GRAVITY)
    sim.step(20)
    arm, q, v = sim.arm, sim.q, sim.v
    loops = pinocchio_loops(pin, arm)
    model = loops.model
    model.gravity.linear = np.array(GRAVITY)
    theirs, index = pin.neutral(model), np.zeros(arm.nv, int)
    theirs[:7] = sim.base_pose
    index[:6] = arm.base_q.start + np.array([3, 4, 5, 0, 1, 2])
    for k, name in enumerate(arm.joint_names):
        joint = model.joints[model.getJointId(name)]
        values = [q[k]] if joint.nq == 1 else [np.cos(q[k]), np.sin(q[k])]
        theirs[joint.idx_q : joint.idx_q + joint.nq] = values
        index[joint.idx_v] = k
    rows = loops.constraints, loops.constraint_data, loops.settings
    expected = pin.constraintDynamics(model, loops.data, theirs, v[index], np.zeros(arm.nv), *rows)
    found = frs.forward_dynamics(arm, q, v, np.zeros(len(arm.joint_names)))[index]
    assert found == pytest.approx(expected, abs=1e-8 * abs(expected).max())
    # the force of this state, without the impulses by which a step closes the loop
    (name,) = arm.closed_loops
    force = np.linalg.norm(sim.constraint_force(name)[3:])
    theirs = np.linalg.norm(loops.constraint_data[0].contact_force.linear)
    assert force == pytest.approx(theirs, rel=1e-9)


def test_a_base_that_is_tied_to_the_world_is_a_fixed_one():
    home = np.eye(4)
    pose = frs.Simulation(frs.load(SPACE_ARM)).pose('bus')
    tie = constraint_text('tie', 'fixed', ('world', pose), ('bus', home))
    sims = [
        frs.Simulation(frs.load(text, gravity=GRAVITY))
        for text in (
            SPACE_ARM.replace('</robot>', f'{tie}</robot>'),
            SPACE_ARM.replace('"floating"', '"fixed"'),
        )
    ]
    for sim in sims:
        sim.step(100)
    tied, fixed = sims
    assert tied.position == pytest.approx(fixed.position, abs=1e-9)
    assert tied.pose('bus') == pytest.approx(pose, abs=1e-12)
    assert abs(tied.energy().balance) <= 1e-11 * abs(tied.energy().gravity)
