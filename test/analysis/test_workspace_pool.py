"""What is asked about arms in any order, and by several threads, against arms asked only once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis import workspace_pool
from flex_robot_sim.model.assembly import build_arm

ROBOTS = ('two_link', 'dual_screw_arm', 'canadarm2')


def questions(arm, rng):
    """Return a question about a random state as a function of an arm like this one."""
    joints = len(arm.joint_names)
    q = 0.01 * rng.normal(size=arm.size)
    q[:joints] = rng.uniform(-0.5, 0.5, joints)
    qd, qdd, effort = rng.normal(size=arm.size), rng.normal(size=arm.size), rng.normal(size=joints)
    pushes = [frs.Push(str(rng.choice([*arm.frames])), *rng.normal(size=(3, 3)), bool(follows))
              for follows in rng.integers(0, 2, rng.integers(0, 3))]
    return [lambda arm: frs.forward_dynamics(arm, q, qd, effort, pushes),
            lambda arm: frs.inverse_dynamics(arm, q, qd, qdd, pushes),
            lambda arm: frs.bias_forces(arm, q, qd),
            lambda arm: frs.gravity_forces(arm, q),
            lambda arm: frs.mass_matrix(arm, q)]


def asked(seed, count):
    """Questions in a random order, each with the arm that it is about and the right answer."""
    rng, arms = np.random.default_rng(seed), [frs.load(name) for name in ROBOTS]
    cases = []
    for _ in range(count):
        arm = arms[rng.integers(len(arms))]
        question = questions(arm, rng)[rng.integers(5)]
        cases.append((arm, question, question(build_arm(arm.description))))
    return cases


@pytest.mark.parametrize('seed', range(3))
def test_an_answer_does_not_depend_on_what_was_asked_before(seed):
    for arm, question, answer in asked(seed, 40):
        assert np.array_equal(question(arm), answer)


def test_threads_may_ask_about_the_same_arms():
    cases = asked(7, 30)

    def all_right(_):
        return all(np.array_equal(question(arm), answer) for arm, question, answer in cases)
    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(all_right, range(60)))


def test_answers_are_the_callers_own():
    arm = frs.load('two_link')
    first = frs.gravity_forces(arm, np.full(arm.size, 0.1))
    kept = first.copy()
    frs.gravity_forces(arm, np.full(arm.size, -0.2))
    assert np.array_equal(first, kept)


def test_what_was_lent_goes_with_its_arm():
    before = len(workspace_pool._idle)
    arm = frs.load('single_link')
    frs.gravity_forces(arm, np.zeros(arm.size))
    assert len(workspace_pool._idle) == before + 1
    del arm
    assert len(workspace_pool._idle) <= before


def test_after_an_error_nothing_is_lent_again():
    arm = frs.load('single_link')
    with pytest.raises(ZeroDivisionError), workspace_pool.borrowed(arm) as scratch:
        raise ZeroDivisionError
    with workspace_pool.borrowed(arm) as other:
        assert other is not scratch
