"""
LQG gains: a linear quadratic regulator with a Kalman filter, at a pose and with loop delay.

The cost is an energy: with the inertia J at each drive and the bandwidth w,

    cost = sum x' (K + J w^2) x + x'' M x' + u' u / (J w^2),                                 (C22)

a rigid joint gets a bandwidth of about w with good damping, and elastic motion is damped equally.
The filter models external efforts as noise, scaled so that it follows within 1 / w, and their slow
part d as an additional state. Subtracting d is the integral action; it does not wind up, because
the filter uses the applied efforts (C23).

The loop has a delay of some periods. The filter state is predicted with the pending efforts, so
the same gains apply (C24).
"""

from dataclasses import dataclass

import numpy as np

from flex_robot_sim.analysis.linear import zero_order_hold
from flex_robot_sim.feedback.pose_model import PoseModel
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.util.summary import summarized

INTEGRAL_RATE_SHARE = 0.3  # rate of the slow efforts, over the bandwidth
GAUGE_NOISE = 1.0  # noise of the gauges, over the curvature of a rigid turn by encoder noise
REGULARISATION = 1e-9  # process noise of all states, for a regular filter
GROUP_RATIO = 1.5  # frequency of modes that count as the first ones, over the lowest one
REFERENCE_BANDWIDTH = 1.0  # bandwidth of the reference model, over the first mode
REFERENCE_ELASTIC_WEIGHT = 4.0  # weight of elastic motion in it, over (C22)


@summarized
@dataclass(frozen=True, eq=False)
class LqgGains:
    """LQG gains at a pose; states (x, x') of the reduced arm, drives first."""

    A: np.ndarray  # (s, s)     over one period
    B: np.ndarray  # (s, joints)
    C: np.ndarray  # (y, s)     encoders, then gauges
    regulator: np.ndarray  # (joints, s)
    tracking: np.ndarray  # (joints, s)  of the reference model
    filter: np.ndarray  # (s + joints, y)
    inertia: np.ndarray  # (joints, joints)  of the drives of the rigid arm
    encoders_rest: np.ndarray  # (y,)
    effort: np.ndarray  # (joints,)  at equilibrium                            [N m, N]
    frequencies: np.ndarray  # (2,)   of the first modes, drives at rest; inf: rigid    [Hz]
    strain_weights: np.ndarray  # (g,)  from curvatures to the first mode


def gains_at(
    model: PoseModel, loop: LoopTiming, bandwidth: float, first: float, sensors: str = 'all'
) -> LqgGains:
    """LqgGains for a reduced PoseModel, a bandwidth and the `first` natural frequency [Hz]."""
    p, joints = len(model.M), model.actuation.shape[1]
    A, B = zero_order_hold(model.A, model.B, loop.period)
    J = np.diag(model.M)[:joints]
    w, tracking_rate = 2 * np.pi * bandwidth, 2 * np.pi * REFERENCE_BANDWIDTH * first
    C = outputs_of(model, sensors)
    return LqgGains(
        A,
        B,
        C,
        energy_regulator(model, A, B, J, w),
        energy_regulator(model, A, B, J, tracking_rate, REFERENCE_ELASTIC_WEIGHT),
        _filter(model, A, B, C, J, w, loop.period, p, joints),
        model.M[:joints, :joints],
        np.concatenate([model.encoders_rest, model.gauges_rest])[: len(C)],
        model.effort,
        first_frequencies(model),
        first_mode_weights(model, sensors),
    )


def first_frequencies(model: PoseModel) -> np.ndarray:
    """
    Lowest and highest frequency (2,) of the first modes with drives at rest [Hz]; inf: rigid.

    All modes up to GROUP_RATIO times the first frequency count, because poses may swap them.
    """
    squares = _locked_modes(model)[0]
    if not squares.size:
        return np.full(2, np.inf)
    natural = np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)
    return np.array([natural[0], natural[natural <= GROUP_RATIO * natural[0]].max()])


def first_mode_weights(model: PoseModel, sensors: str) -> np.ndarray:
    """Row (g,) from curvatures to the first mode of a reduced PoseModel; empty without gauges."""
    joints = model.actuation.shape[1]
    curvatures = model.gauges[:, joints:]
    if sensors != 'all' or not curvatures.size:
        return np.zeros(0)
    shape = _locked_modes(model)[1][:, 0]
    shape = shape * np.sign(shape[np.abs(shape).argmax()])
    return shape @ model.M[joints:, joints:] @ np.linalg.pinv(curvatures)


def _locked_modes(model):
    """Squared rates and shapes of a reduced PoseModel with drives at rest."""
    from scipy.linalg import eigh  # imported late: slow

    joints = model.actuation.shape[1]
    if len(model.M) == joints:
        return np.zeros(0), np.zeros((0, 0))
    return eigh(model.K_symmetric[joints:, joints:], model.M[joints:, joints:])


def outputs_of(model: PoseModel, sensors: str) -> np.ndarray:
    """Output matrix (y, 2 p) of the filter."""
    rows = np.vstack([model.encoders, model.gauges]) if sensors == 'all' else model.encoders
    return np.hstack([rows, np.zeros_like(rows)])


def energy_regulator(
    model: PoseModel,
    A: np.ndarray,
    B: np.ndarray,
    J: np.ndarray,
    w: float,
    elastic_weight: float = 1.0,
) -> np.ndarray:
    """
    Gains (joints, s) of (C22), for a reduced PoseModel.

    :param A: (s, s), B: (s, joints) over one period; J: inertia at the drives, (joints,).
    :param w: bandwidth [rad/s]; elastic_weight: of the cost of elastic motion.
    """
    from scipy.linalg import block_diag, solve_discrete_are  # imported late: slow

    joints = J.size
    K = model.K_symmetric.copy()
    K[range(joints), range(joints)] += J * w * w
    Q = block_diag(K, model.M)
    Q[joints:, joints:] *= elastic_weight
    # scaled to values of about one
    x = np.sqrt(
        np.concatenate(
            [
                J * w * w,
                np.diag(model.K)[joints:] + np.diag(model.M)[joints:] * w * w,
                np.diag(model.M),
            ]
        )
    )
    u = np.sqrt(J) * w
    A, B, Q = x[:, None] * A / x, x[:, None] * B * u, Q / np.outer(x, x)
    X = solve_discrete_are(A, B, Q, np.eye(joints))
    gain = np.linalg.solve(np.eye(joints) + B.T @ X @ B, B.T @ X @ A)
    return u[:, None] * gain * x


def _filter(model, A, B, C, J, w, T, p, joints):
    """Gains (s + joints, y) of the filter; the last states are the slow efforts (C23)."""
    from scipy.linalg import block_diag, solve_discrete_are  # as above

    noise = np.ones(len(C))
    if len(C) > joints:
        stiff = J * (10 * w) ** 2
        shape = model.servo_modes(stiff)[1][:, 0]
        noise[joints:] = (
            GAUGE_NOISE * np.sqrt(J.max()) * max(np.abs(model.gauges @ shape).max(), 1e-6)
        )
    A = np.block([[A, B], [np.zeros((joints, 2 * p)), np.eye(joints)]])
    C = np.hstack([C, np.zeros((len(C), joints))])
    W = block_diag(
        B @ np.diag(J**2 * w**4) @ B.T / T,
        np.diag(J**2 * w**4 * (INTEGRAL_RATE_SHARE * w) ** 2) * T,
    )
    m = np.sqrt(np.diag(model.M))
    x = np.concatenate([m, m / w, 1 / (np.sqrt(J) * w * w)]) * np.sqrt(T / J[0])
    y = noise / np.sqrt(T)
    A, C, W = x[:, None] * A / x, C / x / y[:, None], x[:, None] * W * x
    P = solve_discrete_are(A.T, C.T, W + REGULARISATION * np.eye(len(W)), np.eye(len(C)))
    gain = np.linalg.solve(C @ P @ C.T + np.eye(len(C)), C @ P).T
    return gain / x[:, None] / y


def lqg_law(gains: LqgGains, late: int) -> tuple[np.ndarray, ...]:
    """P, Q, R, S for `closed_loop_step`: filter, slow and pending efforts, newest first."""
    A, B, C, L = gains.A, gains.B, gains.C, gains.filter
    (s, m), size = B.shape, len(A) + B.shape[1] * (late + 2)
    prior = np.zeros((s + m, size))
    prior[:s, :s], prior[:s, s : s + m], prior[s:, s : s + m] = A, B, np.eye(m)
    prior[:s, size - m :] = B
    posterior = prior - L @ np.hstack([C, np.zeros((len(C), m))]) @ prior
    predicted, measured = posterior[:s].copy(), L[:s].copy()
    slow, slow_measured = posterior[s:], L[s:]
    for k in range(late, 0, -1):
        predicted, measured = A @ predicted + B @ slow, A @ measured + B @ slow_measured
        predicted[:, s + m * k : s + m * (k + 1)] += B
    R, S = -gains.regulator @ predicted - slow, -gains.regulator @ measured - slow_measured
    P, Q = np.zeros((size, size)), np.zeros((size, len(C)))
    P[: s + m], Q[: s + m] = posterior, L
    P[s + m : s + 2 * m], Q[s + m : s + 2 * m] = R, S
    P[s + 2 * m :, s + m : size - m] = np.eye(m * late)
    return P, Q, R, S
