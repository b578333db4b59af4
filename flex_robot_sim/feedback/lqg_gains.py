"""
Gains of a linear quadratic regulator with a Kalman filter, for an arm in a pose and a late loop.

The regulator weighs energies: with the inertia J that every drive moves and the bandwidth w,

    cost = sum x' (K + J w^2) x + x'' M x' + u' u / (J w^2),                                 (C22)

so that a rigid joint is closed at about w with good damping and elastic motion is damped alike.
The filter takes efforts that come from outside as noise of such a size that it follows within
1 / w, and a slow part d of them as a state of its own: taking d away is the integral action, and
because the filter knows the effort that was really applied, it never winds up (C23).

The loop acts some periods late. The filter's state is led ahead by the efforts under way, so that
the same gains serve (C24).
"""

from dataclasses import dataclass

import numpy as np

from flex_robot_sim.analysis.sampling import zero_order_hold
from flex_robot_sim.feedback.pose_model import Loop, PoseModel
from flex_robot_sim.util.summary import summarized

INTEGRAL = 0.3              # rate of the slow part over the bandwidth
GAUGE_NOISE = 1.0           # of the gauges, over what a rigid turn with the noise of an encoder is
LITTLE = 1e-9               # noise of everything, without which the filter is not regular
LEADING = 1.0               # bandwidth of the model that leads, over the first mode
STEADY = 4.0                # weight of elastic motion there, over (C22)


@summarized
@dataclass(frozen=True, eq=False)
class LqgGains:
    """What the law needs in one pose; states (x, x') of the reduced arm, drives first."""

    A: np.ndarray               # (s, s)     over one period
    B: np.ndarray               # (s, joints)
    C: np.ndarray               # (y, s)     encoders, then gauges
    regulator: np.ndarray       # (joints, s)
    leading: np.ndarray         # (joints, s)  for the model that leads
    filter: np.ndarray          # (s + joints, y)
    inertia: np.ndarray         # (joints, joints)  of the drives while nothing bends
    seen_rest: np.ndarray       # (y,)
    effort: np.ndarray          # (joints,)  that holds the pose                        [N m, N]


def gains_at(model: PoseModel, loop: Loop, bandwidth: float, first: float,
             sensors: str = 'all') -> LqgGains:
    """
    Return LqgGains for a reduced PoseModel.

    :param bandwidth: of regulator and filter [Hz]; first: natural frequency of the arm [Hz].
    """
    p, joints = len(model.M), model.push.shape[1]
    A, B = zero_order_hold(model.A, model.B, loop.period)
    J = np.diag(model.M)[:joints]
    w, lead = 2 * np.pi * bandwidth, 2 * np.pi * LEADING * first
    C = outputs_of(model, sensors)
    return LqgGains(
        A, B, C, _regulator(model, A, B, J, w, 1.0), _regulator(model, A, B, J, lead, STEADY),
        _filter(model, A, B, C, J, w, loop.period, p, joints), model.M[:joints, :joints],
        np.concatenate([model.seen_rest, model.gauges_rest])[:len(C)], model.effort)


def outputs_of(model: PoseModel, sensors: str) -> np.ndarray:
    """Rows (y, 2 p) of what the filter sees."""
    rows = np.vstack([model.seen, model.gauges]) if sensors == 'all' else model.seen
    return np.hstack([rows, np.zeros_like(rows)])


def _regulator(model, A, B, J, w, steady):
    """Gains (joints, s) of (C22)."""
    from scipy.linalg import block_diag, solve_discrete_are  # late: a fifth of a start

    joints = J.size
    K = model.K_symmetric.copy()
    K[range(joints), range(joints)] += J * w * w
    Q = block_diag(K, model.M)
    Q[joints:, joints:] *= steady
    # in units in which all of it is about one
    x = np.sqrt(np.concatenate([J * w * w, np.diag(model.K)[joints:] + np.diag(model.M)[joints:]
                                * w * w, np.diag(model.M)]))
    u = np.sqrt(J) * w
    A, B, Q = x[:, None] * A / x, x[:, None] * B * u, Q / np.outer(x, x)
    X = solve_discrete_are(A, B, Q, np.eye(joints))
    gain = np.linalg.solve(np.eye(joints) + B.T @ X @ B, B.T @ X @ A)
    return u[:, None] * gain * x


def _filter(model, A, B, C, J, w, T, p, joints):
    """Gains (s + joints, y) of the filter, whose last states are the slow efforts (C23)."""
    from scipy.linalg import block_diag, solve_discrete_are  # as above

    noise = np.ones(len(C))
    if len(C) > joints:
        stiff = J * (10 * w)**2
        shape = model.held(stiff, 0 * J)[1][:, 0]
        noise[joints:] = GAUGE_NOISE * np.sqrt(J.max()) * max(
            np.abs(model.gauges @ shape).max(), 1e-6)
    A = np.block([[A, B], [np.zeros((joints, 2 * p)), np.eye(joints)]])
    C = np.hstack([C, np.zeros((len(C), joints))])
    W = block_diag(B @ np.diag(J**2 * w**4) @ B.T / T,
                   np.diag(J**2 * w**4 * (INTEGRAL * w)**2) * T)
    m = np.sqrt(np.diag(model.M))
    x = np.concatenate([m, m / w, 1 / (np.sqrt(J) * w * w)]) * np.sqrt(T / J[0])
    y = noise / np.sqrt(T)
    A, C, W = x[:, None] * A / x, C / x / y[:, None], x[:, None] * W * x
    P = solve_discrete_are(A.T, C.T, W + LITTLE * np.eye(len(W)), np.eye(len(C)))
    gain = np.linalg.solve(C @ P @ C.T + np.eye(len(C)), C @ P).T
    return gain / x[:, None] / y


def lqg_law(gains: LqgGains, late: int) -> tuple[np.ndarray, ...]:
    """
    Matrices P, Q, R, S of the law at rest in its pose, as `closing` wants them.

    Its states are those of the filter, the slow efforts, and the efforts under way, newest first.
    """
    A, B, C, L = gains.A, gains.B, gains.C, gains.filter
    (s, m), size = B.shape, len(A) + B.shape[1] * (late + 2)
    prior = np.zeros((s + m, size))
    prior[:s, :s], prior[:s, s:s + m], prior[s:, s:s + m] = A, B, np.eye(m)
    prior[:s, size - m:] = B
    posterior = prior - L @ np.hstack([C, np.zeros((len(C), m))]) @ prior
    ahead, seen = posterior[:s].copy(), L[:s].copy()
    slow, slow_seen = posterior[s:], L[s:]
    for k in range(late, 0, -1):
        ahead, seen = A @ ahead + B @ slow, A @ seen + B @ slow_seen
        ahead[:, s + m * k:s + m * (k + 1)] += B
    R, S = -gains.regulator @ ahead - slow, -gains.regulator @ seen - slow_seen
    P, Q = np.zeros((size, size)), np.zeros((size, len(C)))
    P[:s + m], Q[:s + m] = posterior, L
    P[s + m:s + 2 * m], Q[s + m:s + 2 * m] = R, S
    P[s + 2 * m:, s + m:size - m] = np.eye(m * late)
    return P, Q, R, S
