"""
Element sum against conventional integration while length, stiffness and payload change.

`python -m benchmarks.element_sum_sweep [FILE.png]`

According to the paper, the curves of its first example "continue to match well even when the
parameters of the robot are changed". It does not name the parameters. Example 1 has no payload: in
the runs that change the payload, PAYLOAD is fixed to the tip.
"""

import sys
from xml.etree import ElementTree

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.reproduce.element_sum_1 import (
    DURATION_S,
    FORCE,
    REVOLUTE,
    ROBOT,
    SWITCH_TIMES,
    TIP,
    TORQUE,
)
from flex_robot_sim.reproduce.element_sums import bang_bang
from flex_robot_sim.reproduce.simulated_motion import curve_error, simulate
from flex_robot_sim.util.plots import WIDE, Chart, Curve, write_charts
from flex_robot_sim.util.share import shipped_robots

FACTORS, STEP, EVERY = (0.5, 1.0, 2.0), 1e-3, 4  # [s]
QUANTITIES = ('length', 'stiffness', 'payload')
PAYLOAD, RADIUS = 0.1, 0.02  # a ball at the tip of link 2               [kg, m]
RISE = 0.05  # of force and torque: a jump excites modes that neither way resolves       [s]


def measure(quick=False):
    """Return {quantity: {factor: (time, conventional tip, proposed tip, joint off by)}}."""
    found: dict[str, dict] = {}
    for quantity in QUANTITIES:
        found[quantity] = {}
        for factor in FACTORS[:1] if quick else FACTORS:
            arm = frs.load(varied(quantity, factor))
            # a short link gets less torque, so that it stays off its stop
            size = min(factor, 1.0) if quantity == 'length' else 1.0
            effort = bang_bang([FORCE, size * TORQUE], SWITCH_TIMES, RISE)
            rest, duration = np.zeros(arm.size), 0.02 if quick else DURATION_S
            runs = [
                simulate(arm, effort, rest, rest, STEP, duration, stride=EVERY, formulation=name)
                for name in ('recursion', 'element_sum')
            ]
            tips, joints = ([curve(arm, run) for run in runs] for curve in (TIP, REVOLUTE))
            found[quantity][factor] = runs[0].time, *tips, curve_error(*joints)
    return found


def varied(quantity, factor):
    """Return the robot of example 1 with link 2 changed, or with a payload at its tip."""
    robot = ElementTree.parse(shipped_robots()[ROBOT]).getroot()
    links = {link.get('name'): link for link in robot.iterfind('link')}
    if quantity == 'length':
        inertial = links['link_2'].find('inertial')
        assert inertial is not None
        _scale(inertial.find('origin'), ('xyz',), factor)
        _scale(inertial.find('mass'), ('value',), factor)
        _scale(inertial.find('inertia'), ('ixx',), factor)
        _scale(inertial.find('inertia'), ('iyy', 'izz'), factor**3)
        _scale(robot.find('joint[@name="tool_mount"]/origin'), ('xyz',), factor)
    elif quantity == 'payload':
        about = repr(0.4 * factor * PAYLOAD * RADIUS**2)
        inertial = ElementTree.SubElement(links['tool'], 'inertial')
        ElementTree.SubElement(inertial, 'mass', value=repr(factor * PAYLOAD))
        ElementTree.SubElement(inertial, 'inertia', ixx=about, iyy=about, izz=about)
    for link in robot.iterfind('flexibility/link'):
        if quantity == 'length':
            _scale(link, ('end',), factor)
        elif quantity == 'stiffness':
            _scale(link.find('material'), ('E', 'G'), factor)
    return ElementTree.tostring(robot, 'unicode')


def _scale(element, names, factor):
    for name in names:
        element.set(name, ' '.join(repr(factor * float(x)) for x in element.get(name).split()))


def as_text(found):
    """Lines of the table."""
    for quantity, rows in found.items():
        for factor, (_, usual, proposed, joint) in rows.items():
            yield (
                f'{quantity} times {factor:g}: tip of link 2, and its joint, off by',
                f'{100 * curve_error(usual, proposed):.2g} % and {100 * joint:.2g} % of the range',
            )


def draw(path, found):
    """Draw the tip of link 2 for every quantity, both ways."""
    charts = []
    for quantity, rows in found.items():
        curves = []
        for number, (factor, (time, usual, proposed, _)) in enumerate(rows.items()):
            size = np.ptp(usual)  # a link of twice the length bends a hundred times as far
            curves += [
                Curve(
                    f'x {factor:g}: {1e3 * size:.3g} mm',
                    time,
                    usual / size,
                    number,
                    0,
                    False,
                    WIDE,
                ),
                Curve(f'x {factor:g}, element sum', time, proposed / size, 4, 1),
            ]
        charts.append(
            Chart(f'{quantity} changed', 'time [s]', 'deflection over range', tuple(curves))
        )
    write_charts(path, 'Tip of link 2 in example 1, conventional and as a sum', charts, columns=1)


if __name__ == '__main__':
    table = measure()
    for words, value in as_text(table):
        print(f'{words:56s} {value}')
    if sys.argv[1:]:
        draw(sys.argv[1], table)
