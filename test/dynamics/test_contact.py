"""Contact: spring, friction and energy, against closed forms, MuJoCo and convex optimisation."""

import numpy as np
import pytest
from contact_arms import block, pressing_beam, slider, tumbling_box
from numpy.testing import assert_allclose, assert_array_equal

import flex_robot_sim as frs
from flex_robot_sim.analysis.contact_terms import contact_slopes
from flex_robot_sim.dynamics.contact.gaps import distance_and_normal
from flex_robot_sim.dynamics.contact.laws import friction_force
from flex_robot_sim.model.contact_rows import BOX, CAPSULE, CYLINDER, SPHERE
from flex_robot_sim.util.exceptions import SettingError

G = 9.81


def test_ball_on_a_spring_bounces_in_pi_sqrt_m_over_k():
    k, m, speed = 1e4, 1.0, 1.5
    arm = frs.load(slider(f'stiffness="{k}"', mass=m, radius=0.1, joints='z'), gravity=(0, 0, 0))
    h = np.pi * np.sqrt(m / k) / 10  # ten steps within the contact
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h))
    sim.set_state([0.1 + 0.3 * h * speed], [-speed])
    force = []
    for _ in range(20):
        sim.step()
        force.append(sim.contact('tool').force[2])
    assert max(force) == pytest.approx(speed * np.sqrt(k * m), rel=0.025)
    # a half sine of duration T has the impulse 2 m v = 2/pi F T
    duration = np.pi / 2 * np.sum(force) * h / max(force)
    assert duration == pytest.approx(np.pi * np.sqrt(m / k), rel=0.025)
    assert sim.velocity[0] == pytest.approx(speed, rel=1e-14)  # the spring conserves energy
    assert abs(sim.energy().balance) < 1e-14


@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4', 'semi_implicit_euler'])
def test_contact_forces_sum_to_the_impulse_in_steps_of_several_parts(scheme):
    m, radius, speed, h = 2.0, 1e-3, 5.0, 1e-3  # a step moves the ball by five radii
    arm = frs.load(slider('stiffness="1e8" damping="100"', mass=m, radius=radius, joints='z'))
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h, scheme=scheme))
    sim.set_state([radius + 0.3 * h * speed], [-speed])
    for _ in range(10):
        before = sim.velocity[0]
        sim.step()
        force = sim.contact('tool').force[2]
        # m dv = (F - m g) h
        assert m * (sim.velocity[0] - before) == pytest.approx((force - m * G) * h, abs=1e-12)
    assert sim.velocity[0] > 0.0  # it has bounced


@pytest.mark.parametrize('amplitude', [1e-7, 1e-9])  # energy of 5e-11 and 5e-15 J
def test_a_small_vibration_of_a_pressed_ball_does_not_decay(amplitude):
    k, m = 1e4, 1.0
    sim = frs.Simulation(frs.load(slider(f'stiffness="{k}" damping="0"', mass=m, joints='z')))
    rest, heights = 0.1 - m * G / k, []
    sim.set_state([rest + amplitude])
    for _ in range(2000):
        sim.step()
        heights.append(sim.position[0] - rest)
    # the energy of the last periods is that of the start
    assert np.ptp(heights[-200:]) / 2 == pytest.approx(amplitude, rel=1e-3)


def test_a_point_that_goes_through_the_ground_is_reported_once():
    arm = frs.load(slider('stiffness="1"', mass=1.0, radius=0.1, joints='z'))  # of 1 N/m
    line = 'contact "tool" is more than 0.1 m inside "ground" at {} s: it may come out on the '
    sim, batch = frs.Simulation(arm), frs.Batch(arm, 2)
    sim.set_state([0.1])
    batch.set_state([[0.1], [-0.05]])
    sim.advance_to(0.3)
    batch.step(300)
    w = np.sqrt(1.0)  # the ball sinks by g / w^2 (1 - cos wt)
    time = np.arccos(1.0 - 0.1 * w**2 / G) / w
    (found,) = sim.reports
    assert found.startswith(line.format(f'{np.ceil(time * 1e3) / 1e3:.4g}'))
    assert [k for k, _ in batch.reports] == [0, 1] and batch.reports[0][1] == found
    assert batch.reports[1][1].startswith(line.format('0.001'))
    sim.reset()
    sim.set_state([0.1])
    sim.step(300)
    assert len(sim.reports) == 1


@pytest.mark.parametrize('shape', ['box size="1 1 {}"', 'cylinder radius="0.3" length="{}"'])
@pytest.mark.parametrize(('thickness', 'speed', 'step'), [(0.005, 50, 4e-3), (0.002, 20, 1e-3)])
def test_a_thin_plate_stops_a_fast_ball_or_is_reported(shape, thickness, speed, step):
    plate = f'<obstacle name="plate"><geometry><{shape.format(thickness)}/></geometry></obstacle>'
    for radius, stiffness in ((0.01, 1e3), (0.001, 1e3), (0.01, 1e9), (0.001, 1e9)):
        arm = frs.load(
            slider(f'stiffness="{stiffness}"', plate, mass=1.0, radius=radius, joints='z'),
            gravity=(0, 0, 0),
        )
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
        sim.set_state([0.5], [-speed])
        sim.advance_to(1.0 / speed)
        # the spring stops the ball in sqrt(m / k) v, before the plate or only beyond it
        stops = speed * np.sqrt(1.0 / stiffness) < thickness / 2
        assert stops == (stiffness == 1e9)
        assert np.sign(sim.position[0]) == (1 if stops else -1)
        assert bool(sim.reports) is not stops
        if not stops:
            assert 'inside "plate"' in sim.reports[0]
        assert sim.energy().kinetic + sim.energy().strain <= speed**2 / 2 * (1 + 1e-12)


def test_slider_stops_after_v2_over_2_mu_g():
    mu, speed, k, m = 0.3, 2.0, 1e5, 2.0
    arm = frs.load(slider(f'stiffness="{k}" damping="100" friction="{mu}"', mass=m))
    sim = frs.Simulation(arm)
    sim.set_state([0.0, 0.1 - m * G / k], [speed, 0.0])
    stop = speed / (mu * G)
    sim.advance_to(stop - 2e-3)
    assert sim.contact('tool').is_sliding
    assert sim.contact('tool').force == pytest.approx([-mu * m * G, 0, m * G])
    sim.advance_to(stop + 2e-3)
    assert not sim.contact('tool').is_sliding
    assert sim.position[0] == pytest.approx(speed**2 / (2 * mu * G), rel=1e-6)
    assert sim.energy().dissipated == pytest.approx(m * speed**2 / 2, rel=1e-12)


def test_block_rests_on_a_slope_below_the_friction_angle():
    mu = 0.3
    for angle, rests in ((np.arctan(mu) - 0.01, True), (np.arctan(mu) + 0.01, False)):
        arm = frs.load(
            block(f'stiffness="1e5" damping="300" friction="{mu}"'),
            gravity=(G * np.sin(angle), 0.0, -G * np.cos(angle)),
        )
        sim = frs.Simulation(arm)
        sim.set_state(base_pose=[0, 0, 0.03, 0, 0, 0, 1])
        sim.advance_to(1.0)
        start, begin = sim.base_pose, sim.time
        speed = sim.base_twist[3]
        sim.advance_to(3.0)
        way, duration = sim.base_pose - start, sim.time - begin
        if rests:
            assert np.abs(way).max() < 1e-12
        else:
            a = G * (np.sin(angle) - mu * np.cos(angle))
            assert way[0] == pytest.approx(speed * duration + a * duration**2 / 2, rel=1e-3)


@pytest.mark.parametrize('seconds', [5, pytest.param(3600, marks=pytest.mark.long)])
def test_rest_on_a_slope_does_not_creep(seconds):
    gravity = (2.7, 0.0, -9.4)
    block_arm = frs.load(block('stiffness="1e5" damping="300" friction="0.3"'), gravity=gravity)
    ball_arm = frs.load(slider('stiffness="1e4" damping="100" friction="0.3"'), gravity=gravity)
    for arm, start in (
        (block_arm, {'base_pose': [0, 0, 0.03, 0, 0, 0, 1]}),
        (ball_arm, {'q': [0.0, 0.1]}),
    ):
        sim = frs.Simulation(arm)
        sim.set_state(**start)
        sim.advance_to(5.0)  # settle
        place = sim.pose()
        sim.advance_to(5.0 + seconds)
        creep = np.abs(sim.pose() - place).max()
        assert creep < 1e-14 + 1e-15 * seconds, f'{creep:.1e} m'  # rounding of each step


def test_friction_minimises_the_rate_against_its_cone():
    # the unknown p minimises p.G p / 2 + a.p + distance terms: by its dual, over a fine fan
    rng = np.random.default_rng(2)
    for _ in range(300):
        L = rng.normal(size=(2, 2))
        G2 = L @ L.T + 0.01 * np.eye(2)
        a, u0, c = rng.normal(size=2), rng.normal(size=2), rng.uniform(0.0, 2.0)
        p = np.array(friction_force(c, tuple(a), (G2[0, 0], G2[0, 1], G2[1, 1]), tuple(u0 / 2)))
        u = a + G2 @ p
        share = np.clip(u @ u0 / (u0 @ u0 / 2), 0.0, 1.0)
        w = u - share * u0 / 2  # from the nearest point between 0 and u0 / 2
        assert np.linalg.norm(p) <= c * (1 + 1e-9)
        assert p @ u <= 1e-9
        if np.linalg.norm(w) > 1e-6 * np.linalg.norm(u) + 1e-9:
            assert_allclose(p, -c * w / np.linalg.norm(w), atol=2e-6 * c)


def test_distances_have_their_normals_as_gradients():
    rng, d = np.random.default_rng(3), 1e-6
    for kind, size in (
        (BOX, (0.3, 0.2, 0.1)),
        (CYLINDER, (0.2, 0.3, 0.0)),
        (SPHERE, (0.2, 0.0, 0.0)),
        (CAPSULE, (0.1, 0.2, 0.0)),
    ):
        size = np.array(size)
        for x in rng.uniform(-0.5, 0.5, (40, 3)):
            distance, normal = distance_and_normal(kind, size, *x)
            slopes = [
                (distance_and_normal(kind, size, *(x + e))[0] - distance) / d
                for e in d * np.eye(3)
            ]
            assert_allclose(slopes, normal, atol=2e-5)
            surface = x - distance * np.array(normal)
            assert abs(distance_and_normal(kind, size, *surface)[0]) < 1e-12


def test_two_equal_links_exchange_their_velocities():
    text = slider('stiffness="1e5" with="other"', '', joints='x').replace(
        '<flexibility>',
        '<joint name="o" type="prismatic"><parent link="base"/><child link="other"/>'
        '<origin xyz="1 0 0"/><axis xyz="1 0 0"/>'
        '<limit lower="-99" upper="99" effort="1e30" velocity="1e30"/></joint>'
        '<link name="other"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><geometry><box size="0.4 0.4 0.4"/></geometry></collision></link>'
        '<flexibility>',
    )
    arm = frs.load(text)
    sim = frs.Simulation(arm)
    by_name = dict(zip(arm.joint_names, (1.0, 0.25)))
    sim.set_state([0.0, 0.0], [{'x': 1.0, 'o': 0.25}[name] for name in by_name])
    sim.advance_to(1.5)
    assert dict(zip(arm.joint_names, sim.velocity)) == pytest.approx({'x': 0.25, 'o': 1.0})


def test_flexible_arm_presses_with_its_equilibrium_force():
    k, gap, L, EI, weight, tip = 1e4, 0.001, 0.5, 20.0, 0.2 * G, 0.5 * G
    arm = frs.load(pressing_beam(f'stiffness="{k}" damping="20"', height=-gap))
    sim = frs.Simulation(arm)
    sim.advance_to(3.0)
    # sag of a cantilever with its weight and a tip load that the ground carries in part
    stiffness = 3 * EI / L**3
    free_sag = weight * L**3 / (8 * EI) + tip / stiffness
    force = (free_sag - gap) / (1 / stiffness + 1 / k)
    assert sim.contact('tool').force[2] == pytest.approx(force, rel=1e-4)  # large deflections
    rest = frs.equilibrium(arm, [])
    assert_allclose(sim.q, rest.q, atol=1e-9)


def test_linear_model_contains_the_pressed_spring():
    arm = frs.load(slider('stiffness="1e4" damping="30"', joints='z'))
    rest = frs.equilibrium(arm, [0.09], joints='free')
    depth = 2 * G / 1e4
    assert rest.q[0] == pytest.approx(0.1 - depth)
    A = frs.linearise(arm, rest.q).A
    assert_allclose(A, [[0, 1], [-1e4 / 2, -30 / 2]], rtol=1e-9)  # beyond 1 mm: full damping
    with pytest.raises(SettingError, match='contact "tool" touches'):
        frs.derivatives(arm, rest.q)


def test_linear_model_of_a_bent_arm_agrees_with_differences():
    arm = frs.load(pressing_beam('stiffness="1e4" damping="8" friction="0.3"'))
    q, n, d = frs.equilibrium(arm, []).q, arm.size, 1e-6
    for v in (np.zeros(n), np.random.default_rng(4).normal(size=n) * 0.01):
        D, K = contact_slopes(arm, q, v)
        rigid = frs.load(pressing_beam('stiffness="1e-9"'))  # the same arm without contact

        def force(q, v, rigid=rigid):
            return frs.inverse_dynamics(arm, q, v) - frs.inverse_dynamics(rigid, q, v)

        for matrix, steps in ((K, (np.eye(n), 0 * np.eye(n))), (D, (0 * np.eye(n), np.eye(n)))):
            numeric = np.array(
                [
                    (force(q + d * a, v + d * b) - force(q - d * a, v - d * b)) / (2 * d)
                    for a, b in zip(*steps)
                ]
            ).T
            assert_allclose(matrix, numeric, atol=1e-5 * np.abs(numeric).max())


def test_a_sampled_admittance_law_vibrates_with_the_eigenvalue_of_its_loop():
    m, k, K, D, b, h = 2.0, 1e5, 4e4, 200.0, 300.0, 2e-3
    A, B = np.array([[0, 1], [-(K + k) / m, -D / m]]), np.array([[0], [K / m]])
    C, one = np.array([[-k / b, 0]]), np.eye(2)
    continuous = np.linalg.eigvals(np.block([[A, B], [C, np.zeros((1, 1))]])).real.max()
    # midpoint rule with the target z of the start of the step, and z from the mean force
    inverse = np.linalg.inv(one - h / 2 * A)
    X, Z = inverse @ (one + h / 2 * A), h * inverse @ B
    loop = np.block([[X, Z], [h / 2 * C @ (X + one), 1 + h / 2 * C @ Z]])
    sampled = np.log(np.abs(np.linalg.eigvals(loop)).max()) / h
    assert continuous < -1.0 and sampled > 1.0  # the period makes this loop unstable
    text = slider(f'stiffness="{k}" damping="0"', mass=m, joints='z')
    settings = frs.SimulationSettings(time_step=h)
    sim = frs.Simulation(frs.load(text, gravity=(0, 0, 0)), settings)
    start, z, heights = 0.1 - 10.0 / k, 1e-6, []  # pressed with 10 N
    sim.set_state([start])
    for _ in range(500):
        sim.hold([start + z - 10.0 / K], stiffness=K, damping=D)
        sim.step()
        z += h / b * (sim.contact('tool').force[2] - 10.0)
        heights.append(sim.position[0] - start)
    first, last = (np.linalg.norm(heights[i : i + 100]) for i in (100, 400))
    assert np.log(last / first) / (300 * h) == pytest.approx(sampled, rel=0.02)


@pytest.mark.parametrize('scheme', ['rk4', 'reference'])
def test_schemes_agree_on_a_bounce(scheme):
    arm = frs.load(slider('stiffness="2e3" damping="10" friction="0.1"'))
    ends = []
    for settings in (
        frs.SimulationSettings(scheme=scheme, time_step=1e-4),
        frs.SimulationSettings(time_step=1e-4),
    ):
        sim = frs.Simulation(arm, settings)
        sim.set_state([0.0, 0.15], [3.0, 0.0])
        sim.advance_to(0.3)
        ends.append([*sim.position, *sim.velocity])
        assert abs(sim.energy().balance) < 1e-4
    assert_allclose(ends[0], ends[1], atol=2e-3)  # smoothed friction, and damping over a step


def test_batch_and_snapshots_repeat_every_bit():
    laws, starts = ('friction="0.5"', 'friction="0.1" stiffness="1e4"'), [[0.3, 0.4, 0.5]] * 2
    arms, rates = [frs.load(tumbling_box(law)) for law in laws], [[0.5, -1.0, 3.0]] * 2
    batch, sims = frs.Batch(arms), [frs.Simulation(arm) for arm in arms]
    batch.set_state(starts, rates)
    for sim in sims:
        sim.set_state(starts[0], rates[0])
        sim.step(400)
    state = sims[0].save_state()
    touches = False
    for _ in range(100):
        batch.step(4)
        batch.energy()  # queries change no step
        contact = batch.contact('box')
        touches = touches or bool(np.all(contact.normal_force))
    assert touches
    for _ in range(5):
        batch.step(40)
        for k, sim in enumerate(sims):
            sim.step(40)
            assert_array_equal(batch.q[k], sim.q)
            for field, expected in zip(batch.contact('box'), sim.contact('box')):
                assert_array_equal(np.asarray(field)[k], expected)
    again = frs.Simulation(arms[0])
    again.restore_state(state)
    again.step(200)
    assert_array_equal(again.q, sims[0].q)
    with pytest.raises(SettingError, match='no contact "elbow". Known: box'):
        batch.contact('elbow')


def test_prescribed_drive_pushes_against_friction():
    arm = frs.load(slider('stiffness="1e5" damping="200" friction="0.4"'))
    sim = frs.Simulation(arm)
    sim.set_state([0.0, 0.1 - 2 * G / 1e5], [0.5, 0.0])
    sim.prescribe('x', lambda t: (0.5 * t, 0.5))
    sim.advance_to(0.2)
    assert sim.mean_effort[0] == pytest.approx(0.4 * 2 * G)
    assert sim.wrench('x')[3:] == pytest.approx([0.4 * 2 * G, 0, 0], abs=1e-6)


def test_slider_agrees_with_mujoco():
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep="1e-4" cone="elliptic" impratio="100"/><worldbody>
        <geom type="plane" size="9 9 1" friction="0.3 0 0"/><body pos="0 0 0.1">
        <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
        <geom type="sphere" size="0.1" mass="2" friction="0.3 0 0" condim="3"/>
        </body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1000)
    data.qvel[0], start = 1.0, data.qpos[0]
    mujoco.mj_step(model, data, 5000)
    sim = frs.Simulation(frs.load(slider('friction="0.3"')))
    sim.set_state([0.0, 0.1])
    sim.advance_to(0.5)  # settle
    sim.set_state(sim.position, [1.0, 0.0])
    sim.advance_to(1.0)
    assert sim.position[0] == pytest.approx(data.qpos[0] - start, rel=2e-3)
    assert abs(sim.velocity[0]) < 1e-12


def test_a_telescope_stands_on_the_ground():
    builder = frs.ArmBuilder('telescope').add_rigid('column', mass=1.0, inertia=(0.01, 0.01, 0.01))
    builder.add_beam('stick', length=0.4, material='steel', section=frs.Rectangle(0.03, 0.02))
    builder.add_rigid('foot', mass=0.4, inertia=(1e-3, 1e-3, 1e-3))
    builder.add_joint('hip', parent='base', child='column', axis='y', rpy=(0, np.pi / 2, 0))
    builder.add_joint(
        'slide',
        parent='column',
        child='stick',
        type='prismatic',
        axis='x',
        lower=-0.05,
        upper=0.15,
        mouth=0.2,
        viscous_friction=50.0,
    )
    builder.attach('foot', parent='stick').add_ground(height=-0.44)
    builder.add_contact('sole', link='foot', shape=frs.Sphere(0.03), stiffness=1e5, damping=200)
    arm = builder.build()
    sim = frs.Simulation(arm)
    sim.prescribe('hip', lambda time: (0.0, 0.0))
    sim.advance_to(1.5)
    weight = (0.4 + 7850 * 0.03 * 0.02 * 0.4) * G
    assert sim.contact('sole').force[2] == pytest.approx(weight, rel=1e-6)
    assert sim.position[1] == pytest.approx(0.01 + weight / 1e5, rel=1e-6)
    rest = frs.equilibrium(arm, [0.0, 0.005], joints=['hip'])
    assert_allclose(rest.q, sim.q, rtol=0, atol=1e-8)
    assert not sim.reports
