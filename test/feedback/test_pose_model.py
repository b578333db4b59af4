"""Sampled, delayed and reduced models, against small steps, statics and full modal models."""

import numpy as np
import pytest
from scipy.linalg import eigh, expm

import flex_robot_sim as frs
from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.feedback.pose_model import closed_loop_step, pose_model, rates_of
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.simulation.loop_timing import LoopTiming

POSE = [0.3, 0.8, -0.9]


@pytest.fixture(scope='module')
def model():
    return pose_model(frs.load('two_link'), POSE)


@pytest.mark.parametrize('delay', [0.0, 0.7e-3, 2e-3, 4.7e-3])
def test_a_late_loop_is_what_small_steps_make_of_it(model, delay):
    period, small, random = 2e-3, 1e-4, np.random.default_rng(1)
    sampled = model.sampled(LoopTiming(period, delay))
    efforts, joints = random.normal(size=(12, 3)), 3
    n = len(model.A)
    both = expm(np.block([[model.A, model.B], [np.zeros((joints, n + joints))]]) * small)
    x, slow = np.zeros((2, n))
    late, fine = round(delay / small), round(period / small)
    for k in range(12):
        old, new = k - sampled.count, min(k - sampled.count + 1, k)
        x = (
            sampled.A @ x
            + sampled.old @ efforts[old] * (old >= 0)
            + sampled.new @ efforts[new] * (new >= 0)
        )
        for step in range(k * fine, (k + 1) * fine):
            j = (step - late) // fine
            u = efforts[j] if j >= 0 else np.zeros(3)
            slow = both[:n, :n] @ slow + both[:n, n:] @ u
        np.testing.assert_allclose(x, slow, rtol=1e-7, atol=1e-10 * np.abs(slow).max())


def test_closing_is_what_the_samples_do_one_by_one(model):
    random, loop = np.random.default_rng(3), LoopTiming(2e-3, 4.7e-3)
    sampled = model.sampled(loop)
    outputs = np.hstack([model.encoders, np.zeros_like(model.encoders)])
    P, Q, R, S = (0.3 * random.normal(size=size) for size in ((4, 4), (4, 3), (3, 4), (3, 3)))
    step = closed_loop_step(sampled, (P, Q, R, S), outputs)
    x, z = random.normal(size=len(sampled.A)), random.normal(size=4)
    past = [random.normal(size=3) for _ in range(sampled.count)]
    state = np.concatenate([x, *past, z])
    for _ in range(6):
        y = outputs @ x
        past.insert(0, R @ z + S @ y)
        z = P @ z + Q @ y
        x = (
            sampled.A @ x
            + sampled.old @ past[sampled.count]
            + sampled.new @ past[sampled.count - 1]
        )
        past.pop()
        state = step @ state
        np.testing.assert_allclose(state, np.concatenate([x, *past, z]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('count', [0, 2])
def test_slow_efforts_do_the_same_to_an_arm_with_few_modes(model, count):
    few, stiffness = model.reduced(count), np.diag([200.0, 300.0, 80.0])
    moved = [
        each.encoders
        @ np.linalg.solve(
            each.K_symmetric + each.encoders.T @ stiffness @ each.encoders, each.actuation
        )
        for each in (model, few)
    ]
    np.testing.assert_allclose(moved[0], moved[1], rtol=1e-8, atol=1e-12)
    assert len(few.M) == 3 + count


def test_first_modes_stay_and_all_of_them_are_the_arm(model):
    free = model.reduced(20)
    np.testing.assert_allclose(
        np.sort(np.abs(np.linalg.eigvals(free.A)))[6:],
        np.sort(np.abs(np.linalg.eigvals(model.A)))[6:],
        rtol=1e-5,
    )
    # with locked drives, the retained modes are those of the arm
    few = model.reduced(3)
    locked = np.sqrt(np.linalg.eigvals(np.linalg.solve(few.M[3:, 3:], few.K[3:, 3:])).real)
    np.testing.assert_allclose(
        np.sort(locked) / 2 / np.pi, frs.frequencies(model.arm, POSE)[:3], rtol=3e-3
    )  # damped ones


def test_modes_of_another_pose_are_turned_to_resemble_these(model):
    near = pose_model(model.arm, [0.3, 0.83, -0.93])
    few = model.reduced(4)
    there = near.reduced(4, few)
    likeness = there.shapes[:, 3:].T @ near.M @ few.shapes[:, 3:]
    assert np.abs(likeness - np.eye(4)).max() < 0.1


def test_frequencies_go_with_the_root_of_stiffness():
    arm = frs.load('single_link')
    np.testing.assert_allclose(
        frs.frequencies(with_stiffness(arm, 0.49)), 0.7 * frs.frequencies(arm), rtol=1e-4
    )


def test_rates_come_back_from_the_steps_they_make():
    rates = np.array([-1.0, -0.5 + 3.0j, -2.0 + 40.0j])
    step = np.zeros((5, 5))
    step[0, 0] = np.exp(-1e-2)
    for k, rate in enumerate(rates[1:]):
        value = np.exp(rate * 1e-2)
        step[1 + 2 * k : 3 + 2 * k, 1 + 2 * k : 3 + 2 * k] = [
            [value.real, value.imag],
            [-value.imag, value.real],
        ]
    np.testing.assert_allclose(rates_of(step, 1e-2), rates, rtol=1e-9)


@pytest.mark.parametrize('turn', [0.0, 0.5, -1.2, np.pi / 2])
def test_the_slide_of_the_bench_reaches_its_strip_only_across_it(turn):
    model = pose_model(frs.load('rig'), [0.15, turn])
    _, shapes = eigh(model.K_symmetric[2:, 2:], model.M[2:, 2:])
    J = jacobian(model.arm, model.rest, link='tool', representation='mixed')
    tip = J[3:, 2:] @ shapes[:, 0]
    share = np.linalg.norm(tip) * abs(shapes[:, 0] @ model.M[2:, 0])
    # uniform cantilever: w(L) times the integral of w, over that of its square; three shapes only
    assert share == pytest.approx(4 * 0.7340955 / 1.8751041 * abs(np.sin(turn)), abs=1e-3)
