"""Figure of a run: joints and targets, tips, efforts, timing."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.demo.record import RunRecord
from flex_robot_sim.util.plots import Curve, Panel

MILLI = 1e3
LOG_SCALE_FLOOR_MS = 1e-3  # smallest value on the logarithmic axis


def panels_of_run(record: RunRecord, prismatic: Sequence[str] = ()) -> list[Panel]:
    """
    Return the Panels of a RunRecord.

    :param prismatic: names of the joints that slide.
    """
    turning = [name for name in record.joint_names if name not in prismatic]
    sliding = [name for name in record.joint_names if name in prismatic]
    panels = []
    for names, label in ((turning, 'joint angle [rad]'), (sliding, 'joint position [m]')):
        if names:
            panels.append(Panel(label, tuple(_positions(record, names))))
    if record.links:
        panels.append(Panel('tip deflection [mm]', tuple(_tips(record))))
    for names, label in ((turning, 'effort [N m]'), (sliding, 'effort [N]')):
        if names:
            panels.append(Panel(label, tuple(_efforts(record, names))))
    panels.append(Panel('loop timing [ms]', tuple(_timing(record)), is_logarithmic=True))
    return panels


def panels_of_comparison(
    unshaped: RunRecord,
    shaped: RunRecord,
    shaper: str,
    begin: float = 0.0,
    prismatic: Sequence[str] = (),
) -> list[Panel]:
    """
    Panels of two RunRecords of the same motion, without a shaper and with it.

    :param begin: start of the drawn time [s].
    :param prismatic: names of the joints that slide.
    """
    runs = (('without', unshaped, 1), (f'with {shaper}', shaped, 0))
    ranges = np.ptp(
        unshaped.of_joints('target')[np.isfinite(unshaped.of_joints('target')).all(axis=1)], axis=0
    )
    joint_index = int(np.argmax(ranges))
    joint = unshaped.joint_names[joint_index]

    def panel(label, track, column, factor):
        curves = []
        for name, record, colour in runs:
            times, values = track(record)
            is_shown = times >= begin
            curves.append(Curve(name, times[is_shown], factor * values[is_shown, column], colour))
        return Panel(label, tuple(curves))

    panels = [
        panel(
            f'{joint}: target [{"m" if joint in prismatic else "rad"}]',
            lambda record: (record.joints.time, record.of_joints('target')),
            joint_index,
            1.0,
        )
    ]
    if unshaped.links:
        link = max(unshaped.links, key=lambda link: _range(unshaped.tips[link]))
        panels += [
            panel(
                f'{link}: tip, {axis}\n[mm]',
                lambda record: (record.tips[link].time, record.tips[link].values),
                column,
                MILLI,
            )
            for column, axis in ((1, 'sideways'), (2, 'up and down'))
        ]
    return panels


def _range(track):
    return float(np.ptp(track.values, axis=0).max()) if track.time.size else 0.0


def _positions(record, names):
    time = record.joints.time
    for name in names:
        k = record.joint_names.index(name)
        yield Curve(name, time, record.of_joints('position')[:, k], k)
        yield Curve(f'{name}, target', time, record.of_joints('target')[:, k], k, dashes=2)


def _efforts(record, names):
    for name in names:
        k = record.joint_names.index(name)
        yield Curve(name, record.joints.time, record.of_joints('effort')[:, k], k)


def _tips(record):
    """Curves of the two transverse deflections of each link."""
    for k, link in enumerate(record.links):
        track = record.tips[link]
        for column, axis in ((1, 'y'), (2, 'z')):
            yield Curve(
                f'{link}, {axis}',
                track.time,
                MILLI * track.values[:, column],
                k,
                dashes=column - 1,
            )


def _timing(record):
    lateness = record.lateness
    yield Curve(
        'states late or lost',
        lateness.time,
        np.maximum(MILLI * lateness.values[:, 0], LOG_SCALE_FLOOR_MS),
        5,
    )
    delays = record.delays
    for column, label in ((0, 'state to command,\nmedian of a second'), (1, '99 %')):
        if delays.time.size:
            yield Curve(
                label,
                delays.time,
                MILLI * delays.values[:, column],
                1 - column,
                dashes=column,
                has_marks=True,
            )
