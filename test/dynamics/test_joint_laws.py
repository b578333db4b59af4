"""Stops, motors and dry friction along one coordinate: signs, slopes, and dissipation."""

import numpy as np
import pytest
from reference import along

from flex_robot_sim.dynamics.joint_laws.creep import NO_CREEP, creep_force, end_weight
from flex_robot_sim.dynamics.joint_laws.dc_motor import NO_DC_MOTOR
from flex_robot_sim.dynamics.joint_laws.motor import motor_force
from flex_robot_sim.dynamics.joint_laws.stops import stop_force
from flex_robot_sim.dynamics.joint_laws.sum_of_laws import smooth_force, solve_joint_laws

STOP = {'k': 800.0, 'd': 30.0, 'depth': 1e-3}


def push(v, gap, v0=None, h=0.0):
    return stop_force(v, v if v0 is None else v0, h, gap, *STOP.values())


def cases(count, seed=0):
    """Random rates at mid-step and start, steps, and penetrations, many at a corner."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        h = 10.0 ** rng.uniform(-5, -1)
        v, v0 = rng.normal(size=2) * 10.0 ** rng.uniform(-3, 1, 2) * rng.integers(0, 2, 2)
        yield v, v0, h, rng.choice([0.0, -1.0, 1.0]) * 10.0 ** rng.uniform(-6, -1)


def test_a_stop_pushes_and_never_pulls():
    for v, v0, h, gap in cases(3000):
        spring, force, slope = push(v, gap, v0, h)
        assert spring >= 0.0 and force >= 0.0 and slope >= 0.0
        if gap <= 0.0 and gap + h * v <= 0.0:
            assert (spring, force, slope) == (0.0, 0.0, 0.0)


def test_a_stop_stores_spring_energy_and_dissipates_the_remainder_at_any_step():
    for v, v0, h, gap in cases(3000, 1):
        spring, force, _ = push(v, gap, v0, h)
        stored = 0.5 * STOP['k'] * (max(gap + h * v, 0.0) ** 2 - max(gap, 0.0) ** 2)
        # a difference of squares loses digits
        scale = 0.5 * STOP['k'] * (abs(gap) + abs(h * v)) ** 2
        assert spring * h * v == pytest.approx(stored, abs=1e-12 * scale)
        assert (force - spring) * v >= 0.0


def test_the_slope_of_the_stop_force_is_its_derivative():
    for v, v0, h, gap in (
        (0.3, 0.2, 0.0, 5e-4),
        (0.3, 0.2, 0.0, 0.05),
        (-0.01, -0.01, 0.0, 5e-4),
        (0.3, 0.2, 1e-2, 5e-4),
        (0.3, 0.2, 1e-2, -1e-3),
        (-0.3, -0.5, 1e-2, 2e-3),
        (0.3, 0.1, 1e-3, 0.05),
    ):

        def force(t, v=v, v0=v0, h=h, gap=gap):
            return push(v + t, gap, v + t if h == 0.0 else v0, h)[1]

        assert along(force, 1e-5) == pytest.approx(push(v, gap, v0, h)[2], rel=1e-6)


def test_the_force_of_a_stop_starts_at_zero_even_at_speed():
    assert push(3.0, 1e-12)[1] < 1e-8 * push(3.0, 1e-3)[1]  # linear in the depth


def test_a_motor_respects_its_force_and_rate_limits():
    free = np.inf, np.inf
    assert motor_force(3.0, 7.0, 0.0, *free) == (7.0, 0.0)
    assert motor_force(0.5, 6.0, 2.0, *free) == (5.0, 2.0)
    assert motor_force(0.5, 6.0, 2.0, 4.0, np.inf) == (4.0, 0.0)
    assert motor_force(0.5, -9.0, 2.0, 4.0, np.inf) == (-4.0, 0.0)
    # beyond its maximum rate it brakes as before and does not accelerate
    assert motor_force(3.0, 7.0, 0.0, np.inf, 2.0) == (0.0, 0.0)
    assert motor_force(3.0, -7.0, 0.0, np.inf, 2.0) == (-7.0, 0.0)
    force, slope = motor_force(2.02, 7.0, 0.0, np.inf, 2.0)  # halfway
    assert force == pytest.approx(3.5)
    assert -along(lambda t: motor_force(2.02 + t, 7.0, 0.0, np.inf, 2.0)[0]) == pytest.approx(
        slope
    )


def test_joint_laws_are_solved_for_the_unique_rate():
    # r v = w + force(v) - friction, checked by a search in small steps, independent of corners
    rng = np.random.default_rng(3)
    for v, v0, h, gap in cases(400, 4):
        r, w, c = 10.0 ** rng.uniform(0, 3), rng.normal() * 50.0, rng.integers(0, 2) * 2.0
        laws = (3.0, 0.4, rng.normal(), 2.0, 5.0, np.inf, gap, -1.0, *STOP.values())
        slip = rng.uniform(-0.01, 0.01, 3), rng.uniform(0.0, 1e4, 3), np.full(3, 0.01), 1.0, 1.0
        f, g = solve_joint_laws(w, r, r, c, v, v0, h, laws, slip, NO_CREEP, NO_DC_MOTOR)
        found = (w + f) / (r - g)  # r v = w + f + g v
        force, _ = smooth_force(found, v0, h, laws, slip, NO_CREEP, NO_DC_MOTOR)
        friction = w + force - r * found
        tolerance = 1e-7 * (abs(w) + abs(force) + c + 1.0)
        assert abs(friction) <= c + tolerance
        last = 2.0 * found - v0
        if c > 0.0 and abs(found) > 1e-6 and abs(last) > 1e-6:
            expected = c * np.sign(found) if found * last > 0.0 else 0.0
            assert friction == pytest.approx(expected, abs=tolerance)
        assert friction * found >= -tolerance * abs(found)  # it dissipates energy


def test_a_joint_that_creeps_is_solved_for_the_unique_rate():
    rng = np.random.default_rng(5)
    for v, v0, h, gap in cases(300, 6):
        r, w = 10.0 ** rng.uniform(0, 3), rng.normal() * 50.0
        creep = 2.0, 10.0 ** rng.uniform(-8, 1), rng.uniform(0.5, 1.0)
        laws = (3.0, 0.4, rng.normal(), 2.0, 5.0, np.inf, gap, -1.0, *STOP.values())
        slip = np.zeros(0), np.zeros(0), np.zeros(0), 1.0, 1.0
        f, g = solve_joint_laws(w, r, r, 0.0, v, v0, h, laws, slip, creep, NO_DC_MOTOR)
        found = (w + f) / (r - g)
        # the residual w + force - r v falls with v and changes its sign here
        small = 1e-6 * abs(found) + 1e-12
        for change in (-small, small):
            force = smooth_force(found + change, v0, h, laws, slip, creep, NO_DC_MOTOR)[0]
            assert (w + force - r * (found + change)) * change <= 0.0


def test_friction_that_creeps_is_continuous_monotone_and_dissipates():
    rng = np.random.default_rng(7)
    for _ in range(300):
        v0, creep = rng.normal(), (2.0, 10.0 ** rng.uniform(-3, 1), rng.uniform(0.5, 1.0))
        v = np.sort(np.append(rng.normal(size=40), [-1e-9, 0.0, 1e-9]))
        force = np.array([creep_force(x, v0, creep)[0] for x in v])
        assert (np.diff(force) >= 0.0).all() and (force * v >= 0.0).all()
        assert abs(force).max() <= 2.0
        assert (np.diff(force) <= 2.0 * 2.0 / creep[1] * np.diff(v) * (1 + 1e-9)).all()


def test_a_damped_step_with_its_end_weight_is_exact():
    # m dv/dt = -d v by the step m (v1 - v0) / h = -d (weight v1 + (1 - weight) v0), x = h d / m
    for x in (1e-6, 9.9e-4, 1.01e-3, 0.1, 1.0, 30.0):
        weight = end_weight(x)
        last = (1.0 - (1.0 - weight) * x) / (1.0 + weight * x)
        assert last == pytest.approx(np.exp(-x), rel=1e-12, abs=1e-15)
    assert end_weight(np.inf) == 1.0
