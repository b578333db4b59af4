"""
A beam whose hub turns as Omega(t) = w0 [t/T - sin(2 pi t/T)/(2 pi)] up to T = 15 s.

The hub has a rotor of 1e9 kg m2, some 1e7 times what the beam has, so that a torque of the rotor
times the wanted acceleration prescribes the motion to 1e-7. Expected numbers were converged by
other programs, about 5e-4.

Four segments with two shapes each are within 0.15 % in every row. A beam in one piece converges
with its shapes to 0.06, 0.13, 0.3, 1.8 and 2.6 % at 0.6, 2, 3, 8 and 10 rad/s: the share grows
with the square of the lag over the length (up to 0.14), because its deflections are of second
order in that. Two segments with two shapes stay below 0.6 %.
"""

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from beam_arms import with_elements, with_modes

from flex_robot_sim import read_description
from flex_robot_sim.analysis.deflection import tip_translations
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings

pytestmark = pytest.mark.slow
ROTOR, T, STEP = 1e9, 15.0, 5e-3
PAPER = {
    'length': 8.0,
    'mass_per_length': 2766.7 * 7.2968e-5,
    'EI': 6.8952e10 * 8.2189e-9,
    'EA': 6.8952e10 * 7.2968e-5,
}
KANE = {'length': 10.0, 'mass_per_length': 1.2, 'EI': 1.4e4, 'EA': 2.8e7}
ROWS = [
    (PAPER, 0.6, 0.0855, 7.2),
    (PAPER, 2, 0.2801, 7.0),
    (PAPER, 3, 0.4111, 6.9),
    (PAPER, 8, 0.932, 6.35),
    (PAPER, 10, 1.083, 6.2),
    (KANE, 6, 0.574, 6.76),
]
IDS = [f'{case["length"]:g} m at {w0:g}' for case, w0, *_ in ROWS]


def make_spin_up(discretisation, coupling, w0, *, length, mass_per_length, EI, EA):
    """Return a Simulation at rest, and its efforts over time."""
    mass = mass_per_length * length
    section = f'<section EIz="{EI!r}" EA="{EA!r}"/>'
    arm = build_arm(
        read_description(
            robot(
                joint(),
                link(
                    mass=mass,
                    centre=f'{length / 2!r} 0 0',
                    inertia=(1e-4, mass * length**2 / 12, mass * length**2 / 12),
                ),
                flexibility(
                    beam(section + discretisation, f'{length!r} 0 0'),
                    f'<joint name="hinge" rotor_inertia="{ROTOR!r}"/>',
                ),
            )
        ),
        coupling,
        (0, 0, 0),
    )

    def torque(t):
        return ROTOR * w0 / T * (1 - np.cos(2 * np.pi * t / T)) if t < T else 0.0

    return Simulation(arm, SimulationSettings(time_step=STEP)), torque


def tip_lags(seconds, simulation, torque, longest=np.inf):
    """Times [s] and lags of the tip [m] until `seconds` or a lag is longest."""
    times: list = []
    states: list = []

    def lag(states):
        return -tip_translations(simulation.arm, 'arm', np.array(states))[:, 1]

    while simulation.time < seconds - STEP / 2:
        if times and longest < np.inf and lag(states[-1:])[0] >= longest:
            break
        simulation.effort[0] = torque(simulation.time + STEP / 2)
        simulation.step()
        times.append(simulation.time)
        states.append(simulation.q)
    return np.array(times), lag(states)


@pytest.mark.parametrize(
    'discretisation',
    [
        with_modes(bending_y=2, segments=4),
        with_modes(bending_y=2, stretch=1, segments=4),
        with_elements(8, bending_y='all')
        .replace('count', 'segments="4" count')
        .replace('"8"', '"2"'),
    ],
    ids=['modes', 'stretch', 'elements'],
)
@pytest.mark.parametrize('case, w0, largest, at', ROWS, ids=IDS)
def test_largest_lag(discretisation, case, w0, largest, at):
    times, found = tip_lags(9.0, *make_spin_up(discretisation, 'shortening', w0, **case))
    assert found.max() == pytest.approx(largest, rel=2e-3)  # the requirement is 1 %
    # the maximum is flat: within 0.05 s the lag changes by less than the last printed digit
    assert times[found.argmax()] == pytest.approx(at, abs=0.05)


@pytest.mark.parametrize('case, w0, largest, at', ROWS[:3] + ROWS[5:], ids=IDS[:3] + IDS[5:])
def test_one_segment_is_accurate_for_small_bending(case, w0, largest, at):
    times, found = tip_lags(9.0, *make_spin_up(with_modes(bending_y=3), 'shortening', w0, **case))
    assert found.max() == pytest.approx(largest, rel=5e-3)
    assert times[found.argmax()] == pytest.approx(at, abs=0.05)


def test_the_hub_follows_the_prescribed_motion():
    simulation, torque = make_spin_up(with_modes(bending_y=3), 'shortening', 10.0, **PAPER)
    tip_lags(16.0, simulation, torque)
    # the beam has 34 kg m2, 1 / 3e7 of the rotor
    assert simulation.velocity == pytest.approx([10.0], rel=1e-6)
    assert simulation.position == pytest.approx([10.0 * T / 2 + 10.0], rel=1e-6)


def test_steady_stretch():
    simulation, torque = make_spin_up(
        with_modes(bending_y=2, stretch=2) + '<damping ratio="0.1"/>', 'shortening', 6.0, **KANE
    )
    tip_lags(25.0, simulation, torque)
    # EA u'' = -rho A w0^2 (x + u): u is 3e-5 of x; the residual bending is far smaller
    assert simulation.deflection['arm'][0] == pytest.approx(1.2 * 36 * 1e3 / (3 * 2.8e7), rel=1e-3)
    assert abs(simulation.deflection['arm'][1]) < 1e-4


@pytest.mark.parametrize('w0, largest', [(0.6, 0.0866), (2.0, 0.3432)])
def test_largest_lag_without_shortening(w0, largest):
    _, found = tip_lags(15.0, *make_spin_up(with_modes(bending_y=3), 'zero_order', w0, **PAPER))
    assert found.max() == pytest.approx(largest, rel=2e-3)


@pytest.mark.parametrize('w0', [3.0, 8.0, 10.0])
def test_without_shortening_a_faster_beam_diverges(w0):
    # faster than its first natural frequency, 2.911 rad/s
    simulation, torque = make_spin_up(with_modes(bending_y=3), 'zero_order', w0, **PAPER)
    _, found = tip_lags(30.0, simulation, torque, longest=16.0)
    assert found[-1] > 16.0  # twice its length
    assert (np.diff(found[-100:]) > 0).all()
    first_rate = 1.8751040687**2 * np.sqrt(PAPER['EI'] / PAPER['mass_per_length']) / 8.0**2
    turned_too_fast, bent = simulation.reports
    assert turned_too_fast.startswith(f'link "arm" turns faster than {0.3 * first_rate:.4g} rad/s')
    assert bent.startswith('link "arm" bends by more than 10 % of its length at ')


def test_the_longer_beam_diverges_without_shortening():
    _, found = tip_lags(9.0, *make_spin_up(with_modes(bending_y=3), 'zero_order', 6.0, **KANE))
    assert found[-1] == pytest.approx(7.4, abs=0.05)  # as published: 7.4 m at 9 s
