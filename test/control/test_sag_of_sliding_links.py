"""Gravity feed-forward of sliding links, against differences of the energy."""

import numpy as np
import pytest
from scipy.optimize import root
from sliding_arms import sliding_arm, telescope

import flex_robot_sim as frs
from flex_robot_sim.control.feed_forward import make_feed_forward

STEP = 1e-5  # of the differences

HANGING = (
    '<link name="bob"><inertial><origin xyz="0 0 -0.3"/><mass value="1.5"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="hook" type="fixed"><parent link="tool"/><child link="bob"/></joint>'
    '<flexibility><joint name="hook" type="spherical" spring_stiffness="30"/>'
)


def tilted(text):
    """Return the text with a turret that swings about a tilted axis, under the weight."""
    return text.replace('<axis xyz="0 0 1"/>', '<axis xyz="0.6 0 0.8"/>')


def efforts_at_rest(arm, position, found):
    """Joint efforts of the equilibrium with the sum of strain and gravity energy [N m, N]."""
    sim = frs.Simulation(arm)
    q = np.zeros(arm.size)
    q[: len(position)] = position
    free = np.concatenate([found, np.arange(arm.size)[arm.elastic_q]]).astype(int)

    def energy(q):
        sim.set_state(q, np.zeros(arm.size))
        parts = sim.energy()
        return parts.strain + parts.gravity

    def gradient(q, rows):
        out = []
        for row in rows:
            step = np.zeros(arm.size)
            step[row] = STEP
            near, far = (energy(q + k * step) - energy(q - k * step) for k in (1, 2))
            out.append((8 * near - far) / (12 * STEP))
        return np.array(out)

    def unbalanced(x):
        full = q.copy()
        full[free] = x
        return gradient(full, free)

    solution = root(unbalanced, q[free], tol=1e-12)
    q[free] = solution.x
    assert np.abs(unbalanced(solution.x)).max() < 1e-5
    return gradient(q, range(len(position)))


def settled(arm, position):
    feed = make_feed_forward(arm, 'sag')
    for _ in range(200):
        feed.update(np.array(position))
        if feed.is_settled:
            break
    assert feed.is_settled and not feed.has_diverged
    return feed.effort


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('text', [sliding_arm(tip_mass=1.5), telescope()], ids=['boom', 'two'])
def test_the_sag_of_a_sliding_link_is_that_of_its_free_length(text, seed):
    arm = frs.load(tilted(text))
    draw = np.random.default_rng(seed)
    position = draw.uniform(0.0, 0.7, len(arm.joint_names))
    expected = efforts_at_rest(arm, position, [])
    assert settled(arm, position) == pytest.approx(expected, abs=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize('out', [0.0, 0.35, 0.9])
def test_the_sag_with_a_load_on_a_ball_joint_is_that_of_the_free_length(out):
    text = tilted(sliding_arm(tip_mass=1.5)).replace('<flexibility>', HANGING)
    arm = frs.load(text)
    position = [0.4, out, 0.0, 0.0, 0.0]
    expected = efforts_at_rest(arm, position, [2, 3, 4])
    found = settled(arm, position)
    assert found[:2] == pytest.approx(expected[:2], abs=2e-6 * np.abs(expected).max())
    assert not found[2:].any()
