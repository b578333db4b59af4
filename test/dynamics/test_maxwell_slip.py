"""Maxwell slip of gears and friction: energy, closed loops, other integrators, MuJoCo."""

import copy

import numpy as np
import pytest
from public_robots import public_robot

import flex_robot_sim as frs
from flex_robot_sim.dynamics.joint_laws.maxwell_slip import slip_force, slip_loss
from flex_robot_sim.model.slip_elements import FRICTION, GEAR

STIFFNESS, EFFORT, ROTOR, LINK = 2e3, 20.0, 0.2, 0.05


def hinge(
    hysteresis=None, presliding=0.0, coulomb=0.0, viscous=0.0, stiffness=STIFFNESS, slip=None
):
    """Return an arm of one joint about the vertical, with an elastic gear."""
    builder = frs.ArmBuilder('hinge')
    builder.add_rigid('arm', mass=1.0, centre=(0.0, 0.0, 0.0), inertia=[LINK] * 3)
    builder.add_joint(
        'hinge',
        parent='base',
        child='arm',
        effort=EFFORT,
        viscous_friction=viscous,
        coulomb_friction=coulomb,
        presliding=presliding or None,
    )
    builder.add_gear(
        'hinge', rotor_inertia=ROTOR, stiffness=stiffness, hysteresis=hysteresis, slip=slip
    )
    return builder.build()


def elements_of(arm, law):
    """Return stiffnesses and largest deflections of the elements of the only joint."""
    scale = arm.arrays.friction[0, 1] if law == FRICTION else 1.0
    return scale * arm.arrays.slip_stiffness[0, law], arm.arrays.slip_limit[0, law]


@pytest.mark.slow
def test_force_does_the_work_that_the_elements_store_and_lose():
    random = np.random.default_rng(1)
    for _ in range(200):
        k, x = random.uniform(1.0, 100.0, 4), 10.0 ** random.uniform(-4, -1, 4)
        z, total, last = random.uniform(-1.0, 1.0, 4) * x, 0.0, 0.5 * x.max()
        for d in last * random.normal(size=20) * 10.0 ** random.uniform(-3, 1, 20):
            end = np.empty(4)
            force, slope = slip_force(d, z, k, x, 1.0, 1.0)
            loss = slip_loss(d, z, k, x, 1.0, 1.0, end)
            stored = 0.5 * (k * (end**2 - z**2)).sum()
            assert force * d == pytest.approx(stored + loss, rel=1e-12, abs=1e-15)
            assert loss >= 0.0 and slope >= 0.0 and (abs(end) <= x).all()
            small = 1e-6 * abs(d)
            more = slip_force(d + small, z, k, x, 1.0, 1.0)[0]
            less = slip_force(d - small, z, k, x, 1.0, 1.0)[0]
            assert slope == pytest.approx(
                (more - less) / (2 * small), rel=1e-4, abs=1e-3 * k.sum()
            )
            total += loss
            z = end
        assert total > 0.0


def test_lower_friction_level_dissipates_the_energy_that_it_releases():
    z, end = np.array([0.8, -0.3]), np.empty(2)
    loss = slip_loss(0.0, z, np.array([2.0, 2.0]), np.ones(2), 1.0, 0.5, end)
    assert end.tolist() == [0.5, -0.3]
    assert loss == pytest.approx(0.5 * 2.0 * (0.8**2 - 0.5**2))


@pytest.mark.parametrize('d', [np.nan, np.inf, -np.inf])
def test_deflections_stay_finite_in_a_step_that_does_not(d):
    end = np.empty(1)
    slip_loss(d, np.array([0.1]), np.ones(1), np.ones(1), 1.0, 1.0, end)
    assert abs(end[0]) <= 1.0


@pytest.mark.parametrize('amplitude', [1.0, 0.5, 0.3, 0.1, 1 / 16])
def test_gear_loses_its_share_of_energy_at_any_amplitude(amplitude):
    # the loop of each element is a parallelogram of the area 4 k x (A - x)
    arm = hinge(hysteresis=0.04)
    k, x = elements_of(arm, GEAR)
    A = amplitude * EFFORT / STIFFNESS
    area = 4 * (k * x * np.maximum(A - x, 0.0)).sum()
    turn = A * np.sin(np.linspace(0.0, 6 * np.pi, 3001))
    z, loss, end = np.zeros(4), [], np.empty(4)
    for d in np.diff(turn):
        loss.append(slip_loss(d, z, k, x, 1.0, 1.0, end))
        z[:] = end
    assert sum(loss[-1000:]) == pytest.approx(area, rel=1e-3)
    # the loss of four elements over two decades lies between 0.69 and 1.15 times its mean
    assert area / (0.5 * STIFFNESS * A**2) == pytest.approx(0.04, rel=0.32)


def test_listed_springs_slip_at_their_forces():
    springs = [(300.0, 0.6), (150.0, 1.5), (80.0, 2.4)]
    arm, same = hinge(slip=springs), hinge(hysteresis=0.2)
    k, x = elements_of(arm, GEAR)
    assert k.tolist() == [300.0, 150.0, 80.0, 0.0]
    assert k * x == pytest.approx([0.6, 1.5, 2.4, 0.0])
    again = hinge(slip=[(k, k * x) for k, x in zip(*elements_of(same, GEAR))])
    motions = []
    for one in (same, again):
        sim = frs.Simulation(one)
        sim.set_state(np.zeros(2), np.array([0.5, -0.5]))
        sim.step(200)
        motions.append(sim.q.copy())
    assert motions[0] == pytest.approx(motions[1], rel=1e-12)
    assert 'hinge.hysteresis' in frs.parameters(same)
    assert 'hinge.hysteresis' not in frs.parameters(again)


def reference_motion(arm, v0, effort, times, steps):
    """Integrate rotor and link by Runge-Kutta, the deflections as z' = v within their bounds."""
    gear_k, gear_x = elements_of(arm, GEAR)
    drive_k, drive_x = elements_of(arm, FRICTION)
    viscous = arm.arrays.friction[0, 0]
    y = np.concatenate([[0.0, 0.0], v0, np.zeros(8)])

    def slope(t, y):
        link, rotor, link_rate, rotor_rate = y[:4]
        twist = STIFFNESS * (rotor - link) + gear_k @ np.clip(y[4:8], -gear_x, gear_x)
        dry = drive_k @ np.clip(y[8:], -drive_x, drive_x)
        rates = np.repeat([rotor_rate - link_rate, rotor_rate], 4)
        limits = np.concatenate([gear_x, drive_x])
        rates[(y[4:] >= limits) & (rates > 0) | (y[4:] <= -limits) & (rates < 0)] = 0.0
        return np.concatenate(
            [
                [
                    link_rate,
                    rotor_rate,
                    twist / LINK,
                    (effort(t) - twist - dry - viscous * rotor_rate) / ROTOR,
                ],
                rates,
            ]
        )

    out, limits = [y[:4]], np.concatenate([gear_x, drive_x])
    for start, end in zip(times, times[1:]):
        h = (end - start) / steps
        for k in range(steps):
            t = start + k * h
            a = slope(t, y)
            b = slope(t + h / 2, y + h / 2 * a)
            c = slope(t + h / 2, y + h / 2 * b)
            d = slope(t + h, y + h * c)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
            y[4:] = np.clip(y[4:], -limits, limits)
        out.append(y[:4])
    return np.array(out)


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    'numbers',
    [
        {'hysteresis': 0.3},
        {'presliding': 5e-3, 'coulomb': 1.0},
        {'hysteresis': 0.1, 'presliding': 1e-3, 'coulomb': 0.5, 'viscous': 0.2},
    ],
)
def test_motion_is_that_of_another_integrator_and_converges_with_the_square(numbers):
    arm, v0 = hinge(**numbers), [0.8, 0.0]
    times = np.linspace(0.0, 0.2, 21)

    def effort(t):
        return 3.0 * np.sin(40.0 * t)

    reference = reference_motion(arm, v0, effort, times, 400)
    errors = []
    for h in (1e-3, 2.5e-4):
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h))
        sim.set_state(np.zeros(2), np.array(v0))
        rows = [np.concatenate([sim.q, sim.v])]
        for _ in range(times.size - 1):
            for _ in range(round(0.01 / h)):
                sim.effort = [effort(sim.time + h / 2)]
                sim.step()
            rows.append(np.concatenate([sim.q, sim.v]))
        errors.append(np.abs(np.array(rows) - reference)[:, :2].max())
    assert errors[1] < 2e-3 * np.abs(reference[:, :2]).max()
    assert errors[1] < errors[0] / 8  # 16 where nothing slips


def test_energy_never_rises_and_is_balanced_to_rounding():
    random = np.random.default_rng(3)
    for _ in range(12):
        arm = hinge(
            hysteresis=random.uniform(0.0, 0.5),
            presliding=10.0 ** random.uniform(-5, -1),
            coulomb=10.0 ** random.uniform(-2, 1),
        )
        h = 10.0 ** random.uniform(-4, -2)
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h))
        sim.set_state(np.zeros(2), random.normal(size=2))
        last = start = sum(sim.energy()[:3])
        for _ in range(300):
            sim.step()
            energy = sum(sim.energy()[:3])
            assert energy <= last + 1e-14 * start
            last = energy


def test_small_vibration_has_the_stiffness_of_all_elements():
    arm = hinge(hysteresis=0.2)
    k = STIFFNESS + elements_of(arm, GEAR)[0].sum()
    free = np.sqrt(k * (1 / LINK + 1 / ROTOR)) / (2 * np.pi)
    assert frs.frequencies(arm, joints='free').max() == pytest.approx(free, rel=1e-12)
    assert frs.frequencies(arm) == pytest.approx([np.sqrt(k / LINK) / (2 * np.pi)], rel=1e-12)
    # friction that has not slipped yet is a spring between the rotor and the frame
    arm = hinge(presliding=1e-3, coulomb=2.0)
    drive = elements_of(arm, FRICTION)[0].sum()
    K = np.array([[STIFFNESS, -STIFFNESS], [-STIFFNESS, STIFFNESS + drive]])
    squares = np.linalg.eigvals(np.diag([1 / LINK, 1 / ROTOR]) @ K)
    expected = np.sort(np.sqrt(squares)) / (2 * np.pi)
    assert frs.frequencies(arm, joints='free') == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_motion_is_that_of_mujoco_with_elements_in_its_passive_forces():
    mujoco = pytest.importorskip('mujoco')
    arm = hinge(hysteresis=0.2, presliding=2e-3, coulomb=0.8)
    gear, drive = elements_of(arm, GEAR), elements_of(arm, FRICTION)
    body = (
        '<body><joint name="{0}" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="{1}"/>'
    )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 0 0" timestep="2e-5"/><worldbody>'
        + ''.join(
            body.format(name, f'{inertia} {inertia} {inertia}') + '</body>'
            for name, inertia in (('link', LINK), ('rotor', ROTOR))
        )
        + '</worldbody></mujoco>'
    )
    data, deflections = mujoco.MjData(model), [np.zeros(4), np.zeros(4)]
    data.qvel[0] = 0.9
    last = data.qpos.copy()

    def passive(_, data):
        link, rotor = data.qpos
        moves = (rotor - link) - (last[1] - last[0]), rotor - last[1]
        for z, d, (_, x) in zip(deflections, moves, (gear, drive)):
            np.clip(z + d, -x, x, out=z)
        last[:] = data.qpos
        torque = STIFFNESS * (rotor - link) + gear[0] @ deflections[0]
        data.qfrc_passive[:] = torque, -torque - drive[0] @ deflections[1]

    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=2e-4))
    sim.set_state(np.zeros(2), data.qvel.copy())
    mujoco.set_mjcb_passive(passive)
    try:
        for _ in range(20):
            mujoco.mj_step(model, data, 500)
            sim.advance_to(sim.time + 0.01)
            # semi-implicit Euler of first order, where the twist is 4 mrad
            assert sim.q == pytest.approx(data.qpos, abs=3e-5)
    finally:
        mujoco.set_mjcb_passive(None)


def test_state_with_deflections_is_saved_copied_and_equal_in_a_batch():
    arm = hinge(hysteresis=0.3, presliding=3e-3, coulomb=1.0)
    sim, batch = frs.Simulation(arm), frs.Batch(arm, 2)
    for one in (sim, batch):
        one.set_state(np.zeros(2), np.array([0.5, -0.2]))
        one.step(40)
    assert np.array_equal(batch.q[1], sim.q) and np.array_equal(batch.v[0], sim.v)
    state, saved = sim.save_state(), batch.save_state()
    copied = copy.deepcopy(sim)
    sim.step(60)
    batch.step(60)
    end = sim.q.copy(), sim.v.copy()
    assert np.array_equal(batch.q[0], end[0])
    copied.step(60)
    assert np.array_equal(copied.q, end[0])
    sim.restore_state(state)
    batch.restore_state(saved)
    sim.step(60)
    batch.step(60)
    assert np.array_equal(sim.q, end[0]) and np.array_equal(sim.v, end[1])
    assert np.array_equal(batch.q[1], end[0])


def test_new_state_starts_with_relaxed_elements():
    arm = hinge(presliding=3e-3, coulomb=1.0)
    sim, fresh = frs.Simulation(arm), frs.Simulation(arm)
    sim.set_state(np.zeros(2), np.array([0.5, 0.5]))
    sim.step(50)
    for one in (sim, fresh):
        one.set_state(np.zeros(2), np.array([0.1, 0.0]))
        one.step(50)
    assert np.array_equal(sim.q, fresh.q)


def test_quasi_static_push_leaves_the_joint_displaced_by_the_loop():
    # virgin curve and return of four elements with equal forces
    arm = hinge(presliding=4e-3, coulomb=1.0, viscous=5.0)
    k, x = elements_of(arm, FRICTION)
    sim = frs.Simulation(arm)

    def settle(effort):
        for value in np.linspace(sim.effort[0], effort, 2000):
            sim.effort = [value]
            sim.step()
        sim.step(2000)
        return sim.q[1]

    pushed = settle(0.8)
    # the link vibrates a little behind the undamped gear, and the elements remember its peak
    assert (k * np.minimum(pushed, x)).sum() == pytest.approx(0.8, abs=5e-3)
    released = settle(0.0)
    deflections = np.minimum(pushed, x) - (pushed - released)
    assert k @ deflections == pytest.approx(0.0, abs=5e-3)
    assert released > 0.2 * pushed


@pytest.mark.parametrize(
    'settings', [{'scheme': 'rk4'}, {'scheme': 'reference'}, {'formulation': 'dual_screw'}]
)
def test_other_schemes_and_formulations_are_refused_in_one_line(settings):
    with pytest.raises(frs.SettingError, match='hysteresis and presliding of the joints of hinge'):
        frs.Simulation(hinge(hysteresis=0.1), frs.SimulationSettings(**settings))


def test_prescribed_drive_does_the_work_that_the_loop_of_its_gear_costs():
    arm = frs.with_parameters(hinge(hysteresis=0.3), {'hinge.spring_stiffness': 2e4})
    k, x = elements_of(arm, GEAR)
    sim, amplitude, rate = frs.Simulation(arm), 0.006, 2 * np.pi * 0.5
    sim.prescribe(
        'hinge', lambda t: (amplitude * np.sin(rate * t), amplitude * rate * np.cos(rate * t))
    )
    work, twist = [], []
    for _ in range(6000):
        sim.step()
        work.append(sim.energy().work)
        twist.append(sim.q[arm.motor_q[0]] - sim.q[0])
    A = np.ptp(twist[4000:]) / 2
    assert work[-1] - work[3999] == pytest.approx(
        4 * (k * x * np.maximum(A - x, 0.0)).sum(), rel=2e-3
    )


@pytest.mark.parametrize(
    'path', ['z1_description/urdf/z1.urdf', 'ur_description/urdf/ur10_robot.urdf']
)
def test_public_robot_without_motors_never_gains_energy(path):
    random, text = np.random.default_rng(5), public_robot(path).read_text('utf-8')
    names = frs.load(text).joint_names
    gears = ''.join(
        f'<joint name="{name}" rotor_inertia="{random.uniform(0.1, 1.0)}" stiffness="2000" '
        f'hysteresis="{random.uniform(0.0, 0.5)}"/>'
        for name in names
    )
    text = text.replace('</robot>', f'<flexibility>{gears}</flexibility></robot>')
    arm = frs.load(text, gravity=(0.0, 0.0, 0.0))
    numbers: dict[str, float] = {}
    for name in names:
        numbers |= {f'{name}.coulomb': random.uniform(0.1, 2.0), f'{name}.presliding': 3e-3}
    sim = frs.Simulation(frs.with_parameters(arm, numbers))
    sim.set_state(np.zeros(arm.nq), random.normal(0.0, 0.3, arm.nq))
    last = start = sum(sim.energy()[:3])
    for _ in range(300):
        sim.step()
        energy = sum(sim.energy()[:3])
        assert energy <= last + 1e-12 * start
        last = energy
    assert last < 0.9 * start
