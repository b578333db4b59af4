"""
One sample of an input shaper for joints: set points in, shaped set points out, nothing allocated.

After the FIR filter of a fixed shaper come stages whose delays follow the phase of a mode (S7). A
stage stores its input together with the phase of its mode at that time. It looks up the input of
half a cycle ago, whatever the time since then. So delays change as smoothly as the phase grows.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.pose_table import interpolate
from flex_robot_sim.jit.compiled import compiled

EMPTY = -1  # tick count before the first sample


class ShaperArrays(NamedTuple):
    """Constants of a shaper: n joints, ring buffers of r samples, s stages."""

    period: np.ndarray  # (1,)       of the samples                                 [s]
    delay: np.ndarray  # (k,)       of the FIR coefficients, whole samples
    weight: np.ndarray  # (k,)       their sum is one
    cycles: np.ndarray  # (s, i)     delays of the impulses of a stage          [cycles]
    amplitude: np.ndarray  # (s, i)     0 where a stage has fewer


class ShaperState(NamedTuple):
    """State of a shaper."""

    ticks: np.ndarray  # (1,)       samples so far, EMPTY before the first
    first: np.ndarray  # (r, n)     input of the FIR filter
    ring: np.ndarray  # (s, r, n)  input of each stage
    phase: np.ndarray  # (s, r)     of its mode at that time                  [cycles]
    rate: np.ndarray  # (s, r)     its frequency at that time                    [Hz]
    place: np.ndarray  # (s, i)     tick at or before the delayed input of an impulse
    output: np.ndarray  # (n,)       the newest shaped sample                  [rad, m]
    work: np.ndarray  # (3, n)
    now: np.ndarray  # (s,)       frequencies now                               [Hz]


@compiled
def shaper_tick(arrays, frequencies, state, sample):
    """Shape set points (n,) [rad, m] into state.output; frequencies: a PoseTable [Hz]."""
    n, length = sample.size, state.first.shape[0]
    if state.ticks[0] == EMPTY:
        _begin(state, sample)
        interpolate(frequencies, sample, state.now)
        for s in range(state.now.size):
            state.rate[s, 0] = state.now[s]
    tick = state.ticks[0] + 1
    state.ticks[0] = tick
    row = tick % length
    if state.now.size > 0:
        interpolate(frequencies, state.output, state.now)
    flow, mean = state.work[0], state.work[1]

    # FIR filter: the newest and the delayed samples
    for j in range(n):
        state.first[row, j] = sample[j]
        flow[j] = sample[j]
        mean[j] = 0.0
    for k in range(arrays.delay.size):
        delayed_row = max(tick - arrays.delay[k], 0) % length
        for j in range(n):
            # relative to the newest sample: the end is reached exactly
            mean[j] += arrays.weight[k] * (state.first[delayed_row, j] - flow[j])
    for j in range(n):
        flow[j] += mean[j]

    # stages: the input at which the phase of the mode was less by the cycles of an impulse
    for s in range(state.now.size):
        last = (tick - 1) % length
        rate = state.now[s]
        state.rate[s, row] = rate
        state.phase[s, row] = state.phase[s, last] + 0.5 * arrays.period[0] * (
            rate + state.rate[s, last]
        )
        for j in range(n):
            state.ring[s, row, j] = flow[j]
        _shape_by_phase(arrays, state, s, tick, flow, mean)
    for j in range(n):
        state.output[j] = flow[j]


@compiled
def shape_samples(arrays, frequencies, state, samples, shaped):
    """
    Shape set points (k, n), and then the last one until the output has reached it.

    :param shaped: receives the output (m, n); m is at least k.
    :returns: number of rows of `shaped`.
    """
    last = len(samples) - 1
    for row in range(len(shaped)):
        if row > last:
            distance = 0.0
            for j in range(samples.shape[1]):
                distance += abs(state.output[j] - samples[last, j])
            if distance == 0.0:
                return row
        shaper_tick(arrays, frequencies, state, samples[min(row, last)])
        for j in range(samples.shape[1]):
            shaped[row, j] = state.output[j]
    return len(shaped)


@compiled
def _begin(state, sample):
    """Initialise a constant history."""
    state.ticks[0] = 0
    state.phase[:] = 0.0
    state.place[:] = 0
    for j in range(sample.size):
        state.first[0, j] = sample[j]
        state.output[j] = sample[j]
        for s in range(state.ring.shape[0]):
            state.ring[s, 0, j] = sample[j]


@compiled
def _shape_by_phase(arrays, state, s, tick, flow, mean):
    """Replace `flow` by the weighted mean of stage s."""
    n, length = flow.size, state.first.shape[0]
    total = 0.0
    for j in range(n):
        mean[j] = 0.0
    for i in range(arrays.cycles.shape[1]):
        weight = arrays.amplitude[s, i]
        if weight == 0.0:
            continue
        wanted = state.phase[s, tick % length] - arrays.cycles[s, i]
        place = max(state.place[s, i], tick - length + 1)
        while place < tick and state.phase[s, (place + 1) % length] <= wanted:
            place += 1
        state.place[s, i] = place
        here, after = place % length, min(place + 1, tick) % length
        share = 0.0
        if here != after and wanted > state.phase[s, here]:
            share = (wanted - state.phase[s, here]) / (
                state.phase[s, after] - state.phase[s, here]
            )
        # the amplitude of a vibration depends on the frequency at its start (S8)
        rate = state.rate[s, here] + share * (state.rate[s, after] - state.rate[s, here])
        weight *= np.sqrt(rate / state.rate[s, tick % length])
        total += weight
        has_neighbours = place + 2 <= tick and place - 1 >= max(0, tick - length + 1)
        previous_row, next_row = (place - 1) % length, (place + 2) % length
        for j in range(n):
            a, b = state.ring[s, here, j], state.ring[s, after, j]
            value = a + share * (b - a)
            if has_neighbours:
                # cubic through four samples, clipped to its two neighbours
                z, c = state.ring[s, previous_row, j], state.ring[s, next_row, j]
                bend = (share - 2.0) * (z - 2.0 * a + b) - (1.0 + share) * (a - 2.0 * b + c)
                value += share * (1.0 - share) * bend / 6.0
                value = min(max(value, min(a, b)), max(a, b))
            mean[j] += weight * (value - flow[j])
    for j in range(n):
        flow[j] += mean[j] / total
