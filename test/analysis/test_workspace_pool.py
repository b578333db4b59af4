"""Queries on arms in any order and from several threads, against queries on fresh arms."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis import workspace_pool
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.share import shipped_robots

ROBOTS = ('two_link', 'dual_screw_arm', 'canadarm2')


def make_queries(arm, rng):
    """Return queries about a random state, as functions of an arm of this structure."""
    joints = len(arm.joint_names)
    q = 0.01 * rng.normal(size=arm.size)
    q[:joints] = rng.uniform(-0.5, 0.5, joints)
    qd, qdd, effort = rng.normal(size=arm.size), rng.normal(size=arm.size), rng.normal(size=joints)
    pushes = [
        frs.Push._make([str(rng.choice([*arm.frames])), *rng.normal(size=(3, 3)), bool(follows)])
        for follows in rng.integers(0, 2, rng.integers(0, 3))
    ]
    link, station = rng.choice([*arm.segments]), rng.uniform(0.0, 0.5)
    return [
        lambda arm: frs.pose(arm, q),
        lambda arm: frs.twist(arm, q, qd, representation='spatial'),
        lambda arm: frs.jacobian(arm, q, representation='mixed'),
        lambda arm: frs.twist_rate(arm, q, qd, qdd, link=link, station=station),
        lambda arm: frs.jacobian(arm, q, link=link, station=station),
        lambda arm: frs.forward_dynamics(arm, q, qd, effort, pushes=pushes),
        lambda arm: frs.inverse_dynamics(arm, q, qd, qdd, pushes=pushes),
        lambda arm: frs.nonlinear_effects(arm, q, qd),
        lambda arm: frs.gravity_forces(arm, q),
        lambda arm: frs.mass_matrix(arm, q),
    ]


def random_queries(seed, count):
    """Return queries in a random order, each with its arm and its expected result."""
    rng, arms = np.random.default_rng(seed), [frs.load(name) for name in ROBOTS]
    cases = []
    for _ in range(count):
        arm = arms[rng.integers(len(arms))]
        queries = make_queries(arm, rng)
        query = queries[rng.integers(len(queries))]
        cases.append((arm, query, query(build_arm(arm.description))))
    return cases


@pytest.mark.parametrize('seed', range(3))
def test_a_result_does_not_depend_on_previous_queries(seed):
    for arm, query, answer in random_queries(seed, 20):
        assert np.array_equal(query(arm), answer)


@pytest.mark.long(after=4)
@pytest.mark.parametrize('robot', shipped_robots())
def test_frames_do_not_depend_on_previous_queries(robot):
    arm = frs.load(robot)
    q, v = np.random.default_rng(6).normal(scale=0.1, size=(2, arm.nq))
    for link in arm.frames:
        fresh = build_arm(arm.description)
        for query in (
            lambda arm, link=link: frs.pose(arm, q, link=link),
            lambda arm, link=link: frs.twist(arm, q, v, link=link),
            lambda arm, link=link: frs.jacobian(arm, q, link=link),
        ):
            assert np.array_equal(query(arm), query(fresh))


@pytest.mark.slow
def test_threads_can_query_the_same_arms():
    cases = random_queries(7, 30)

    def are_all_equal(_):
        return all(np.array_equal(query(arm), answer) for arm, query, answer in cases)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(are_all_equal, range(60)))


def test_results_are_not_overwritten_by_later_queries():
    arm = frs.load('two_link')
    first = frs.gravity_forces(arm, np.full(arm.size, 0.1))
    saved = first.copy()
    frs.gravity_forces(arm, np.full(arm.size, -0.2))
    assert np.array_equal(first, saved)


def test_a_workspace_is_released_with_its_arm():
    before = len(workspace_pool._idle)
    arm = frs.load('single_link')
    frs.gravity_forces(arm, np.zeros(arm.size))
    assert len(workspace_pool._idle) == before + 1
    del arm
    assert len(workspace_pool._idle) <= before


def test_a_workspace_is_not_reused_after_an_error():
    arm = frs.load('single_link')
    with pytest.raises(ZeroDivisionError), workspace_pool.borrowed(arm) as scratch:
        raise ZeroDivisionError
    with workspace_pool.borrowed(arm) as other:
        assert other is not scratch
