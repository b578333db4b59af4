"""The figures of the stiffened arm, section 4.2: the falling Canadarm2, figures 8 to 18."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.reproduction import Figure
from flex_robot_sim.reproduce.simulated_motion import Run
from flex_robot_sim.util.plots import Chart, Curve

OUTLINE_TIMES = (0.0, 0.5, 1.0, 1.5, 2.0)  # of the stick figure                   [s]
CLOSE_UP_SECONDS = 0.1  # start of the fall, in a separate chart [s]
LINE_STYLES = ((4, 0), (1, 1), (0, 2), (2, 3))  # colours and dashes
BENDING_SCALE = 30.0  # scale of the bending in figure 8
WRIST_POINTS = 4  # points of the outline that follow the booms


class Drop(NamedTuple):
    """One simulated fall."""

    arm: ArmModel
    run: Run
    outline_time: np.ndarray  # (k,)             times of `outline`                   [s]
    outline: np.ndarray  # (k, points, 3)   of the arm, in the base frame        [m]
    energy_error: np.ndarray  # (k,)             of the energy balance, over the kinetic energy


def make_fall_figures(drop: Drop, booms: int) -> tuple[Figure, ...]:
    """
    Return figure 8: the arm from the side, and from the front, which shows its offset.

    :param booms: number of flexible links at the start of the outline, with equal point counts.
    """
    figures = []
    for view, title, column, label in (
        ('side', f'bending of the booms drawn {BENDING_SCALE:g} times', 0, 'x [m]'),
        ('front', 'the booms lie 0.475 m apart', 1, 'y, along the joint axes [m]'),
    ):
        curves = []
        for k, time in enumerate(OUTLINE_TIMES):
            row = int(np.abs(drop.outline_time - time).argmin())
            if abs(drop.outline_time[row] - time) < 0.01:
                points = drop.outline[row].copy()
                if view == 'side':
                    _enlarge(points, booms)
                curves.append(
                    Curve(f'{time:g} s', points[:, column], points[:, 2], (4, 1, 0, 2, 3)[k], k)
                )
        figures.append(
            Figure(
                f'figure_8_{view}',
                f'Fig. 8: Canadarm2 drops, from the {view}',
                (
                    Chart(
                        title, label, 'height [m]', tuple(curves), has_equal_scales=view == 'side'
                    ),
                ),
                1,
            )
        )
    return tuple(figures)


def _enlarge(points, booms):
    """Scale the distance of each boom from the chord between its ends, in place."""
    points_per_boom = (len(points) - WRIST_POINTS) // booms
    for first in range(0, booms * points_per_boom, points_per_boom):
        boom = points[first : first + points_per_boom]
        along = np.linspace(0.0, 1.0, points_per_boom)[:, None]
        chord = boom[0] + along * (boom[-1] - boom[0])
        boom[:] = chord + BENDING_SCALE * (boom - chord)


def make_twist_figures(
    by_rotor: Mapping[str, Drop],
    joint_twist: Callable[[Drop], np.ndarray],
    tip_displacement: Callable[[Drop, int], np.ndarray],
) -> tuple[Figure, ...]:
    """Return figure 9, and figures 10 to 13."""
    early = tuple(
        Chart(title, 'time [s]', 'angle [rad]', _curves(by_rotor, joint_twist, end_time))
        for title, end_time in (
            ('Fig. 9: torsional angle of joint 1', np.inf),
            (f'Fig. 9, its first {CLOSE_UP_SECONDS:g} s', CLOSE_UP_SECONDS),
        )
    )
    charts = [
        Chart(
            f'Fig. {10 + row}: {name} of the upper boom',
            'time [s]',
            f'{name} [{"rad" if name == "theta_x" else "m"}]',
            _curves(by_rotor, lambda drop, row=row: tip_displacement(drop, row)),
        )
        for row, name in enumerate(('u_x', 'v_y', 'w_z', 'theta_x'))
    ]
    return (
        Figure('figure_9', 'Canadarm2: inertia of the rotors', early),
        Figure('figures_10_to_13', 'Canadarm2: inertia of the rotors', tuple(charts)),
    )


def make_joint_figures(by_stiffness: Mapping[str, Drop]) -> tuple[Figure, ...]:
    """Return figures 14 to 18, each with the difference from the stiffest joints."""
    charts, (*softer, hardest) = [], by_stiffness
    stiff = by_stiffness[hardest].run.q

    def change(drop, k):
        size = min(len(drop.run.q), len(stiff))
        return drop.run.q[:size, k] - stiff[:size, k]

    for k in range(5):
        charts += [
            Chart(
                f'Fig. {14 + k}: joint {k + 1}',
                'time [s]',
                'angle q2 [rad]',
                _curves(by_stiffness, lambda drop, k=k: drop.run.q[:, k]),
            ),
            Chart(
                f'less that of {hardest}',
                'time [s]',
                'difference [rad]',
                _curves(
                    {name: by_stiffness[name] for name in softer},
                    lambda drop, k=k: change(drop, k),
                ),
            ),
        ]
    return (
        Figure('figures_14_to_18', 'Canadarm2: stiffness of the joints [N m/rad]', tuple(charts)),
    )


def _curves(cases, values, end_time=np.inf):
    curves = []
    # draw the last ones first: their range is the largest
    for (name, drop), style in reversed(list(zip(cases.items(), LINE_STYLES))):
        shown = values(drop)
        times = drop.run.time[: len(shown)]
        curves.append(Curve(name, times[times <= end_time], shown[times <= end_time], *style))
    return tuple(curves)
