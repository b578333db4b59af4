"""
Time to rest: when the tool stays within an allowed distance of its goal.

The time counts from the start of a move. While the set points move, and for a while afterwards,
the distance of the tool is sampled. Beyond the samples it follows in closed form: each mode decays
with its own rate, and the sum of all amplitudes bounds the distance (S17).

`modal_vibration` is that motion by superposition of the modes of one pose. A set point that
follows a path s(t) from 0 to 1 excites each mode as a moving base does:

    x'' + 2 zeta w x' + w^2 x = -s'',   distance of the tool = |sum of g x| <= sum of |g| |x|
"""

from __future__ import annotations

import numpy as np

from flex_robot_sim.shaping.poles import pole_of


def envelope_rest_time(amplitudes: np.ndarray, decays: np.ndarray, allowed: float) -> float:
    """
    Time until the sum of decaying amplitudes is at most `allowed`, and stays so [s].

    :param amplitudes: of the modes at time 0, (m,) [m].
    :param decays: their rates of decay zeta w, (m,) [1/s].
    :param allowed: distance [m].
    """
    amplitudes, decays = np.asarray(amplitudes, float), np.asarray(decays, float)
    if amplitudes.sum() <= allowed:
        return 0.0
    lasting = amplitudes[decays <= 0.0].sum()
    if lasting >= allowed:
        return np.inf
    decaying = decays > 0.0
    amplitudes, decays = amplitudes[decaying], decays[decaying]
    # with the slowest decay for all modes the time is known, and an upper bound
    high = np.log(amplitudes.sum() / (allowed - lasting)) / decays.min()
    from scipy.optimize import brentq  # imported late: slow, rarely needed

    def excess(time):
        return lasting + float(amplitudes @ np.exp(-decays * time)) - allowed

    return float(brentq(excess, 0.0, high * (1 + 1e-9), xtol=1e-9))


def rest_time(
    distances: np.ndarray, step: float, allowed: float, amplitudes: np.ndarray, decays: np.ndarray
) -> float:
    """
    Time from the first sample until the tool stays within `allowed` [s].

    :param distances: of the tool from its goal, (k,) samples [m]; step: between them [s].
    :param amplitudes: of the modes after the last sample, (m,) [m].
    :param decays: their rates of decay, (m,) [1/s].
    """
    later = envelope_rest_time(amplitudes, decays, allowed)
    if later > 0.0:
        return step * (len(distances) - 1) + later
    beyond = np.flatnonzero(distances > allowed)
    if not beyond.size:
        return 0.0
    last = int(beyond[-1])
    if last + 1 >= len(distances):
        return step * last
    # between two samples the distance is a line
    share = (distances[last] - allowed) / (distances[last] - distances[last + 1])
    return step * (last + float(share))


def modal_vibration(
    path: np.ndarray, step: float, frequencies: np.ndarray, ratios: np.ndarray
) -> np.ndarray:
    """
    Amplitude of each mode along a path, (m, k) [s/s], per unit of g.

    The path is linear between its samples, which is exact for set points that are interpolated
    linearly. The amplitude is the modulus of a rotating phasor: its last column is the amplitude
    of the free vibration after the path.

    :param path: samples (k,) of s(t); step: between them [s].
    :param frequencies: natural (m,) [Hz]; ratios: of damping (m,).
    """
    from scipy.signal import lfilter  # imported late: slow, rarely needed

    poles = pole_of(frequencies, ratios)
    # a change of slope is an impulse of acceleration
    slopes = np.diff(path, prepend=path[0], append=path[-1]) / step
    jumps = -np.diff(slopes)
    return np.array(
        [np.abs(lfilter([1.0], [1.0, -np.exp(pole * step)], jumps)) / pole.imag for pole in poles]
    )
