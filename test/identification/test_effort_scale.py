"""Efforts or clocks that are wrong by a factor, which a free mass hides."""

import re

import numpy as np
import pytest
from test_identify import FREE, TRUE, record_log, setup_of

import flex_robot_sim as frs
from flex_robot_sim.identification.effort_scale import scale_lines
from flex_robot_sim.identification.fit import Problem, solve
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set

pytestmark = pytest.mark.slow

LIGHT_RATIO = 1e-3  # mass of a beam over that at its tip
NOISE = 1e-4  # of positions [rad], [m]


def lines_of(setup, free):
    """Return the notes and objections after a fit that starts near the true values."""
    problem = Problem(setup, unknowns_of(setup.arm(), setup.data, free))
    fit = solve(problem, problem.initial_point(), tolerance=1e-4)
    return scale_lines(problem, fit, problem.sequences)


def scaled_log(effort=1.0, clock=1.0):
    columns = {
        name: Column(clock * time, values * (effort if name.startswith('effort/') else 1.0))
        for name, (time, values) in record_log().columns.items()
    }
    return Log('run', columns, [])


# M q'' + K q = u: with times t' = s t, inertias are s^2 times as large, as with efforts u / s^2
@pytest.mark.parametrize(('effort', 'clock'), [(1.5, 1.0), (1.0, 1.05), (1.0, 1 / 1.05)])
def test_efforts_or_a_clock_off_by_a_factor_are_named(effort, clock):
    notes, objections = lines_of(setup_of(scaled_log(effort, clock), **TRUE), FREE)
    assert not notes and len(objections) == 1
    share, percent, way = re.search(
        r'disagree: (\S+) times the efforts .* clock that is (\S+) % (fast|slow)', objections[0]
    ).groups()
    # in the log of a finer arm with friction, the scale is 3 % too small
    assert float(share) == pytest.approx(1 / effort / clock**2, rel=0.06)
    sign = 1 if way == 'fast' else -1
    assert sign * float(percent) == pytest.approx(100 * (effort**0.5 * clock - 1), abs=3.0)


def test_a_log_without_such_a_fault_causes_no_line():
    assert lines_of(setup_of(**TRUE), FREE) == ([], [])


@pytest.fixture(scope='module')
def light():
    """Return an arm whose inertia is that of one mass, and its log."""
    builder = frs.ArmBuilder('light')
    builder.add_beam(
        'beam',
        length=0.5,
        section=frs.SectionStiffness(EIy=1e3, EIz=2.0, GJ=1e3),
        mass=LIGHT_RATIO * 0.3,
        bending_y=2,
        bending_z=0,
        torsion=0,
        damping_ratio=0.02,
    )
    builder.add_joint('joint', parent='base', child='beam', effort=10.0)
    builder.add_rigid('tip', mass=0.3)
    builder.attach('tip', parent='beam')
    arm = builder.build()
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=1e-3))
    rows = []
    for k in range(3000):
        simulation.effort = [0.2 * np.sin(9e-6 * k**2) * (k > 200)]
        tip = simulation.deflection['beam'][1]
        rows.append([simulation.position[0], simulation.effort[0], tip])
        simulation.step()
    names = 'position/joint', 'effort/joint', 'tip/beam/y'
    columns = dict(zip(names, np.array(rows)[::4].T))
    random = np.random.default_rng(1)
    for name in names[::2]:
        columns[name] = columns[name] + random.normal(0, NOISE, len(columns[name]))
    return arm, columns


def test_a_log_that_cannot_show_the_cause_says_so(light):
    arm, columns = light
    times = 4e-3 * np.arange(len(columns['tip/beam/y']))
    log = Log('run', {name: Column(times, values) for name, values in columns.items()}, [])
    log.columns['effort/joint'] = Column(times, 1.5 * columns['effort/joint'])
    setup = Setup(arm.description, make_data_set([log], arm), time_step=2e-3, finer=0)
    notes, objections = lines_of(setup, ['beam.EIz', 'tip.mass'])
    assert not objections and len(notes) == 1
    shares = [float(word) for word in re.findall(r'(\S+) times', notes[0])]
    assert shares == pytest.approx([1.5, 1.5], rel=0.01)
    assert 'a clock that is 22 % fast' in notes[0]
