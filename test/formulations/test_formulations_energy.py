"""
Every formulation conserves the energy of a passive arm, at any instant and over many steps.

With `--long`, 100 random arms move for 10 s under `dual_screw`, and ten for 2 s under each other
formulation. Otherwise two move under each for a tenth of the time.
"""

import re

import numpy as np
import pytest
from random_arms import every_feature, random_robot, random_state
from reference import Reference, along, gradient

from flex_robot_sim.formulations import element_sum, make
from flex_robot_sim.formulations.dual_screw import DualScrew, Variant
from flex_robot_sim.model.assembly import load
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import FORMULATIONS, SimulationSettings

pytestmark = pytest.mark.slow

COUPLINGS = 'zero_order', 'shortening'
MAX_RELATIVE_BEND = 0.02  # of the length; limit of the test of `dual_screw`
STEP = 1e-3


def elastic(arm):
    return np.array(['/' in name and not name.endswith('/motor') for name in arm.coordinate_names])


@pytest.mark.long(after=4)
@pytest.mark.parametrize('coupling', COUPLINGS)
@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_the_energy_rate_equals_the_power_of_the_forces(formulation, coupling):
    # trees with gears, slides and segments, bent by a tenth of their length, and every feature
    for seed in range(3):
        arm = load(random_robot(seed) if seed else every_feature(), coupling=coupling)
        q, qd = random_state(arm, seed)
        force = np.random.default_rng(seed).normal(size=arm.size)
        equations = make(formulation, arm)
        qdd = equations.accelerations(q, qd, force)

        def energy(t, of=equations, q=q, qd=qd, qdd=qdd):
            return sum(of.energies(q + t * qd + 0.5 * t * t * qdd, qd + t * qdd))

        # light bodies accelerate by 1e6 rad/s2: the step changes their rates only a little
        step = 1e-2 * np.linalg.norm(qd) / np.linalg.norm(qdd)
        scale = np.abs(force * qd).sum() + np.abs(qdd) @ np.abs(qd)
        assert along(energy, step) == pytest.approx(force @ qd, abs=1e-8 * scale)


@pytest.mark.parametrize('formulation', ['wrench_dae', 'stiffened'])
def test_energies_equal_those_of_the_recursion(formulation):
    for seed in range(3):
        arm = load(random_robot(seed) if seed else every_feature())
        state = random_state(arm, seed)
        assert make(formulation, arm).energies(*state) == pytest.approx(
            make('recursion', arm).energies(*state), rel=1e-10
        )


def test_energies_of_the_element_sum_converge_to_those_of_the_recursion():
    arm = load(random_robot(2))
    state = random_state(arm, 2)
    expected = np.array(make('recursion', arm).energies(*state))
    off = [
        np.abs(element_sum.make(arm, count).energies(*state) - expected).max()
        for count in (48, 96)
    ]
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.1)  # the square of their length


def test_energies_of_dual_screws_differ_in_third_order():
    arm = load(random_robot(4, kinds=('modes',)))
    q, qd = random_state(arm, 4)
    off = []
    for scale in (0.04, 0.02):
        s = np.where(elastic(arm), scale, 1.0)
        dual, exact = (
            np.array(make(name, arm).energies(q * s, qd * s))
            for name in ('dual_screw', 'recursion')
        )
        off.append(np.abs(dual - exact))
    # height to second order; kinetic energy by partial velocities of first order
    assert off[0][1] / off[1][1] == pytest.approx(8.0, rel=0.1)
    assert off[0][0] / off[1][0] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize('seed, coupling', [(0, 'zero_order'), (1, 'shortening')])
def test_mass_matrix_of_dual_screws_follows_from_first_order_velocities(seed, coupling):
    # in the axes of each link, from velocities of a Lagrangian without truncation
    arm = load(
        random_robot(seed, links=3, kinds=('rigid', 'modes', 'elements')), coupling=coupling
    )
    q, _ = random_state(arm, seed)
    reference, bends = Reference(arm), elastic(arm)

    def velocities(s):
        """Return linear and angular velocities (n, points of all parts, 3), each in its link."""
        x, linear, angular = np.where(bends, s * q, q), [], []
        for unit in np.eye(arm.size):
            points, spins = reference.motion(x, unit)
            linear.append(np.concatenate([v @ R for (_, _, v), (R, _, _) in zip(points, spins)]))
            angular.append(np.concatenate([omega for _, _, omega in spins]))
        return np.array([linear, angular])

    v, omega = velocities(0.0) + along(velocities, 1e-2)
    points, spins = reference.motion(q, 0 * q)
    mass = np.concatenate([part[0] for part in points])
    inertia = np.concatenate([part[1] for part in spins])
    expected = np.einsum('g,kga,lga->kl', mass, v, v)
    expected += np.einsum('kga,gab,lgb->kl', omega, inertia, omega)
    for joint, name in reference._rotors():
        k = arm.coordinate_names.index(name)
        expected[k, k] += joint.rotor_inertia * joint.gear_ratio**2
    M = DualScrew(arm).system(q, np.zeros(arm.size)).M
    assert np.allclose(M, expected, rtol=0, atol=1e-9 * abs(expected).max())


def test_gravity_of_dual_screws_is_the_gradient_of_a_second_order_height():
    for seed in range(3):
        arm = load(random_robot(seed) if seed else every_feature())
        q, _ = random_state(arm, seed)
        still, dual, bends = np.zeros(arm.size), DualScrew(arm), elastic(arm)
        reference = Reference(arm)

        def height(s, of=reference, q=q, bends=bends):
            return of.gravity_energy(np.where(bends, s * q, q))

        flat, slope = height(0.0), along(height, 1e-2)
        bend = along(lambda s: along(lambda t: height(s + t), 1e-2), 1e-2)
        nothing = reference.gravity_energy(still) - dual.energies(still, still)[1]
        found = dual.energies(q, still)[1] + nothing
        assert found == pytest.approx(flat + slope + 0.5 * bend, abs=1e-8 * abs(flat))
        expected = gradient(lambda x, of=dual, still=still: of.energies(x, still)[1], q)
        h = dual.mass_matrix_and_bias(q, still)[1]
        assert np.allclose(h, expected, rtol=0, atol=1e-9 * abs(expected).max())


@pytest.mark.long
def test_energy_conservation_needs_the_products_that_the_paper_omits():
    # the slide of an arm without forces: e e'' has a nonzero mean if e' e' is omitted
    slides = []
    for variant in (Variant(), Variant(keeps_energy=False)):
        arm = load('element_sum_arm_1', gravity=(0.0, 0.0, 0.0))
        simulation = Simulation(arm, SimulationSettings(formulation='dual_screw'))
        simulation._simulated.formulation.formulation = DualScrew(arm, variant)
        q = np.zeros(arm.size)
        q[arm.coordinate_names.index('link_2/bending_y_1')] = 2e-3
        simulation.set_state(q=q)
        simulation.step(300)
        slides.append(abs(simulation.position[0]))
    assert slides[1] > 20 * slides[0]


def _arms():
    """Yield random passive arms of one to three links, with a state for each."""
    seed = 0
    while True:
        arm = load(random_robot(seed, 1 + seed % 3, ('modes', 'rigid'), ('continuous',)))
        seed += 1
        if arm.beams:
            yield arm, *random_state(arm, seed, turn=1.0, bend=2e-3)


def _bend(simulation):
    """Return the largest tip deflection over the length."""
    links = simulation.arm.description
    return max(
        np.hypot(*tip[1:3]) / links.link(name).beam.length
        for name, tip in simulation.deflection.items()
    )


def _slope(arm, q, qd, formulation, step, seconds):
    """Return the energy drift over kinetic and strain energy [1/s]; None if tips bend too far."""
    simulation = Simulation(arm, SimulationSettings(time_step=step, formulation=formulation))
    simulation.set_state(q=q, v=qd)
    rows = []
    for _ in range(50):
        simulation.step(round(seconds / 50 / step))
        energy = simulation.energy()
        rows.append((simulation.time, energy.balance, energy.kinetic + energy.strain))
        if _bend(simulation) > MAX_RELATIVE_BEND:
            return None
    times, balance, moving = np.array(rows).T
    return abs(np.polyfit(times, balance, 1)[0]) / moving.mean()


@pytest.mark.long
@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_a_passive_arm_conserves_its_energy(formulation, pytestconfig):
    count, seconds = (100, 10.0) if formulation == 'dual_screw' else (10, 2.0)
    if not pytestconfig.getoption('--long'):
        count, seconds = 2, 0.1 * seconds
    arms = _arms()
    while count:
        arm, q, qd = next(arms)
        slope = _slope(arm, q, qd, formulation, STEP, seconds)
        if slope is None:
            continue
        count -= 1
        assert slope < 1e-6
        assert slope < 1e-10 or 3 * _slope(arm, q, qd, formulation, STEP / 2, seconds) < slope


@pytest.mark.long(after=2)
@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_a_damped_arm_never_gains_energy(formulation):
    arm = load(random_robot(3, 2, ('modes',), ('continuous',), damping=True))
    simulation = Simulation(arm, SimulationSettings(formulation=formulation))
    q, qd = random_state(arm, 3, turn=1.0, bend=2e-3)
    simulation.set_state(q=q, v=qd)
    totals = []
    for _ in range(20):
        simulation.step(5)
        energy = simulation.energy()
        totals.append(energy.kinetic + energy.strain + energy.gravity)
    assert (np.diff(totals) < 0.0).all()
    assert abs(energy.balance) < 1e-9 * np.ptp(totals)


@pytest.mark.long
def test_a_formulation_that_creates_energy_is_reported():
    # although each step corrects its part, as it corrects the error of the scheme
    class Growing:
        def __init__(self, inner):
            self.inner, self.energies = inner, inner.energies

        def accelerations(self, q, qd, force):
            return self.inner.accelerations(q, qd, force) + 2.0 * qd

    arm = load('two_link')
    simulation = Simulation(arm, SimulationSettings(formulation='stiffened'))
    dynamics = simulation._simulated.formulation
    dynamics.formulation = Growing(dynamics.formulation)
    simulation.set_state(v=np.full(len(arm.joint_names), 1.0))
    simulation.step(300)
    (line,) = simulation.reports
    assert re.fullmatch(
        'by 0.2 s stiffened has made [0-9.]+ J out of nothing: time_step = 0.001 s is too long '
        'for it here, or the arm bends too far. Take a shorter one, or the formulation recursion',
        line,
    )
