"""The figures of the dual screws, section 6: linearised against nonlinear, figures 5 to 10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.reproduce.motion import Run
from flex_robot_sim.reproduce.report import Pictures
from flex_robot_sim.util.plots import WIDE, Chart, Curve

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

FIRST, SECOND = 0.5, 3.0                    # when the targets change               [s]
CLOSE = 0.3                 # of the ringing after a change, drawn apart            [s]
NAMES = {'linear': 'linearised', 'exact': 'nonlinear'}
GROUPS = {'bending_y': ('figure_7', 'Fig. 7: bending in the xy planes', 'm', 3.0),
          'torsion': ('figure_8', 'Fig. 8: torsion', 'rad', None),
          'bending_z': ('figure_9', 'Fig. 9: bending in the xz planes', 'm', None)}


def pictures(arm: ArmModel, runs: Mapping[str, Run], efforts: Mapping[str, np.ndarray]
             ) -> tuple[Pictures, ...]:
    """Return all Pictures of two Runs and their efforts (k, joints), by the keys of NAMES."""
    until = runs['exact'].time[-1]
    pictures = [Pictures('figure_6', 'Fig. 6: joints', tuple(
        _pair(runs, f'joint {j + 1}', scale, label, lambda one, j=j, rate=rate: (
            one.qd if rate else one.q)[:, j])
        for j in range(4) for rate, scale, label in ((False, 180 / np.pi, 'angle [deg]'),
                                                     (True, 180 / np.pi, 'rate [deg/s]'))))]
    for kind, (name, title, unit, shown) in GROUPS.items():
        charts = []
        for k, coordinate in enumerate(arm.coordinate_names):
            if f'/{kind}_' in coordinate:
                link, mode = coordinate.split('/')
                heading = f'{link.replace("_", " ")}, shape {mode[-1]}'
                scale, prefix = (1e3, 'm') if unit == 'm' else (1.0, '')
                charts += [
                    _pair(runs, heading, scale, f'coordinate [{prefix}{unit}]',
                          lambda one, k=k: one.q[:, k], shown),
                    _pair(runs, heading, scale, f'rate [{prefix}{unit}/s]',
                          lambda one, k=k: one.qd[:, k], shown)]
        if shown is None and until > SECOND:
            charts += [_pair(runs, f'{link.replace("_", " ")}, shape 1, closer', scale,
                             f'coordinate [{prefix}{unit}]', lambda one, k=k: one.q[:, k],
                             SECOND + CLOSE, SECOND)
                       for link, k in _first_shapes(arm, kind)]
        pictures.append(Pictures(name, title, tuple(charts)))
    torques = tuple(
        _chart(f'joint {j + 1}', 'torque [N m]', {
            one: (runs[one].time, efforts[one][:, j]) for one in runs}, 4.0) for j in range(4))
    torques += tuple(
        _chart(f'joint {j + 1}, closer', 'torque [N m]', {
            one: (runs[one].time, efforts[one][:, j]) for one in runs}, since + CLOSE, since)
        for j, since in ((0, SECOND), (1, FIRST)) if until > since)
    return (manoeuvre_picture(arm, runs['exact']), *pictures,
            Pictures('figure_10', 'Fig. 10: torques', torques))


def manoeuvre_picture(arm: ArmModel, run: Run) -> Pictures:
    """Figure 5: the arm at the start, when joint 1 begins to turn, and at the end."""
    shown = (('initial', 0.0, 5, 1), ('intermediate', SECOND, 0, 0), ('final', np.inf, 4, 0))
    charts = []
    for title, a, b, labels in (('Fig. 5: from the side', 0, 2, ('x [m]', 'z [m]')),
                                ('Fig. 5: from above', 0, 1, ('x [m]', 'y [m]'))):
        curves = []
        for name, time, colour, dashes in shown:
            q = run.q[min(int(np.searchsorted(run.time, time)), len(run.q) - 1)]
            points = np.array([np.zeros(3), *(
                pose(arm, q, link)[:3, 3] if station is None else
                pose(arm, q, link, station)[:3, 3] for link, station in _outline(arm))])
            curves.append(Curve(name, points[:, a], points[:, b], colour, dashes))
        charts.append(Chart(title, *labels, tuple(curves), has_equal_scales=True))
    return Pictures('figure_5', 'Fig. 5: manoeuvre', tuple(charts))


def _outline(arm):
    """Links and stations of the line that stands for the arm, base to tip."""
    for link in arm.description.links[1:]:
        yield link.name, None
        if link.beam is not None:
            for share in (0.25, 0.5, 0.75, 1.0):
                yield link.name, share * link.beam.length


def _first_shapes(arm, kind):
    """Link and coordinate of every first shape of a kind."""
    return [(name.split('/')[0], k) for k, name in enumerate(arm.coordinate_names)
            if name.endswith(f'/{kind}_1')]


def _pair(runs, title, scale, label, values_of, until=None, since=0.0):
    return _chart(title, label, {name: (run.time, scale * values_of(run))
                                 for name, run in runs.items()}, until, since)


def _chart(title, label, curves, until=None, since=0.0):
    return Chart(title, 'time [s]', label, tuple(
        Curve(NAMES[one], *_cut(*curves[one], until, since), *style) for one, style in _styles()))


def _styles():
    """Solid for linearised, dashed for nonlinear, as in the paper; the solid one wide, below."""
    return ('linear', (5, 0, False, WIDE)), ('exact', (4, 1))


def _cut(times, values, until, since=0.0):
    shown = (times >= since - 1e-9) & (times <= (np.inf if until is None else until) + 1e-9)
    return times[shown], values[shown]
