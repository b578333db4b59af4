"""Backlash, several stiffnesses and kinematic error of gears, cogging and torque ripple."""

import numpy as np
import pytest
from gear_reference import harmonic_sum, spring_torque
from public_robots import public_robot
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.control.feed_forward import make_feed_forward
from flex_robot_sim.dynamics.joint_laws.gear_spring import gear_spring_energy, gear_spring_force
from flex_robot_sim.dynamics.joint_laws.maxwell_slip import slip_force, slip_loss
from flex_robot_sim.simulation.queries import accelerations

ROTOR, LINK = 0.2, 0.05
LAWS = {
    'stiffness': [1e3, 2e3, 4e3],
    'at': [2.0, 5.0],
    'damping': 0.5,
    'backlash': 1e-3,
    'kinematic_error': [(1e-3, 20.0, 0.3), (4e-4, 41.0, 1.0)],
    'cogging': [(0.3, 12.0, 0.2)],
    'torque_ripple': [(0.05, 6.0, 0.1)],
}


def hinge(mass_moment=0.0, viscous=0.0, coulomb=0.0, **gear):
    """Return an arm of one joint about y, with an elastic gear; its zero pose is horizontal."""
    builder = frs.ArmBuilder('hinge')
    builder.add_rigid('arm', mass=1.0, centre=(mass_moment, 0.0, 0.0), inertia=[LINK] * 3)
    builder.add_joint(
        'hinge',
        parent='base',
        child='arm',
        axis='y',
        effort=20.0,
        viscous_friction=viscous,
        coulomb_friction=coulomb,
    )
    builder.add_gear('hinge', rotor_inertia=ROTOR, **gear)
    return builder.build()


def pieces_of(arm):
    arrays = arm.arrays
    return arrays.gear_stiffness[0], arrays.gear_corner[0], arrays.gear_share[0]


def test_gear_spring_does_the_work_that_it_stores_and_never_falls_with_the_rate():
    random = np.random.default_rng(0)
    for _ in range(15):
        stiffness = random.uniform(500.0, 4e3, random.integers(1, 4))
        at = np.sort(random.uniform(0.5, 8.0, stiffness.size - 1))
        backlash = random.choice([0.0, 2e-3])
        arm = hinge(stiffness=stiffness, at=at if at.size else None, backlash=backlash)
        k, corner, share = pieces_of(arm)
        for start in random.normal(0.0, 5e-3, 20):
            h, v, d = 10.0 ** random.uniform(-4, -2), random.normal(), random.choice([0.0, 3.0])
            spring, force, slope = gear_spring_force(v, h, start, k, d, corner, share)
            stored = [gear_spring_energy(start + x, k, corner, share) for x in (0.0, h * v)]
            assert spring * h * v == pytest.approx(stored[1] - stored[0], rel=1e-11, abs=1e-13)
            assert (force - spring) * v >= -1e-15
            more, less = (
                gear_spring_force(v + x, h, start, k, d, corner, share)[1] for x in (1e-6, -1e-6)
            )
            assert more >= less - 1e-9
            if d == 0.0:
                assert slope == pytest.approx((more - less) / 2e-6, rel=1e-5, abs=1e-5)
            at_rest = gear_spring_force(0.0, 0.0, start, k, 0.0, corner, share)[0]
            assert at_rest == pytest.approx(
                spring_torque(start, stiffness, at, backlash), rel=1e-12, abs=1e-12
            )


def test_loop_of_a_gear_has_the_area_of_its_slipping_springs_with_backlash():
    arm = hinge(stiffness=[1e3, 3e3], at=[4.0], backlash=2e-3, slip=[(300.0, 0.6), (150.0, 1.5)])
    k, corner, share = pieces_of(arm)
    spring, limit = arm.arrays.slip_stiffness[0, 0], arm.arrays.slip_limit[0, 0]
    random, amplitude = np.random.default_rng(2), 0.015
    closed_form = 4 * (spring * limit * np.maximum(amplitude - limit, 0.0)).sum()
    z, end, twist, area, loss = np.zeros(4), np.zeros(4), 0.0, 0.0, 0.0
    for turn, last in enumerate((amplitude, -amplitude) * 3):
        way = np.concatenate([[twist], random.uniform(-1, 1, 40) * amplitude, [last]])
        inside = (way - twist) * np.sign(last - twist) >= 0  # never past the start
        steps = np.diff(np.sort(way[inside]) if last > twist else -np.sort(-way[inside]))
        for d in steps:
            _, force, _ = gear_spring_force(d / 1e-3, 1e-3, twist, k, 0.0, corner, share)
            slip, _ = slip_force(d, z, spring, limit, 1.0, 1.0)
            lost = slip_loss(d, z, spring, limit, 1.0, 1.0, end)
            z[:], twist = end, twist + d
            if turn >= 4:  # the third cycle
                area, loss = area + (force + slip) * d, loss + lost
    assert area == pytest.approx(closed_form, rel=1e-9)
    assert loss == pytest.approx(closed_form, rel=1e-9)


def period(arm, twist_rate, step):
    """Period of the twist from its crossings of zero, interpolated by cubics."""
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
    sim.set_state(np.zeros(2), np.array([-ROTOR, LINK]) * twist_rate / (ROTOR + LINK))
    rising, last = [0.0], 0.0
    while len(rising) < 6:
        sim.step()
        twist, rate = sim.q[1] - sim.q[0], sim.v[1] - sim.v[0]
        if last < 0.0 <= twist:
            rising.append(sim.time - twist / rate)  # the rate is constant to first order
        last = twist
    return rising[5] / 5


@pytest.mark.parametrize(
    'gear',
    [
        {'stiffness': 2e3, 'backlash': 4e-3},
        {'stiffness': [1e3, 2.5e3], 'at': [1.5]},
        {'stiffness': [1e3, 2.5e3], 'at': [1.5], 'backlash': 2e-3},
    ],
)
def test_free_vibration_has_the_period_of_the_pieces(gear):
    rate, inertia = 0.6, ROTOR * LINK / (ROTOR + LINK)
    first, *further = np.atleast_1d(gear['stiffness'])
    half, omega = gear.get('backlash', 0.0) / 2, np.sqrt(first / inertia)
    quarter = half / rate
    if further:
        width, last = gear['at'][0] / first, np.sqrt(further[0] / inertia)
        left = np.sqrt(rate**2 - (omega * width) ** 2)  # rate where the stiffness changes
        offset = width * first / further[0]  # deflection of the second spring there
        quarter += np.arcsin(omega * width / rate) / omega
        quarter += (np.pi / 2 - np.arctan(last * offset / left)) / last
    else:
        last = omega
        quarter += np.pi / 2 / omega
    errors = [period(hinge(**gear), rate, h) / (4 * quarter) - 1 for h in (4e-4, 2e-4, 1e-4)]
    print(errors, [(4 * b - a) / 3 for a, b in zip(errors, errors[1:])])
    assert abs(errors[2]) < (last * 1e-4) ** 2 / 10  # the midpoint rule lengthens it by (w h)^2/12


def reference_motion(laws, q, v, effort, times):
    """Integrate rotor and link with DOP853."""
    error, cogging = laws['kinematic_error'], laws['cogging']

    def slope(t, y):
        link, rotor, link_rate, rotor_rate = y
        ratio = 1.0 - harmonic_sum(rotor, error, 1)
        twist = rotor - link - harmonic_sum(rotor, error)
        torque = spring_torque(twist, laws['stiffness'], laws['at'], laws['backlash'])
        damped = torque + laws['damping'] * (ratio * rotor_rate - link_rate)
        if abs(twist) <= laws['backlash'] / 2 or damped * twist < 0.0:
            damped = 0.0
        motor = effort(t) * (1.0 + harmonic_sum(rotor, laws['torque_ripple']))
        motor += harmonic_sum(rotor, cogging) - ratio * damped
        return link_rate, rotor_rate, damped / LINK, motor / ROTOR

    out = solve_ivp(
        slope, (0.0, times[-1]), [*q, *v], 'DOP853', times, rtol=1e-8, atol=1e-10, max_step=5e-4
    )
    return out.y[:2].T


def test_motion_is_that_of_another_integrator_and_converges_with_the_square():
    times, q, v = np.linspace(0.0, 0.1, 11), [0.1, 0.1], [0.5, -0.2]

    def effort(t):
        return 3.0 * np.sin(40.0 * t)

    expected, errors = reference_motion(LAWS, q, v, effort, times), []
    for h in (5e-4, 1.25e-4):
        sim = frs.Simulation(hinge(**LAWS), frs.SimulationSettings(time_step=h))
        sim.set_state(q, v)
        rows = [sim.q.copy()]
        for _ in times[1:]:
            for _ in range(round(0.01 / h)):
                sim.effort = [effort(sim.time + h / 2)]
                sim.step()
            rows.append(sim.q.copy())
        errors.append(np.abs(np.array(rows) - expected).max())
    assert errors[1] < 2e-5 and errors[1] < errors[0] / 8
    sim = frs.Simulation(hinge(**LAWS), frs.SimulationSettings(time_step=2e-5, scheme='rk4'))
    sim.set_state(q, v)
    while sim.time < 0.03 - 1e-9:
        sim.effort = [effort(sim.time + 1e-5)]
        sim.step()
    assert sim.q == pytest.approx(expected[3], abs=2e-6)


@pytest.mark.parametrize('step', [1e-4, 1e-3, 4e-3])
def test_energy_never_rises_and_is_balanced_to_rounding(step):
    random = np.random.default_rng(3)
    for coulomb in (0.0, 0.05):
        arm = hinge(coulomb=coulomb, hysteresis=0.2, **LAWS)
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
        sim.set_state(random.normal(size=2) * 1e-3, random.normal(size=2))
        last = start = sum(sim.energy()[:3])
        for _ in range(300):
            sim.step()
            energy = sum(sim.energy()[:3])
            assert energy <= last + 1e-13 * start
            assert abs(sim.energy().balance) < 1e-13 * start
            last = energy
        assert last < start


def test_work_of_a_rippled_motor_is_in_the_balance():
    sim = frs.Simulation(hinge(mass_moment=0.1, **LAWS))
    random = np.random.default_rng(4)
    for _ in range(400):
        sim.effort = random.normal(0.0, 5.0, 1)
        sim.step()
    energy = sim.energy()
    assert abs(energy.balance) < 1e-12 * (abs(energy.work) + energy.kinetic)
    assert energy.work != 0.0 and sim.applied_effort[0] == sim.effort[0]


def test_gear_with_backlash_rests_on_its_flank():
    arm = hinge(mass_moment=0.2, viscous=1.0, coulomb=0.5, **{**LAWS, 'damping': 10.0})
    laws = {name: LAWS[name] for name in ('stiffness', 'at', 'backlash')}

    def assert_rests(q):
        torque = spring_torque(q[1] - q[0] - harmonic_sum(q[1], LAWS['kinematic_error']), **laws)
        assert torque == pytest.approx(-9.81 * 0.2 * np.cos(q[0]), rel=1e-9)  # holds the weight

    rest = frs.equilibrium(arm, [0.1])
    assert_rests(rest.q)
    sim = frs.Simulation(arm)
    sim.set_state(rest.q, np.zeros(2))
    sim.effort = [-harmonic_sum(0.1, LAWS['cogging'])]  # dry friction alone does not hold it
    sim.hold([0.1], stiffness=400.0, damping=20.0)
    sim.step(5000)
    # dry friction sticks by a damper of 1e9 inertias per step
    creep = 20.0 * 1e-3 / (1e9 * ROTOR)
    before = sim.q.copy()
    sim.step(5000)
    assert np.abs(sim.q - before).max() < 5.0 * creep
    assert np.ptp(sim.q - before) < 1e-15
    assert_rests(sim.q)


def test_vibration_has_the_stiffness_of_the_engaged_piece():
    torque = 0.2 * 9.81
    gear = {'stiffness': [1e3, 3e3], 'at': [1.0], 'backlash': 1e-3}
    level = frs.frequencies(hinge(mass_moment=0.2, **gear), [0.0])  # the weight is beyond 1 N m
    twist = 5e-4 + 1e-3 + (torque - 1.0) / 3e3
    inertia = LINK + 0.2**2
    gravity = torque * np.sin(-twist)  # stiffness of the weight where the arm sags
    assert level[0] == pytest.approx(np.sqrt((3e3 + gravity) / inertia) / 2 / np.pi, rel=1e-4)
    free = hinge(**gear)  # nothing loads this gear: its flanks count as engaged
    assert frs.frequencies(free)[0] == pytest.approx(np.sqrt(1e3 / LINK) / 2 / np.pi, rel=1e-12)


@pytest.mark.parametrize('twist', [2e-4, 1e-3, -6e-3])
def test_derivatives_are_those_of_finite_differences(twist):
    arm, effort, v = hinge(mass_moment=0.1, viscous=0.3, **LAWS), [1.5], np.array([0.3, -0.2])
    q = np.array([0.2 - twist - harmonic_sum(0.2, LAWS['kinematic_error']), 0.2])
    found = frs.derivatives(arm, q, v, effort)
    for k in range(2):
        step = np.eye(2)[k] * 1e-6
        by_q, by_v = (
            (
                frs.forward_dynamics(arm, q + a * step, v + b * step, effort)
                - frs.forward_dynamics(arm, q - a * step, v - b * step, effort)
            )
            / 2e-6
            for a, b in ((1, 0), (0, 1))
        )
        assert found.da_dq[:, k] == pytest.approx(by_q, rel=1e-6, abs=1e-3)
        assert found.da_dv[:, k] == pytest.approx(by_v, rel=1e-6, abs=1e-5)
    by_effort = frs.forward_dynamics(arm, q, v, [2.5]) - frs.forward_dynamics(arm, q, v, effort)
    assert found.da_deffort[:, 0] == pytest.approx(by_effort, rel=1e-9, abs=1e-9)


def test_state_is_saved_and_equal_in_a_batch():
    arm = hinge(hysteresis=0.1, coulomb=0.05, **LAWS)
    sim, batch = frs.Simulation(arm), frs.Batch(arm, 2)
    for one in (sim, batch):
        one.set_state(np.zeros(2), np.array([0.5, -0.2]))
        one.step(40)
    state = sim.save_state()
    sim.step(60)
    batch.step(60)
    end = sim.q.copy()
    assert np.array_equal(batch.q[0], end) and np.array_equal(batch.q[1], end)
    sim.restore_state(state)
    sim.step(60)
    assert np.array_equal(sim.q, end)


def test_urdf_of_a_builder_has_the_same_laws():
    arm = hinge(**LAWS)
    again = frs.load(arm.description.text)
    for name in ('gear_corner', 'gear_share', 'kinematic_error', 'cogging', 'torque_ripple'):
        assert np.array_equal(getattr(arm.arrays, name), getattr(again.arrays, name))
    changed = frs.with_parameters(arm, {'hinge.stiffness_2': 2.5e3, 'hinge.backlash': 2e-3})
    assert changed.description.joint('hinge').further_stiffness == (2.5e3, 4e3)
    assert changed.arrays.gear_corner[0] == pytest.approx([1e-3, 3e-3, 3e-3 + 3 / 2.5e3])


def test_public_robot_without_motors_never_gains_energy():
    random = np.random.default_rng(5)
    text = public_robot('z1_description/urdf/z1.urdf').read_text('utf-8')
    names = frs.load(text).joint_names
    gears = ''.join(
        f'<joint name="{name}" rotor_inertia="{random.uniform(1e-5, 1e-4)}" gear_ratio="100" '
        'stiffness="2000 4000" at="3" backlash="1e-3" damping="0.3" cogging="0.002 8 0" '
        f'kinematic_error="2e-4 2 {random.uniform(0, 6)}"/>'
        for name in names
    )
    text = text.replace('</robot>', f'<flexibility>{gears}</flexibility></robot>')
    arm = frs.load(text, gravity=(0.0, 0.0, 0.0))
    sim = frs.Simulation(arm)
    sim.set_state(np.zeros(arm.nq), random.normal(0.0, 0.3, arm.nq))
    last = start = sum(sim.energy()[:3])
    for _ in range(200):
        sim.step()
        energy = sum(sim.energy()[:3])
        assert energy <= last + 1e-12 * start
        last = energy


def test_a_query_does_not_depend_on_the_queries_before():
    arm, random = hinge(1.0, coulomb=0.5, **LAWS), np.random.default_rng(0)
    for _ in range(40):
        sims = frs.Simulation(arm), frs.Simulation(arm)
        q, v = random.normal(0.0, 1e-2, 2), random.normal(0.0, 0.5, 2)
        sims[1].set_state(q + [0.0, 0.5], v + 5.0)
        accelerations(sims[1]._simulated)
        for sim in sims:
            sim.set_state(q, v)
        first, second = (accelerations(sim._simulated) for sim in sims)
        np.testing.assert_array_equal(first, second)


def test_step_that_fails_leaves_nothing_in_the_next_attempt():
    builder = frs.ArmBuilder('wound')
    for k, parent in enumerate(('base', 'link0')):
        xyz = (0.3 * k, 0.0, 0.0)
        builder.add_rigid(f'link{k}', mass=1.0, centre=(0.2, 0.0, 0.0), inertia=[0.02] * 3)
        builder.add_joint(f'joint{k}', parent=parent, child=f'link{k}', axis='zy'[k], xyz=xyz)
        builder.add_gear(f'joint{k}', rotor_inertia=0.01, stiffness=2e4, backlash=1e-3)
    sim = frs.Simulation(builder.build(), frs.SimulationSettings(time_step=4e-3))
    random, last = np.random.default_rng(0), np.inf
    for _ in range(40):  # twists of a radian: some first attempts of these steps overflow
        sim.set_state(random.normal(0.0, 2.0, 4), random.normal(0.0, 20.0, 4))
        last = sum(sim.energy()[:3])
        for _ in range(10):
            sim.step()
            energy = sum(sim.energy()[:3])
            assert energy <= last + 1e-9 * abs(last)
            last = energy


def test_dry_friction_never_drives_a_rotor_with_strong_cogging():
    random = np.random.default_rng(6)
    for _ in range(20):
        arm = hinge(
            coulomb=random.uniform(0.2, 1.0),
            stiffness=10.0 ** random.uniform(2.5, 4.0),
            cogging=[(random.uniform(2.0, 8.0), random.uniform(500.0, 2500.0), 0.3)],
        )
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=4e-3))
        sim.set_state(random.normal(0.0, 1e-4, 2), random.normal(0.0, 0.3, 2))
        last, largest = 0.0, 0.0
        for _ in range(200):
            sim.step()
            energy = sim.energy()
            largest = max(largest, energy.dissipated + energy.kinetic + abs(energy.strain))
            # the iteration ends at rates within 5e-7
            assert energy.dissipated >= last - 5e-7 * largest
            last = energy.dissipated


def test_shipped_harmonic_drive_swings_with_the_stiffness_of_its_load():
    arm, inertia = frs.load('harmonic_drive'), 0.1606 + 3 * 0.4**2 + 0.008 + 5 * 0.8**2
    torque = 9.81 * (3 * 0.4 + 5 * 0.8)  # 51 N m, beyond the torque of 48 N m
    slip = 1.0e4 + 5.0e3 + 2.5e3
    level = np.sqrt((5.7e4 + slip + torque * 1e-3) / inertia) / (2 * np.pi)
    assert frs.frequencies(arm, [0.0])[0] == pytest.approx(level, rel=1e-4)
    upright = np.sqrt((3.1e4 + slip - torque) / inertia) / (2 * np.pi)
    assert frs.frequencies(arm, [np.pi / 2])[0] == pytest.approx(upright, rel=1e-4)
    sim = frs.Simulation(arm)
    sim.set_state([0.3], [1.0])
    last = start = sum(sim.energy()[:3])
    for _ in range(500):
        sim.step()
        energy = sum(sim.energy()[:3])
        assert energy <= last + 1e-10 * abs(start)
        last = energy


def test_feed_forward_of_the_sag_leads_by_the_twist():
    gear = {name: LAWS[name] for name in ('stiffness', 'at', 'kinematic_error')}
    arm = hinge(mass_moment=0.3, **gear)
    forward = make_feed_forward(arm, 'sag')
    for target in (0.1, 1.3, 2.9):
        forward.update(np.array([target]))
        rest = frs.equilibrium(arm, [target + forward.motor_offset[0]])
        assert rest.q[0] == pytest.approx(target, abs=1e-12)
    loaded = frs.equilibrium(hinge(mass_moment=0.3, **gear, backlash=2e-3), [0.2])
    free = frs.equilibrium(arm, [0.2])
    assert loaded.q[0] - free.q[0] == pytest.approx(1e-3, rel=1e-3)  # gravity turns about +y


def test_cogging_moves_a_rotor_as_in_mujoco():
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 0 0" timestep="1e-5"/><worldbody><body>'
        f'<joint name="j" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 {LINK}"/>'
        '</body></worldbody><actuator><dcmotor joint="j" motorconst="1e-9" resistance="1" '
        'cogging="0.3 12 0.2"/></actuator></mujoco>'
    )
    data = mujoco.MjData(model)
    data.qvel[0] = 0.8
    builder = frs.ArmBuilder('rotor').add_rigid('arm', mass=1.0, inertia=[LINK] * 3)
    builder.add_joint('hinge', parent='base', child='arm')
    builder.add_gear('hinge', cogging=[(0.15, 6.0, 0.2)], gear_ratio=2.0)
    sim = frs.Simulation(builder.build(), frs.SimulationSettings(time_step=1e-3))
    sim.set_state([0.0], [0.8])
    for _ in range(5):
        mujoco.mj_step(model, data, 10000)
        sim.step(100)
        assert sim.q[0] == pytest.approx(data.qpos[0], abs=3e-5)
    assert abs(sim.energy().balance) < 1e-14
