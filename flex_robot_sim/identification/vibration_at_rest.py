"""
Residual vibration of links at rest, compared with the model.

A servo yields to the vibration of its arm, so both vibrate together, and the gains of the servo
are often unknown. The motion y of the drives is measured instead. With x = S y + r, where S is the
static gain, small motions r = sum of Phi_k z_k are modes with locked drives, excited by y,

    z_k'' + 2 D_k w_k z_k' + w_k^2 z_k = - g_k y'',
    g_k = Phi_k^T (M_xx S + M_xy) / (Phi_k^T M_xx Phi_k)                                    (I20)

for any servo. Gauges measure C (S y + sum of Phi_k z_k), and each z_k is the sum of a free decay
and the response to y. Stiffness changes w; masses and lengths determine all other terms. So the
fit estimates one factor of all w_k and one of all D_k. Initial amplitudes and gauge offsets are
linear,

    s = e + C S y + sum over k of C Phi_k (a_k u_k + b_k v_k - g_k H_k y)                   (I21)

with u_k, v_k = exp(-D w t) (cos, sin)(w' t), and H_k the filter s^2 / (s^2 + 2 D w s + w^2).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import least_squares
from scipy.signal import lfilter

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.operating_point import state_at
from flex_robot_sim.analysis.tangent import tangent
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arm_model import ArmModel

MAX_FREQUENCY_DEVIATION = 0.4  # relative to the frequencies of the model
START_FREQUENCY_RATIOS = np.geomspace(0.7, 1.35, 17)
DAMPING_FACTOR_BOUNDS = 0.05, 20.0  # over the damping of the model
MIN_DAMPING_RATIO = 2e-3  # of a model without damping
COLORED_NOISE_FACTOR = 2.0  # factor on standard deviations: model errors vibrate as well


class VibrationModel(NamedTuple):
    """Modes of an arm in a pose with locked drives, their excitation and their outputs."""

    frequencies: np.ndarray  # (k,)  slowest first                                       [Hz]
    ratios: np.ndarray  # (k,)  damping ratios
    output_shapes: np.ndarray  # (c, k)    C Phi
    participation: np.ndarray  # (k, joints)   g
    static_gain: np.ndarray  # (c, joints)   C S


class VibrationFit(NamedTuple):
    """Residual vibration relative to the model."""

    share: float  # measured over modelled frequencies
    deviation: float  # its standard deviation
    damping: float  # measured over modelled damping ratios
    size: float  # largest signal over the residual
    explained: float  # share of the variance
    cycles: float  # equivalent duration at the largest amplitude, in periods


def vibration_model(
    arm: ArmModel, position: np.ndarray, max_frequency_ratio: float
) -> VibrationModel:
    """
    Return the VibrationModel of an ArmModel at rest.

    :param position: of the drives, (joints,).
    :param max_frequency_ratio: of the highest mode, over the slowest.
    """
    loads = make_loads(arm)
    q, qd, slopes = state_at(arm, loads, position, None)
    D, K = slopes or tangent(arm, loads, q, qd, np.zeros(arm.size))
    M, y = mass_matrix(arm.arrays, q), arm.drive_q
    x = arm.passive_q
    flexible, flexible_drives = np.ix_(x, x), np.ix_(x, y)
    if arm.actuated.all():
        static_gain = -np.linalg.solve(K[flexible], K[flexible_drives])
    else:  # nothing may hold the spin of a rod on a ball joint
        static_gain = -np.linalg.lstsq(K[flexible], K[flexible_drives])[0]
    squares, shapes = eigh((K[flexible] + K[flexible].T) / 2, M[flexible])  # of unit modal mass
    rates = np.sqrt(np.maximum(squares, 0.0))
    is_used = (rates > 0.0) & (
        rates <= max_frequency_ratio * rates[rates > 0.0].min(initial=np.inf)
    )
    shapes, rates = shapes[:, is_used], rates[is_used]
    ratios = np.einsum('nk,nm,mk->k', shapes, D[flexible], shapes) / (2 * rates)
    gauges = flex_sensors(arm).matrix
    participation = np.zeros((rates.size, arm.actuated.size))
    participation[:, arm.actuated] = shapes.T @ (M[flexible] @ static_gain + M[flexible_drives])
    gain_of_gauges = np.zeros((len(gauges), arm.actuated.size))
    gain_of_gauges[:, arm.actuated] = gauges[:, x] @ static_gain + gauges[:, y]
    return VibrationModel(
        rates / (2 * np.pi), ratios, gauges[:, x] @ shapes, participation, gain_of_gauges
    )


def fit_vibration(
    time: np.ndarray, signals: np.ndarray, drives: np.ndarray, model: VibrationModel, band: float
) -> VibrationFit | None:
    """
    Fit the residual vibration in measured signals; None if they do not determine it.

    :param time: even samples (k,) [s]; signals: of gauges, (k, c) [1/m].
    :param drives: their positions, (k, joints) [rad, m], with the low-pass filter of the signals.
    :param band: cutoff frequency of that filter [Hz].
    """
    time, step = time - time[0], time[1] - time[0]
    drives = drives - drives[0]
    flexible_signals = signals - drives @ model.static_gain.T
    if not np.isfinite(flexible_signals).all():
        return None
    flexible_signals = flexible_signals - flexible_signals.mean(axis=0)
    damping = np.maximum(model.ratios, MIN_DAMPING_RATIO)

    def regressors(p):
        rates = 2 * np.pi * p[0] * model.frequencies
        ratios = np.minimum(np.exp(p[1]) * damping, 0.9)
        columns, forced = [], np.zeros_like(flexible_signals)
        for k, (rate, ratio) in enumerate(zip(rates, ratios)):
            phase = rate * np.sqrt(1 - ratio**2) * time
            decay = np.exp(-ratio * rate * time)
            columns += [
                np.outer(decay * harmonic, model.output_shapes[:, k]).ravel()
                for harmonic in (np.cos(phase), np.sin(phase))
            ]
            driven_response = lfilter(
                *_high_pass(rate, ratio, step), drives @ model.participation[k]
            )
            forced -= np.outer(driven_response, model.output_shapes[:, k])
        return np.column_stack(columns), forced

    zeros = np.tile(np.eye(flexible_signals.shape[1]), (len(time), 1))

    def residuals(p):
        columns, forced = regressors(p)
        columns, remainder = np.hstack([columns, zeros]), (flexible_signals - forced).ravel()
        # scaled, because a gauge near a node hardly measures a mode
        scale = np.sqrt(np.square(columns).sum(axis=0))
        columns = columns[:, scale > 0.0] / scale[scale > 0.0]
        amplitudes, *_ = np.linalg.lstsq(columns.T @ columns, columns.T @ remainder, rcond=1e-9)
        return columns @ amplitudes - remainder

    start = min(
        ([share, 0.0] for share in START_FREQUENCY_RATIOS),
        key=lambda p: float(np.square(residuals(p)).sum()),
    )
    low = [1 - MAX_FREQUENCY_DEVIATION, np.log(DAMPING_FACTOR_BOUNDS[0])]
    high = [1 + MAX_FREQUENCY_DEVIATION, np.log(DAMPING_FACTOR_BOUNDS[1])]
    fit = least_squares(
        residuals,
        start,
        bounds=(low, high),
        x_scale=[0.02, 0.5],
        ftol=1e-7,
        xtol=1e-7,
        max_nfev=20,
    )
    if abs(fit.x[0] - 1.0) > 0.99 * MAX_FREQUENCY_DEVIATION:
        return None
    freedom = max(fit.fun.size - 2 * len(model.frequencies) - flexible_signals.shape[1] - 2, 1)
    noise = fit.fun @ fit.fun / freedom
    # filtered samples are correlated
    samples_per_independent = max(1.0, 0.5 / step / band)
    stds = COLORED_NOISE_FACTOR * np.sqrt(
        np.maximum(
            np.diag(np.linalg.pinv(fit.jac.T @ fit.jac)) * noise * samples_per_independent, 0.0
        )
    )
    return VibrationFit(
        float(fit.x[0]),
        float(stds[0]),
        float(np.exp(fit.x[1])),
        float(np.abs(flexible_signals).max() / np.sqrt(max(noise, 1e-300))),
        float(1 - np.mean(fit.fun**2) / max(np.mean(flexible_signals**2), 1e-300)),
        _duration_in_periods(flexible_signals, step * model.frequencies[0]),
    )


def _duration_in_periods(signals, periods_per_sample):
    """Return the equivalent duration of a vibration in periods."""
    # its end is the rest position; a mean is wrong if the vibration decays at once
    energy = np.square(signals - np.median(signals[len(signals) // 2 :], axis=0)).sum(axis=1)
    period = max(1, round(1 / periods_per_sample))
    max_energy = np.convolve(energy, np.ones(period) / period)[period - 1 :].max()
    return float(energy.sum() * periods_per_sample / max(max_energy, 1e-300))


def _high_pass(rate, ratio, step):
    """Return numerator and denominator of H by the bilinear transform, prewarped to `rate`."""
    k = rate / np.tan(rate * step / 2)
    a = np.array(
        [
            k * k + 2 * ratio * rate * k + rate**2,
            2 * (rate**2 - k * k),
            k * k - 2 * ratio * rate * k + rate**2,
        ]
    )
    return k * k * np.array([1.0, -2.0, 1.0]) / a[0], a / a[0]
