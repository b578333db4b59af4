"""The figures of the stiffened arm, section 4.2: the falling Canadarm2, figures 8 to 18."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.reproduce.report import Pictures
from flex_robot_sim.util.plots import Chart, Curve

if TYPE_CHECKING:
    from flex_robot_sim.reproduce.canadarm2 import Drop

    Values = Callable[[Drop], np.ndarray]       # a curve (k,) of a Drop

PLACES = (0.0, 0.5, 1.0, 1.5, 2.0)          # of the stick figure                   [s]
EARLY = 0.1                                 # of the fall, shown by itself          [s]
LOOKS = ((4, 0), (1, 1), (0, 2), (2, 3))    # colours and dashes
LARGER = 30.0                               # scale of the bending in figure 8
WRIST = 4                                   # points of the outline beyond the booms


def falling(one: Drop, booms: int) -> tuple[Pictures, ...]:
    """
    Figure 8: the arm from the side, and from ahead, where its offset shows.

    :param booms: how many flexible links begin the outline, in equal numbers of points.
    """
    pictures = []
    for view, title, across, label in (
            ('side', f'bending of the booms drawn {LARGER:g} times', 0, 'x [m]'),
            ('front', 'the booms lie 0.475 m apart', 1, 'y, along the joint axes [m]')):
        curves = []
        for k, time in enumerate(PLACES):
            row = int(np.abs(one.places - time).argmin())
            if abs(one.places[row] - time) < 0.01:
                points = one.outline[row].copy()
                if view == 'side':
                    _enlarge(points, booms)
                curves.append(Curve(f'{time:g} s', points[:, across], points[:, 2],
                                    (4, 1, 0, 2, 3)[k], k))
        pictures.append(Pictures(
            f'figure_8_{view}', f'Fig. 8: Canadarm2 drops, from the {view}',
            (Chart(title, label, 'height [m]', tuple(curves), has_equal_scales=view == 'side'),),
            1))
    return tuple(pictures)


def _enlarge(points, booms):
    """Enlarge the distance of each boom from the chord between its ends, in place."""
    size = (len(points) - WRIST) // booms
    for first in range(0, booms * size, size):
        boom = points[first:first + size]
        along = np.linspace(0.0, 1.0, size)[:, None]
        chord = boom[0] + along * (boom[-1] - boom[0])
        boom[:] = chord + LARGER * (boom - chord)


def twists(by_rotor: Mapping[str, Drop], twist: Values,
           of_tip: Callable[[Drop, int], np.ndarray]) -> tuple[Pictures, ...]:
    """Figure 9, and figures 10 to 13."""
    early = (Chart('Fig. 9: torsional angle of joint 1', 'time [s]', 'angle [rad]',
                   _curves(by_rotor, twist)),
             Chart(f'Fig. 9, its first {EARLY:g} s', 'time [s]', 'angle [rad]',
                   _curves(by_rotor, twist, EARLY)))
    charts = []
    for row, name, unit in ((0, 'u_x', 'm'), (1, 'v_y', 'm'), (2, 'w_z', 'm'),
                            (3, 'theta_x', 'rad')):
        charts.append(Chart(f'Fig. {10 + row}: {name} of the upper boom', 'time [s]',
                            f'{name} [{unit}]',
                            _curves(by_rotor, lambda one, row=row: of_tip(one, row))))
    return (Pictures('figure_9', 'Canadarm2: inertia of the rotors', early),
            Pictures('figures_10_to_13', 'Canadarm2: inertia of the rotors', tuple(charts)))


def joints(by_stiffness: Mapping[str, Drop]) -> tuple[Pictures, ...]:
    """Figures 14 to 18, and next to each of them what stiffness changes."""
    charts, (*softer, hardest) = [], by_stiffness
    stiff = by_stiffness[hardest].run.q

    def change(one, k):
        size = min(len(one.run.q), len(stiff))
        return one.run.q[:size, k] - stiff[:size, k]

    for k in range(5):
        charts += [
            Chart(f'Fig. {14 + k}: joint {k + 1}', 'time [s]', 'angle q2 [rad]',
                  _curves(by_stiffness, lambda one, k=k: one.run.q[:, k])),
            Chart(f'less that of {hardest}', 'time [s]', 'difference [rad]',
                  _curves({name: by_stiffness[name] for name in softer},
                          lambda one, k=k: change(one, k)))]
    return (Pictures('figures_14_to_18', 'Canadarm2: stiffness of the joints [N m/rad]',
                     tuple(charts)),)


def _curves(cases, values, until=np.inf):
    curves = []
    # the last ones reach farthest, and lie below
    for (name, one), look in reversed(list(zip(cases.items(), LOOKS))):
        shown = values(one)
        times = one.run.time[:len(shown)]
        curves.append(Curve(name, times[times <= until], shown[times <= until], *look))
    return tuple(curves)
