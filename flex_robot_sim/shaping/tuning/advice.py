"""Advice after tuning: one sentence that follows from the measurements before and after."""

from __future__ import annotations

import numpy as np

from flex_robot_sim.shaping.tuning.measured_table import TOLERANCE
from flex_robot_sim.shaping.tuning.tune_plan import MAX_POSES
from flex_robot_sim.shaping.tuning.tune_session import TuneResult

MIN_SIGNAL = 5.0  # vibration without a shaper, over noise, that needs a shaper
GOOD_LEFT = 2 * TOLERANCE  # vibration left over that before, of a shaper that works
USELESS_LEFT = 0.6  # vibration left, above which the shaper does not help
WIDE_BAND = 0.12  # half width of a band that more poses may narrow


def advice(result: TuneResult) -> str:
    """Return a sentence: use the shaper, or what to change first."""
    signals = [one.before.amplitude / max(one.before.noise, 1e-300) for one in result.poses]
    if np.median(signals) < MIN_SIGNAL:
        return (
            'Use no shaper: the vibration is hardly above the noise of the sensor; repeat with '
            'faster moves (--speed, --acceleration) if you see the tool vibrate.'
        )
    left = np.array([one.left for one in result.poses])
    worst = int(np.argmax(left))
    added = f'{result.added:.2f} s to each move'
    figures = f'it leaves {np.median(left):.0%} of the vibration (at most {left[worst]:.0%})'
    if np.median(left) > USELESS_LEFT:
        return (
            f'Do not use the shaper: {figures}; check that the controller follows 200 set points '
            'a second, and that sensor and payload did not change between the measurements.'
        )
    if left[worst] > GOOD_LEFT and len(result.poses) < MAX_POSES:
        return (
            f'Measure more poses: {figures}, most in pose {worst + 1}; continue with --poses '
            f'{min(len(result.poses) + 2, MAX_POSES)}.'
        )
    if left[worst] > GOOD_LEFT:
        return (
            f'Use the shaper with care: {figures}, most in pose {worst + 1}, and adds {added}; '
            'tune a smaller range of poses, or slower moves.'
        )
    if result.band > WIDE_BAND and len(result.poses) < MAX_POSES:
        return (
            f'Use the shaper: {figures} and adds {added}; more poses (--poses '
            f'{min(len(result.poses) + 2, MAX_POSES)}) would narrow its band of '
            f'+-{result.band:.0%} and make it shorter.'
        )
    return f'Use the shaper: {figures} and adds {added}.'
