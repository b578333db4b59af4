"""The figures of the dual screws, section 6: linearised against nonlinear, figures 5 to 10."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.reproduction import Figure
from flex_robot_sim.reproduce.simulated_motion import Run
from flex_robot_sim.util.plots import WIDE, Chart, Curve

FIRST_TARGET_TIME, SECOND_TARGET_TIME = 0.5, 3.0  # when the targets change       [s]
CLOSE_UP_DURATION = 0.3  # of the vibration after a change, in separate charts   [s]
# linearised solid, nonlinear dashed; the wide solid line is drawn first
LINE_STYLES: dict[str, tuple[Any, ...]] = {'linear': (5, 0, False, WIDE), 'exact': (4, 1)}
CURVE_NAMES = {'linear': 'linearised', 'exact': 'nonlinear'}
ELASTIC_GROUPS = {
    'bending_y': ('figure_7', 'Fig. 7: bending in the xy planes', 'm', 3.0),
    'torsion': ('figure_8', 'Fig. 8: torsion', 'rad', None),
    'bending_z': ('figure_9', 'Fig. 9: bending in the xz planes', 'm', None),
}


def make_figures(
    arm: ArmModel, runs: Mapping[str, Run], efforts: Mapping[str, np.ndarray]
) -> tuple[Figure, ...]:
    """Return all figures of two Runs and their efforts (k, joints), keyed as CURVE_NAMES."""
    end_time = runs['exact'].time[-1]
    figures = [
        Figure(
            'figure_6',
            'Fig. 6: joints',
            tuple(
                _plot_pair(
                    runs,
                    f'joint {j + 1}',
                    scale,
                    label,
                    lambda run, j=j, rate=rate: (run.qd if rate else run.q)[:, j],
                )
                for j in range(4)
                for rate, scale, label in (
                    (False, 180 / np.pi, 'angle [deg]'),
                    (True, 180 / np.pi, 'rate [deg/s]'),
                )
            ),
        )
    ]
    for kind, (figure, title, unit, shown) in ELASTIC_GROUPS.items():
        charts = []
        for k, coordinate in enumerate(arm.coordinate_names):
            if f'/{kind}_' in coordinate:
                link, mode = coordinate.split('/')
                heading = f'{link.replace("_", " ")}, shape {mode[-1]}'
                scale, prefix = (1e3, 'm') if unit == 'm' else (1.0, '')
                charts += [
                    _plot_pair(
                        runs,
                        heading,
                        scale,
                        f'{label} [{prefix}{unit}{per}]',
                        lambda run, k=k, values=values: getattr(run, values)[:, k],
                        shown,
                    )
                    for values, label, per in (('q', 'coordinate', ''), ('qd', 'rate', '/s'))
                ]
        if shown is None and end_time > SECOND_TARGET_TIME:
            charts += [
                _plot_pair(
                    runs,
                    f'{name.split("/")[0].replace("_", " ")}, shape 1, closer',
                    scale,
                    f'coordinate [{prefix}{unit}]',
                    lambda run, k=k: run.q[:, k],
                    SECOND_TARGET_TIME + CLOSE_UP_DURATION,
                    SECOND_TARGET_TIME,
                )
                for k, name in enumerate(arm.coordinate_names)
                if name.endswith(f'/{kind}_1')
            ]
        figures.append(Figure(figure, title, tuple(charts)))
    intervals = [(j, '', 0.0, 4.0) for j in range(4)]
    intervals += [
        (j, ', closer', start_time, start_time + CLOSE_UP_DURATION)
        for j, start_time in ((0, SECOND_TARGET_TIME), (1, FIRST_TARGET_TIME))
        if end_time > start_time
    ]
    torques = tuple(
        _make_chart(
            f'joint {j + 1}{remark}',
            'torque [N m]',
            {name: (runs[name].time, efforts[name][:, j]) for name in runs},
            end,
            start,
        )
        for j, remark, start, end in intervals
    )
    return (
        make_manoeuvre_figure(arm, runs['exact']),
        *figures,
        Figure('figure_10', 'Fig. 10: torques', torques),
    )


def make_manoeuvre_figure(arm: ArmModel, run: Run) -> Figure:
    """Return figure 5: the arm at the start, when joint 1 begins to turn, and at the end."""
    shown = (
        ('initial', 0.0, 5, 1),
        ('intermediate', SECOND_TARGET_TIME, 0, 0),
        ('final', np.inf, 4, 0),
    )
    charts = []
    for title, a, b, labels in (
        ('Fig. 5: from the side', 0, 2, ('x [m]', 'z [m]')),
        ('Fig. 5: from above', 0, 1, ('x [m]', 'y [m]')),
    ):
        curves = []
        for name, time, colour, dashes in shown:
            q = run.q[min(int(np.searchsorted(run.time, time)), len(run.q) - 1)]
            points = np.array(
                [
                    np.zeros(3),
                    *(
                        pose(arm, q, link=link, station=station)[:3, 3]
                        for link, station in _outline(arm)
                    ),
                ]
            )
            curves.append(Curve(name, points[:, a], points[:, b], colour, dashes))
        charts.append(Chart(title, *labels, tuple(curves), has_equal_scales=True))
    return Figure('figure_5', 'Fig. 5: manoeuvre', tuple(charts))


def _outline(arm):
    """Yield links and stations of the stick figure of the arm, base to tip."""
    for link in arm.description.links[1:]:
        yield link.name, None
        if link.beam is not None:
            for fraction in (0.25, 0.5, 0.75, 1.0):
                yield link.name, fraction * link.beam.length


def _plot_pair(runs, title, scale, label, values_of, end_time=None, start_time=0.0):
    return _make_chart(
        title,
        label,
        {name: (run.time, scale * values_of(run)) for name, run in runs.items()},
        end_time,
        start_time,
    )


def _make_chart(title, label, curves, end_time=None, start_time=0.0):
    return Chart(
        title,
        'time [s]',
        label,
        tuple(
            Curve(CURVE_NAMES[name], *_select_interval(curves[name], end_time, start_time), *style)
            for name, style in LINE_STYLES.items()
        ),
    )


def _select_interval(curve, end_time, start_time):
    times, values = curve
    shown = (times >= start_time - 1e-9) & (
        times <= (np.inf if end_time is None else end_time) + 1e-9
    )
    return times[shown], values[shown]
