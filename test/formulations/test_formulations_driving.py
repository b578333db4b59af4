"""Simulations by any formulation agree with the recursion where both model the same arm."""

import contextlib
import json
import re
from itertools import product

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from random_arms import random_robot, random_state

from flex_robot_sim.cli import main
from flex_robot_sim.formulations import covers, make
from flex_robot_sim.formulations.driving import FormulationDynamics
from flex_robot_sim.model.assembly import load
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.settings import FORMULATIONS, SCHEMES, SimulationSettings

pytestmark = pytest.mark.slow

STEP = 1e-4


def make_moving_simulation(arm, scheme, formulation, seed=1, **more):
    simulation = Simulation(
        arm, SimulationSettings(time_step=STEP, scheme=scheme, formulation=formulation, **more)
    )
    q, qd = random_state(arm, seed, turn=1.0, bend=0.02)
    simulation.set_state(q=q, v=qd)
    simulation.push('link_0', force=(1.0, 2.0, -3.0), moment=(0.1, 0.0, 0.2), follows=True)
    simulation.hold(np.zeros(len(arm.joint_names)), 2.0, 0.1)
    simulation.effort = np.linspace(-1.0, 1.0, len(arm.joint_names))
    return simulation


@pytest.mark.long(after=1)
@pytest.mark.parametrize('scheme', SCHEMES[:4])
def test_rigid_arm_moves_as_with_the_recursion(scheme):
    # rigid, so no formulation omits a term: gears, slides, friction, a push and a payload
    arm = load(random_robot(5, links=5, kinds=('rigid',), damping=True))
    found = []
    for formulation in ('recursion', 'dual_screw'):
        simulation = make_moving_simulation(arm, scheme, formulation)
        simulation.step(5)
        simulation.set_payload('link_4', 0.7, centre=(0.1, 0.0, 0.2))
        simulation.step(5)
        found.append(simulation)
    recursion, dual = found
    assert np.allclose(dual.q, recursion.q, rtol=0, atol=1e-9)
    # rates: the iterations leave up to 1e-7
    assert np.allclose(dual.v, recursion.v, rtol=0, atol=1e-7 * abs(recursion.v).max())
    assert dual.energy().work == pytest.approx(recursion.energy().work, rel=1e-5)
    assert dual.energy().dissipated == pytest.approx(recursion.energy().dissipated, rel=1e-5)


# forward Euler shakes undamped modes apart
@pytest.mark.parametrize('scheme', SCHEMES[:3])
def test_bending_arm_moves_as_in_the_compiled_loop(scheme):
    # the recursion through the interface agrees with that in the compiled loop
    arm = load(random_robot(2, links=3, kinds=('modes',)))
    by_hand = make_moving_simulation(arm, scheme, 'dual_screw')
    by_hand._simulated.formulation = FormulationDynamics(make('recursion', arm), arm.arrays)
    compiled = make_moving_simulation(arm, scheme, 'recursion')
    for simulation in (by_hand, compiled):
        simulation.step(10)
    # the compiled midpoint rule corrects the energy, a term of third order in the step (T44)
    near = 1e-6 if scheme == 'implicit_midpoint' else 1e-9
    assert np.allclose(by_hand.q, compiled.q, rtol=0, atol=near)
    assert np.allclose(by_hand.v, compiled.v, rtol=0, atol=1e3 * near * abs(compiled.v).max())


def test_implicit_scheme_is_stable_with_stiff_modes():
    # a fixed-point iteration would diverge: torsion has 12,000 rad/s
    arm = load('dual_screw_arm')
    simulation = Simulation(arm, SimulationSettings(formulation='dual_screw'))
    simulation.set_state([0.0, np.pi / 6, 2 * np.pi / 3, np.pi / 6])
    simulation.step(50)
    exact = Simulation(arm)
    exact.set_state([0.0, np.pi / 6, 2 * np.pi / 3, np.pi / 6])
    exact.step(50)
    # a fall of 50 ms with bending of millimetres; second order is a few per mille of that
    assert np.allclose(simulation.q, exact.q, rtol=0, atol=1e-5)


@pytest.mark.parametrize('formulation', ['element_sum', 'wrench_dae', 'stiffened'])
def test_long_steps_satisfy_the_midpoint_rule(formulation):
    # midpoint rule: the rates change by the accelerations in the middle of the step
    arm = load('two_link')
    simulation = Simulation(arm, SimulationSettings(time_step=4e-3, formulation=formulation))
    simulation.set_state(*0.5 * np.random.default_rng(4).normal(size=(2, 3)))
    for _ in range(20):
        before = simulation.q, simulation.v
        simulation.step()
        assert simulation.hard_steps == (0, 0)
        after = simulation.q, simulation.v
        middle, rate = (0.5 * (old + new) for old, new in zip(before, after))
        expected = 4e-3 * simulation._simulated.formulation.accelerations(middle, rate)
        scale = np.sqrt(arm.arrays.inertia_scale)
        # TOLERANCE is 1e-7, and the last iteration reduces the error much further
        assert np.allclose(
            scale * (after[1] - before[1]),
            scale * expected,
            rtol=0,
            atol=1e-5 * np.linalg.norm(scale * rate),
        )


@pytest.mark.long(after=2)
@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_an_arm_hits_its_stop_and_stays_finite(formulation):
    # a thin link at 20 rad/s: the damper of the stop is stiff for the inertia of the joint alone
    arm = load(random_robot(120, 1, ('modes', 'rigid'), ('continuous',)))
    q, qd = random_state(arm, 121, turn=1.0, bend=2e-3)
    q[0], qd[0] = arm.arrays.lower[0] + 0.02, -20.0
    depth, dissipated = [], []
    for name, scheme, step in (
        ('recursion', 'reference', 1e-3),
        (formulation, 'implicit_midpoint', 2.5e-4),
    ):
        simulation = Simulation(
            arm, SimulationSettings(time_step=step, scheme=scheme, formulation=name)
        )
        simulation.set_state(q=q, v=qd)
        lowest = 0.0
        for _ in range(30):
            simulation.step(round(1e-3 / step))
            lowest = min(lowest, simulation.position[0] - arm.arrays.lower[0])
        depth.append(lowest)
        dissipated.append(simulation.energy().dissipated)
    assert simulation.hard_steps[1] == 0
    # damping increases over 1 mrad, a fifth of a step: the error is of first order in the step
    assert depth[0] < -0.02 and depth[1] == pytest.approx(depth[0], rel=0.03)
    assert dissipated[1] == pytest.approx(dissipated[0], rel=0.12)


@pytest.mark.long(after=1)
@pytest.mark.parametrize('formulation', ['element_sum', 'stiffened'])
def test_a_step_too_long_for_a_stop_creates_no_energy(formulation):
    # a steel bar, bent by a tenth of its length, repeatedly hits its stop
    arm = load('element_sum_arm_1', gravity=(0.0, 0.0, 0.0))
    simulation = Simulation(arm, SimulationSettings(time_step=2e-3, formulation=formulation))
    upper = arm.arrays.upper[1]
    simulation.set_state(q=[0.0, upper - 0.02], v=[0.0, 8.0])
    largest = start = simulation.energy().kinetic
    for _ in range(20):
        simulation.step(4)
        energy = simulation.energy()
        largest = max(largest, energy.kinetic + energy.strain + energy.dissipated)
    assert largest < 1.001 * start


@pytest.mark.long(after=1)
@pytest.mark.parametrize('formulation', ['dual_screw', 'stiffened'])
def test_drive_limits_cause_few_subdivided_steps(formulation):
    # the force falls with the rate by 50 N m s/rad, or is constant where the effort is limited
    arm = load('two_link')
    simulation = Simulation(arm, SimulationSettings(formulation=formulation, drive_limits=True))
    simulation.hold(np.full(3, 1.5), 800.0, 20.0)
    simulation.step(500)
    in_parts, lost = simulation.hard_steps
    assert in_parts < 20 and lost == 0  # of 500; more than 100 without these slopes


def test_a_step_that_does_not_converge_is_reported():
    arm = load(random_robot(2, links=3, kinds=('rigid',)))
    simulation = Simulation(arm, SimulationSettings(time_step=0.5, formulation='stiffened'))
    simulation.set_state(v=np.full(len(arm.joint_names), 1e4))
    with contextlib.suppress(SimulationError):
        simulation.step()
    assert simulation.hard_steps[1] > 0
    assert 'did not converge, not in parts either' in simulation.reports[0]


def test_formulations_state_the_arms_that_they_cover():
    assert [covers(name) for name in ('recursion', 'dual_screw')] == [
        'every arm',
        'every arm; neglects second-order terms of its elastic states',
    ]
    assert FORMULATIONS[0] == 'recursion'


def test_after_divergence_the_simulation_keeps_the_last_finite_state():
    arm = load(random_robot(2, links=2, kinds=('rigid',)))
    simulation = Simulation(
        arm, SimulationSettings(time_step=1e-3, scheme='forward_euler', formulation='dual_screw')
    )
    simulation.set_state(v=np.full(len(arm.joint_names), 1e160))
    with pytest.raises(SimulationError):
        simulation.step(3)
    assert np.isfinite(simulation.q).all()


@pytest.mark.long(after=5)
@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4', 'reference'])
@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_a_diverging_state_is_a_one_line_error(formulation, scheme, mutants):
    rng, lost = np.random.default_rng(34), 0
    robots = [
        'two_link',
        *(
            random_robot(seed, 2, ('modes',), ('revolute', 'fixed'))
            for seed in range(max(1, mutants // 20_000))
        ),
    ]
    # the reference tries many shorter steps before it gives up
    sizes = [1e200] if scheme == 'reference' else [1e3, 1e30, 1e100, 1e300]
    for arm in map(load, robots):
        for size, cause in product(sizes, ('v', 'q', 'effort')):
            simulation = Simulation(
                arm,
                SimulationSettings(
                    time_step=1e-3 if scheme == 'implicit_midpoint' else 1e-6,
                    formulation=formulation,
                    scheme=scheme,
                ),
            )
            if cause == 'effort':
                simulation.effort = size * rng.normal(size=len(arm.joint_names))
            else:
                simulation.set_state(**{cause: size * rng.normal(size=arm.size)})
            try:
                simulation.step(2)
            except SimulationError as error:
                lost += 1
                assert re.match(
                    'the state is not finite after [0-9.e-]+ s; the last good one is kept. ',
                    str(error),
                )
            assert np.isfinite([simulation.q, simulation.v]).all()
    assert lost


@pytest.mark.long(after=2)
@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_simulate_reports_a_diverging_state(capsys, formulation):
    words = f'simulate ella --seconds 0.1 --effort theta_z1=1e12 --formulation {formulation}'
    assert main(words.split()) == 2
    assert capsys.readouterr().err == (
        'flexsim simulate: the state is not finite after 0 s; the last good one is kept. '
        'Take a shorter time_step or smaller efforts\n'
    )


@pytest.mark.parametrize('formulation', ['dual_screw', 'element_sum', 'wrench_dae', 'stiffened'])
def test_adaptive_scheme_supports_any_formulation(formulation):
    # rigid, so all formulations equal the recursion: gears, friction, a push and a servo
    arm = load(random_robot(5, links=4, kinds=('rigid',), damping=True))
    found = [make_moving_simulation(arm, 'reference', name) for name in ('recursion', formulation)]
    for simulation in found:
        simulation.step(5)
    expected, other = found
    assert np.allclose(other.q, expected.q, rtol=0, atol=1e-9)
    assert np.allclose(other.v, expected.v, rtol=0, atol=1e-8)
    assert other.energy().work == pytest.approx(expected.energy().work, rel=1e-6)
    assert other.energy().dissipated == pytest.approx(expected.energy().dissipated, rel=1e-6)


@pytest.mark.parametrize('formulation', ['wrench_dae', 'stiffened'])
def test_a_bending_arm_keeps_its_energy_by_the_adaptive_scheme(formulation):
    # without damping, any change of energy is the error of the scheme
    arm = load(random_robot(2, links=2, kinds=('modes',), gears=False))
    simulation = Simulation(
        arm, SimulationSettings(time_step=5e-4, scheme='reference', formulation=formulation)
    )
    q, qd = random_state(arm, 1, turn=1.0, bend=0.02)
    simulation.set_state(q=q, v=qd)
    before = simulation.energy()
    simulation.step(2)
    after = simulation.energy()
    assert abs(after.kinetic - before.kinetic) > 1e-2 * before.kinetic
    assert abs(after.balance) < 1e-8 * before.kinetic


def test_simulate_supports_formulations(capsys):
    found = []
    for name in ('recursion', 'dual_screw'):
        assert main(['simulate', 'rcm', '--seconds', '0.01', '--formulation', name, '--json']) == 0
        found.append(json.loads(capsys.readouterr().out)['position'])
    assert found[0] == pytest.approx(found[1], abs=1e-9)  # see above: 1e-7 of the range


def test_static_friction_lets_a_joint_creep():
    static, kinetic, pull = 4.0, 0.05, 0.5
    arm = load(
        robot(
            joint(inside=f'<axis xyz="0 1 0"/><dynamics damping="0" friction="{kinetic}"/>'),
            link(),
            flexibility(f'<joint name="hinge" static_friction="{static}" stribeck_rate="0.01"/>'),
        ),
        gravity=(0.0, 0.0, 0.0),
    )
    # with the kinetic slope alone, each iteration would multiply the error by 1.5
    simulation = Simulation(arm, SimulationSettings(time_step=5e-3, formulation='dual_screw'))
    simulation.effort = [pull]
    simulation.step(40)
    assert simulation.hard_steps == (0, 0) and not simulation.reports
    (rate,) = simulation.velocity
    drag = (kinetic + (static - kinetic) * np.exp(-((rate / 0.01) ** 2))) * np.tanh(
        rate / 0.01
    )  # T32
    # at rest after 40 steps of 3 time constants each
    assert drag == pytest.approx(pull, rel=1e-6)
