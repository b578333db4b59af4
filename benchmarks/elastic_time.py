"""
Time of one step, one evaluation and its derivatives for curved links with 8 coordinates each.

A sliding link is compared with a fixed beam on the same prismatic joint.

`python -m benchmarks.elastic_time`
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.derivatives_time import CALLS as FORWARD_CALLS
from benchmarks.derivatives_time import DERIVATIVE_CALLS
from benchmarks.derivatives_time import calls_of as derivative_calls
from benchmarks.step_time import CALLS, flexible_chain
from benchmarks.timing import holding_gains, in_turns

LINKS = (1, 2, 5)
COORDINATES = 8  # of each link
MAX_SLIDING_US = 3.0  # of a step of a sliding link over that of a fixed one
# one measurement of these fits between two interruptions of a busy machine
SHORT_CALLS, SHORT_ROUNDS = 100, 10


def curved_chain(links, count=COORDINATES):
    """Return the text of a robot of curved links, each on a hinge."""
    return flexible_chain(
        links,
        '0.3 0.1 0.02',
        '0.15 0.06 0.01',
        'ixx="3e-4" iyy="0.00225" izz="0.0025"',
        '<axis points="0 0 0  0.15 0.08 0  0.3 0.1 0.02"/>',
        f'count="{count}"',
    )


def boom(guide=''):
    """
    Return the text of a robot with a link on a prismatic joint, and a load at its end.

    :param guide: attributes by which the link slides out of a guide.
    """
    return f"""<robot name="boom"><link name="base"/>
<link name="boom"><inertial><origin xyz="0.75 0 0"/><mass value="3"/>
  <inertia ixx="0.003" iyy="0.567" izz="0.567" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="load"><inertial><mass value="0.7"/>
  <inertia ixx="2e-3" iyy="3e-3" izz="2e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="out" type="prismatic"><parent link="base"/><child link="boom"/>
  <axis xyz="1 0 0"/><limit lower="-0.1" upper="1.1" effort="1e4" velocity="9"/></joint>
<joint name="mount" type="fixed"><parent link="boom"/><child link="load"/>
  <origin xyz="1.5 0 0"/></joint>
<flexibility><link name="boom" end="1.5 0 0" {guide}>
  <section EIy="400" EIz="800" GJ="150" EA="1e7"/>
  <modes bending_y="2" bending_z="2" torsion="1"/></link></flexibility></robot>"""


def sliding_times(rounds):
    """Times of a step of a sliding link and of a fixed one [us], both held at rest."""
    simulations = []
    for guide in ('guide="out" mouth="1.2"', ''):
        sim = frs.Simulation(frs.load(boom(guide)))
        sim.hold(np.zeros(1), *holding_gains(sim.arm))
        simulations.append(sim)
    calls = [lambda sim=sim: sim.step(SHORT_CALLS) for sim in simulations]
    return [min(row) / SHORT_CALLS * 1e6 for row in in_turns(calls, SHORT_ROUNDS * rounds)]


def measure(quick=False):
    """Return all figures of this part."""
    rounds, found = 15 if quick else 41, {}
    for links in LINKS:
        arm = frs.load(curved_chain(links))
        sim = frs.Simulation(arm)
        sim.hold(np.zeros(links), *holding_gains(arm))
        forward, slopes = derivative_calls(arm)
        rows = in_turns([lambda sim=sim: sim.step(CALLS), forward, slopes], rounds)
        found[links] = {
            'step_us': min(rows[0]) / CALLS * 1e6,
            'forward_dynamics_us': min(rows[1]) / FORWARD_CALLS * 1e6,
            'derivatives_us': min(rows[2]) / DERIVATIVE_CALLS * 1e6,
        }
    sliding, fixed = sliding_times(rounds)
    return {'elastic': found, 'sliding_step_us': sliding, 'fixed_step_us': fixed}


def as_text(result):
    """Lines of the table."""
    for links, row in result['elastic'].items():
        yield (
            f'{links} curved link{"s" * (links > 1)}, {COORDINATES} coordinates each',
            f'step {row["step_us"]:.2f} us, forward dynamics '
            f'{row["forward_dynamics_us"]:.2f} us, its derivatives {row["derivatives_us"]:.2f} us',
        )
    sliding, fixed = result['sliding_step_us'], result['fixed_step_us']
    yield (
        'a sliding link, 5 coordinates and its free length',
        f'step {sliding:.2f} us, {sliding - fixed:.2f} us more than a fixed one on the same joint '
        f'(at most {MAX_SLIDING_US:g})',
    )


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:42s} {value}')
