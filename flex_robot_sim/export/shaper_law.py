"""
The law of an input shaper for generated code: OnlineShaper and VelocityLimiter as statements.

`c_code` and `structured_text` print these functions in their language, with their comments. They
consist of loops, conditions and assignments of numbers and array elements, so that each statement
has a counterpart in both languages. All variables are rows of VARIABLES and LOCALS, and the tables
of `shaper_tables.FIELDS`; UPPERCASE names are sizes and codes. As Python, they run on an object
with these attributes.

Unlike OnlineShaper, the law counts no samples: rows of ring buffers wrap around. So integers of 32
bits suffice for any time.
"""

from __future__ import annotations

from math import ceil, floor, sqrt
from typing import Any

from flex_robot_sim.export.shaper_tables import Field

# codes of a sample: name, number, meaning
CODES = (
    ('OK', 0, 'the set point is shaped'),
    ('NOT_RESET', 1, 'no reset yet: the output is not valid'),
    ('NOT_FINITE', 2, 'a set point is not finite: the last good one is held'),
    ('JUMP', 3, 'a set point jumps: the last good one is held'),
    ('WRONG_PERIOD', 4, 'the cycle time is not that of the tables'),
    ('WRONG_ROBOT', 5, 'the tables are of another robot'),
    ('WRONG_JOINTS', 6, 'the joints, or their order, are not those of the tables'),
    ('IN_MOTION', 7, 'the reset was refused: the joints still move'),
    ('CHANGING', 8, 'the change was refused: another one is not complete'),
)

VARIABLES = (
    Field('set_point', 'real', ('joints',), 'input', 'rad, m'),
    Field('velocity', 'real', ('joints',), 'input of a reset', 'rad/s, m/s'),
    Field('code', 'int', (), 'of the last sample'),
    Field('is_reset', 'int', (), '1 after the first reset'),
    Field('accepted', 'real', ('joints',), 'last good set point', 'rad, m'),
    Field('output', 'real', ('joints',), 'after the delays', 'rad, m'),
    Field('row', 'int', (), 'of the newest sample in the ring buffers'),
    Field('filled', 'int', (), 'samples before it'),
    Field('history', 'real', ('samples', 'joints'), 'set points', 'rad, m'),
    Field('mean', 'real', ('joints',), 'weighted sum of an impulse sequence', 'rad, m'),
    Field('mixed', 'real', ('joints',), 'mean of output and the replaced design', 'rad, m'),
    Field('replaced', 'real', ('joints',), 'shaped position of the replaced design', 'rad, m'),
    Field('replaced_is_reset', 'int', (), '1: replaced is valid'),
    Field('replaced_duration', 'real', (), 'that the replaced design adds, at most', 's'),
    Field('fade', 'real', (), 'duration of the replacement', 's'),
    Field('age', 'real', (), 'of the replacement, over this duration; 1: it is complete'),
)
STAGE_VARIABLES = (
    Field('present', 'real', ('stages',), 'frequencies', 'Hz'),
    Field('stage_history', 'real', ('stages', 'samples', 'joints'), 'input of stages', 'rad, m'),
    Field('phase', 'real', ('stages', 'samples'), 'of the mode at that time', 'cycles'),
    Field('rate', 'real', ('stages', 'samples'), 'frequency at that time', 'Hz'),
    Field('place', 'int', ('stages', 'impulses'), 'row at or before the input of an impulse'),
    Field('cell', 'int', ('axes',), 'position below the pose'),
    Field('share', 'real', ('axes',), 'of the way to the next one'),
)
LIMITER_VARIABLES = (
    Field('limited', 'real', ('joints',), 'after the velocity limits', 'rad, m'),
    Field('track', 'real', ('limiter_samples', 'joints'), 'received samples', 'rad, m'),
    Field('track_row', 'int', (), 'of the newest of them'),
    Field('ticks', 'real', (), 'samples received'),
    Field('lag', 'real', (), 'of the output', 'samples'),
    Field('at_tick', 'real', (), 'input of sample_track', 'samples'),
    Field('back', 'int', (), 'rows from the newest one'),
    Field('sampled', 'real', ('joints',), 'position at at_tick', 'rad, m'),
    Field('begin_of_part', 'real', ('joints',), 'of the track', 'rad, m'),
)
# variables of one call
INTEGERS = 'j k m i corner table_row bits side old previous next_row behind after here'
REALS = (
    'along product gain total wanted part value a b c z bend change done tick goal distance '
    'next_tick newest'
)
LOCALS = {**dict.fromkeys(INTEGERS.split(), 'int'), **dict.fromkeys(REALS.split(), 'real')}


def start(v: Any) -> None:
    """Begin with a constant history at the set point."""
    v.row = 0
    v.filled = 0
    v.age = 1.0
    for j in range(v.JOINTS):
        v.accepted[j] = v.set_point[j]
        v.output[j] = v.set_point[j]
        v.history[0, j] = v.set_point[j]
    if v.STAGES > 0:
        for m in range(v.STAGES):
            v.phase[m, 0] = 0.0
            for j in range(v.JOINTS):
                v.stage_history[m, 0, j] = v.set_point[j]
            for i in range(v.IMPULSES):
                v.place[m, i] = 0
    if v.LIMITER_SAMPLES > 0:
        v.track_row = 0
        v.ticks = -1.0
        v.lag = 0.0
        for j in range(v.JOINTS):
            v.limited[j] = v.set_point[j]
            v.track[0, j] = v.set_point[j]


def restart(v: Any) -> None:
    """Reset to the set point, if it is finite and the joints rest."""
    v.code = v.OK
    for j in range(v.JOINTS):
        # the first bad joint determines the code; comparisons are also false for NaN
        if v.code == v.OK:
            if not abs(v.set_point[j]) < v.MAX_SET_POINT:
                v.code = v.NOT_FINITE
            elif not abs(v.velocity[j]) <= v.REST_VELOCITY:
                v.code = v.IN_MOTION
    if v.code == v.OK:
        v.is_reset = 1
        start(v)


def begin_replacement(v: Any) -> None:
    """Start at the last good set point of a design in motion, to replace this design."""
    v.code = v.OK
    if v.replaced_is_reset == 0:
        v.code = v.NOT_RESET
    for j in range(v.JOINTS):
        # also false for NaN
        if not (abs(v.set_point[j]) < v.MAX_SET_POINT and abs(v.replaced[j]) < v.MAX_SET_POINT):
            v.code = v.NOT_FINITE
    if v.code == v.OK:
        v.is_reset = 1
        start(v)
        v.fade = max(0.1, 1.5 * max(v.replaced_duration, v.duration))
        v.age = 0.0 - v.duration / v.fade
        if v.LIMITER_SAMPLES > 0:
            for j in range(v.JOINTS):
                v.limited[j] = v.replaced[j]
                v.track[0, j] = v.replaced[j]


def check_set_point(v: Any) -> None:
    """Accept the set point, or hold the last good one."""
    v.code = v.OK
    if v.is_reset == 0:
        v.code = v.NOT_RESET
    for j in range(v.JOINTS):
        # also false for NaN
        if not abs(v.set_point[j]) < v.MAX_SET_POINT:
            v.code = v.NOT_FINITE
    if v.code == v.OK:
        for j in range(v.JOINTS):
            if abs(v.set_point[j] - v.accepted[j]) > v.max_change[j]:
                v.code = v.JUMP
    if v.code == v.OK:
        for j in range(v.JOINTS):
            v.accepted[j] = v.set_point[j]


def look_up_frequencies(v: Any) -> None:
    """Interpolate the frequencies of the modes at the shaped position, linearly by axis."""
    for k in range(v.AXES):
        along = (v.output[v.axis_joint[k]] - v.axis_origin[k]) / v.axis_unit[k]
        along = min(max(along, 0.0), float(v.axis_size[k] - 1))
        here = floor(along)
        if here > v.axis_size[k] - 2:
            here = v.axis_size[k] - 2
        v.cell[k] = here
        v.share[k] = along - float(here)
    for m in range(v.STAGES):
        v.present[m] = 0.0
    # weighted mean of the corners of the cell
    for corner in range(v.CORNERS):
        table_row = 0
        product = 1.0
        bits = corner
        for i in range(v.AXES):
            # the last axis has the lowest bit
            k = v.AXES - 1 - i
            side = bits % 2
            bits = bits // 2
            if side == 1:
                product = product * v.share[k]
            else:
                product = product * (1.0 - v.share[k])
            table_row = table_row + (v.cell[k] + side) * v.axis_stride[k]
        if product != 0.0:
            for m in range(v.STAGES):
                v.present[m] = v.present[m] + product * v.frequency[table_row, m]


def delay_by_time(v: Any) -> None:
    """FIR filter: the newest and the delayed samples."""
    v.row = v.row + 1
    if v.row == v.SAMPLES:
        v.row = 0
    if v.filled < v.SAMPLES - 1:
        v.filled = v.filled + 1
    for j in range(v.JOINTS):
        v.history[v.row, j] = v.accepted[j]
        v.output[j] = v.accepted[j]
        v.mean[j] = 0.0
    for k in range(v.TAPS):
        behind = v.delay[k]
        if behind > v.filled:
            behind = v.filled
        here = v.row - behind
        if here < 0:
            here = here + v.SAMPLES
        # relative to the newest sample: the end is reached exactly
        for j in range(v.JOINTS):
            v.mean[j] = v.mean[j] + v.weight[k] * (v.history[here, j] - v.output[j])
    for j in range(v.JOINTS):
        v.output[j] = v.output[j] + v.mean[j]


def delay_by_phase(v: Any) -> None:
    """Stages: the input at which the phase of the mode was less by the cycles of an impulse."""
    old = v.row - 1
    if old < 0:
        old = v.SAMPLES - 1
    for m in range(v.STAGES):
        if v.filled == 1:
            v.rate[m, old] = v.present[m]
        v.rate[m, v.row] = v.present[m]
        v.phase[m, v.row] = v.phase[m, old] + 0.5 * v.period * (v.present[m] + v.rate[m, old])
        for j in range(v.JOINTS):
            v.stage_history[m, v.row, j] = v.output[j]
            v.mean[j] = 0.0
        total = 0.0
        for i in range(v.IMPULSES):
            gain = v.amplitude[m, i]
            if gain != 0.0:
                # the last sample whose phase is not above the wanted one
                wanted = v.phase[m, v.row] - v.cycles[m, i]
                here = v.place[m, i]
                if here == v.row:
                    here = here + 1
                    if here == v.SAMPLES:
                        here = 0
                after = here + 1
                if after == v.SAMPLES:
                    after = 0
                while here != v.row and v.phase[m, after] <= wanted:
                    here = after
                    after = after + 1
                    if after == v.SAMPLES:
                        after = 0
                v.place[m, i] = here
                if here == v.row:
                    after = here
                part = 0.0
                if here != v.row and wanted > v.phase[m, here]:
                    part = (wanted - v.phase[m, here]) / (v.phase[m, after] - v.phase[m, here])
                # the amplitude of a vibration depends on the frequency at its start
                value = v.rate[m, here] + part * (v.rate[m, after] - v.rate[m, here])
                gain = gain * sqrt(value / v.rate[m, v.row])
                total = total + gain
                # cubic through four samples, if they exist
                behind = v.row - here
                if behind < 0:
                    behind = behind + v.SAMPLES
                if behind < 2 or behind + 1 > v.filled:
                    for j in range(v.JOINTS):
                        a = v.stage_history[m, here, j]
                        b = v.stage_history[m, after, j]
                        value = a + part * (b - a)
                        v.mean[j] = v.mean[j] + gain * (value - v.output[j])
                else:
                    previous = here - 1
                    if previous < 0:
                        previous = v.SAMPLES - 1
                    next_row = after + 1
                    if next_row == v.SAMPLES:
                        next_row = 0
                    for j in range(v.JOINTS):
                        z = v.stage_history[m, previous, j]
                        a = v.stage_history[m, here, j]
                        b = v.stage_history[m, after, j]
                        c = v.stage_history[m, next_row, j]
                        bend = (part - 2.0) * (z - 2.0 * a + b) - (1.0 + part) * (a - 2.0 * b + c)
                        value = a + part * (b - a)
                        value = value + part * (1.0 - part) * bend / 6.0
                        # clipped to the two neighbours
                        value = min(max(value, min(a, b)), max(a, b))
                        v.mean[j] = v.mean[j] + gain * (value - v.output[j])
        for j in range(v.JOINTS):
            v.output[j] = v.output[j] + v.mean[j] / total


def sample_track(v: Any) -> None:
    """Interpolate the received samples linearly at at_tick."""
    distance = v.ticks - v.at_tick
    v.back = ceil(distance)
    part = v.at_tick - (v.ticks - float(v.back))
    here = v.track_row - v.back
    if here < 0:
        here = here + v.LIMITER_SAMPLES
    after = here + 1
    if after == v.LIMITER_SAMPLES:
        after = 0
    for j in range(v.JOINTS):
        v.sampled[j] = v.track[here, j]
        if part > 0.0:
            v.sampled[j] = v.sampled[j] + part * (v.track[after, j] - v.track[here, j])


def limit_velocity(v: Any) -> None:
    """Delay all joints by the same time where one would exceed its velocity limit."""
    v.track_row = v.track_row + 1
    if v.track_row == v.LIMITER_SAMPLES:
        v.track_row = 0
    v.ticks = v.ticks + 1.0
    newest = v.ticks
    for j in range(v.JOINTS):
        v.track[v.track_row, j] = v.mixed[j]
    tick = newest - 1.0 - v.lag
    goal = min(newest, tick + 1.0 + v.catch_up * v.lag)
    tick = max(tick, max(newest - float(v.LIMITER_SAMPLES - 1), 0.0))
    goal = max(goal, tick)
    v.at_tick = tick
    sample_track(v)
    total = 1.0
    for j in range(v.JOINTS):
        distance = abs(v.sampled[j] - v.limited[j])
        if distance > v.max_travel[j]:
            total = min(total, v.max_travel[j] / distance)
    if total < 1.0:
        # straight to the oldest sample: older ones were overwritten before they were reached
        for j in range(v.JOINTS):
            v.limited[j] = v.limited[j] + total * (v.sampled[j] - v.limited[j])
    else:
        # along the samples, until the goal or the limit of a joint
        while tick < goal and total == 1.0:
            for j in range(v.JOINTS):
                v.begin_of_part[j] = v.sampled[j]
            next_tick = min(newest - float(v.back) + 1.0, goal)
            v.at_tick = next_tick
            sample_track(v)
            for j in range(v.JOINTS):
                change = v.sampled[j] - v.begin_of_part[j]
                done = v.begin_of_part[j] - v.limited[j]
                if change > 0.0:
                    total = min(total, (v.max_travel[j] - done) / change)
                elif change < 0.0:
                    total = min(total, (v.max_travel[j] + done) / (0.0 - change))
            total = max(total, 0.0)
            if total == 1.0:
                tick = next_tick
            else:
                tick = tick + total * (next_tick - tick)
                for j in range(v.JOINTS):
                    v.sampled[j] = v.begin_of_part[j] + total * (v.sampled[j] - v.begin_of_part[j])
        for j in range(v.JOINTS):
            v.limited[j] = v.sampled[j]
    v.lag = newest - tick


def mix(v: Any) -> None:
    """Mix the output with the design that it replaces; the weight of this falls from 1 to 0."""
    for j in range(v.JOINTS):
        v.mixed[j] = v.output[j]
    if v.age < 1.0:
        part = max(v.age, 0.0)
        gain = 1.0 + part * part * part * (-10.0 + part * (15.0 - 6.0 * part))
        for j in range(v.JOINTS):
            v.mixed[j] = v.output[j] + gain * (v.replaced[j] - v.output[j])
        v.age = min(v.age + v.period / v.fade, 1.0)


def advance(v: Any) -> None:
    """One sample, after restart, begin_replacement or check_set_point."""
    if v.STAGES > 0:
        look_up_frequencies(v)
    delay_by_time(v)
    if v.STAGES > 0:
        delay_by_phase(v)
    mix(v)
    if v.LIMITER_SAMPLES > 0:
        limit_velocity(v)
