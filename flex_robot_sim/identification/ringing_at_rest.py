"""
How links ring while drives hold them more or less still, over what the model says.

A servo that holds an arm gives way to its ringing, so that arm and servo ring together, and nobody
knows the servo of somebody else. But where the drives were is measured. With their small motion y
about a pose, and x = S y + r, where S says how far links follow in the end, small motions of the
arm are modes r = sum of Phi_k z_k with locked drives that y shakes,

    z_k'' + 2 D_k w_k z_k' + w_k^2 z_k = - g_k y'',
    g_k = Phi_k^T (M_xx S + M_xy) / (Phi_k^T M_xx Phi_k)                                    (I20)

whatever holds the drives. Gauges show C (S y + sum of Phi_k z_k), and each z_k is a free decay
and what y makes. What a stiffness changes is w; masses and lengths make the rest. So the fit looks
for one factor of all w_k and one of all D_k; how each mode begins, and the zeros of gauges, are
linear,

    s = e + C S y + sum over k of C Phi_k (a_k u_k + b_k v_k - g_k H_k y)                   (I21)

with u_k, v_k = exp(-D w t) (cos, sin)(w' t), and H_k the filter s^2 / (s^2 + 2 D w s + w^2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import least_squares
from scipy.signal import lfilter

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.operating_point import state_at
from flex_robot_sim.analysis.tangent import driven, tangent
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

WIDEST = 0.4            # by which frequencies may be off those of the model, over them
SCAN = np.geomspace(0.7, 1.35, 17)      # of the frequencies, at which the fit may begin
DAMPED = 0.05, 20.0     # of the damping of the model
LEAST_RATIO = 2e-3      # of a model without damping
COLOURED = 2.0          # times the deviation: what the model lacks rings as well


class RingingModel(NamedTuple):
    """Modes of an arm in a pose, its drives locked, and what drives and gauges have to do with."""

    frequencies: np.ndarray     # (k,)  slowest first                                       [Hz]
    ratios: np.ndarray          # (k,)  of damping
    shown: np.ndarray           # (c, k)    C Phi
    shaken: np.ndarray          # (k, joints)   g
    follow: np.ndarray          # (c, joints)   C S


class Ringing(NamedTuple):
    """What rang, over what the model says, with a standard deviation."""

    share: float            # of the frequencies
    deviation: float
    damping: float          # factor of the damping ratios
    size: float             # of the ringing, over what is left unexplained
    explained: float        # share of the variance
    cycles: float           # for which it lasted, as if it had kept its greatest size


def ringing_model(arm: ArmModel, position: np.ndarray, highest: float) -> RingingModel:
    """
    Return the RingingModel of an ArmModel at rest.

    :param position: of the drives, (joints,); highest: frequency, over the slowest.
    """
    loads = make_loads(arm)
    q, qd, slopes = state_at(arm, loads, position, None)
    D, K = slopes or tangent(arm, loads, q, qd, np.zeros(arm.size))
    M, y = mass_matrix(arm.arrays, q), driven(arm)
    x = np.setdiff1d(np.arange(arm.size), y)
    own, with_drives = np.ix_(x, x), np.ix_(x, y)
    follow = -np.linalg.solve(K[own], K[with_drives])
    squares, shapes = eigh((K[own] + K[own].T) / 2, M[own])     # of unit modal mass
    rates = np.sqrt(np.maximum(squares, 0.0))
    used = (rates > 0.0) & (rates <= highest * rates[rates > 0.0].min(initial=np.inf))
    shapes, rates = shapes[:, used], rates[used]
    ratios = np.einsum('nk,nm,mk->k', shapes, D[own], shapes) / (2 * rates)
    gauges = flex_sensors(arm).matrix
    return RingingModel(rates / (2 * np.pi), ratios, gauges[:, x] @ shapes,
                        shapes.T @ (M[own] @ follow + M[with_drives]),
                        gauges[:, x] @ follow + gauges[:, y])


def ringing_at_rest(time: np.ndarray, signals: np.ndarray, drives: np.ndarray,
                    model: RingingModel, band: float) -> Ringing | None:
    """
    Return how what was measured rings, or None where nothing is told.

    :param time: even samples (k,) [s]; signals: of gauges, (k, c) [1/m].
    :param drives: their places, (k, joints) [rad, m], low-passed as the signals are.
    :param band: of what noise and signals have left [Hz].
    """
    time, step = time - time[0], time[1] - time[0]
    drives = drives - drives[0]
    wanted = signals - drives @ model.follow.T
    if not np.isfinite(wanted).all():
        return None
    wanted = wanted - wanted.mean(axis=0)
    damping = np.maximum(model.ratios, LEAST_RATIO)

    def parts(p):
        rates = 2 * np.pi * p[0] * model.frequencies
        ratios = np.minimum(np.exp(p[1]) * damping, 0.9)
        columns, forced = [], np.zeros_like(wanted)
        for k, (rate, ratio) in enumerate(zip(rates, ratios)):
            damped = rate * np.sqrt(1 - ratio**2) * time
            decay = np.exp(-ratio * rate * time)
            columns += [np.outer(decay * wave, model.shown[:, k]).ravel()
                        for wave in (np.cos(damped), np.sin(damped))]
            shaken = lfilter(*_high_pass(rate, ratio, step), drives @ model.shaken[k])
            forced -= np.outer(shaken, model.shown[:, k])
        return np.column_stack(columns), forced

    zeros = np.tile(np.eye(wanted.shape[1]), (len(time), 1))

    def lacking(p):
        columns, forced = parts(p)
        columns, left = np.hstack([columns, zeros]), (wanted - forced).ravel()
        # scaled, because gauges near a node show little of a mode
        size = np.sqrt(np.square(columns).sum(axis=0))
        columns = columns[:, size > 0.0] / size[size > 0.0]
        factor, *_ = np.linalg.lstsq(columns.T @ columns, columns.T @ left, rcond=1e-9)
        return columns @ factor - left

    begin = min(([share, 0.0] for share in SCAN), key=lambda p: float(np.square(
        lacking(p)).sum()))
    low, high = [1 - WIDEST, np.log(DAMPED[0])], [1 + WIDEST, np.log(DAMPED[1])]
    fit = least_squares(lacking, begin, bounds=(low, high), x_scale=[0.02, 0.5], ftol=1e-7,
                        xtol=1e-7, max_nfev=20)
    if abs(fit.x[0] - 1.0) > 0.99 * WIDEST:
        return None
    freedom = max(fit.fun.size - 2 * len(model.frequencies) - wanted.shape[1] - 2, 1)
    noise = fit.fun @ fit.fun / freedom
    # of a band of the samples, of which only so many are independent
    alike = max(1.0, 0.5 / step / band)
    spread = COLOURED * np.sqrt(np.maximum(np.diag(np.linalg.pinv(
        fit.jac.T @ fit.jac)) * noise * alike, 0.0))
    return Ringing(float(fit.x[0]), float(spread[0]), float(np.exp(fit.x[1])),
                   float(np.abs(wanted).max() / np.sqrt(max(noise, 1e-300))),
                   float(1 - np.mean(fit.fun**2) / max(np.mean(wanted**2), 1e-300)),
                   _lasting(wanted, step * model.frequencies[0]))


def _lasting(wanted, step):
    """Periods over which something rings; `step` of them from sample to sample."""
    # at rest is where it ends, and no mean of what may have died away at once
    energy = np.square(wanted - np.median(wanted[len(wanted) // 2:], axis=0)).sum(axis=1)
    period = max(1, round(1 / step))
    top = np.convolve(energy, np.ones(period) / period)[period - 1:].max()
    return float(energy.sum() * step / max(top, 1e-300))


def _high_pass(rate, ratio, step):
    """Numerator and denominator of H by the bilinear rule, exact at the rate itself."""
    k = rate / np.tan(rate * step / 2)
    a = np.array([k * k + 2 * ratio * rate * k + rate**2, 2 * (rate**2 - k * k),
                  k * k - 2 * ratio * rate * k + rate**2])
    return k * k * np.array([1.0, -2.0, 1.0]) / a[0], a / a[0]
