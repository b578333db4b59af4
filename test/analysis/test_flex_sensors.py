"""Flex-sensor readings, against closed forms and the rotation between frames on the beam."""

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from beam_arms import EI, LENGTH, beam_arm, with_elements, with_modes

from flex_robot_sim import Simulation, curvatures, load, read_description
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.model.assembly import build_arm

pytestmark = pytest.mark.slow

SPANS = [(0.0, 0.2), (0.1, 0.45), (0.3, LENGTH)]
SENSORS = ''.join(
    f'<flex_sensor name="{plane}_{i}" from="{a}" to="{b}" plane="{plane}"/>'
    for plane in ('xy', 'xz')
    for i, (a, b) in enumerate(SPANS)
)
KINDS = pytest.mark.parametrize(
    'discretisation',
    [
        with_modes(bending_y=2, bending_z=2),
        with_modes(bending_y=3, bending_z=2, segments=3),
        with_elements(3, bending_y='all', bending_z='all'),
    ],
    ids=['modes', 'segments', 'elements'],
)


@KINDS
def test_cantilever_under_a_tip_force_has_the_mean_curvature_F_times_distance_over_EI(
    discretisation,
):
    arm = beam_arm(discretisation + SENSORS)
    force = 1e-5 * EI / LENGTH**2  # small enough that large bending contributes 1e-10
    rest = equilibrium(arm, pushes=[Push('tool', (0.0, force, -2 * force))])
    sensors = flex_sensors(arm)
    lever = np.array([LENGTH - (a + b) / 2 for a, b in SPANS])
    expected = np.concatenate([force * lever / EI, -2 * force * lever / EI])
    # static shapes and cubic elements are exact for a tip force; large bending adds 1e-9
    np.testing.assert_allclose(sensors.matrix @ rest.q, expected, rtol=1e-6)


@KINDS
def test_pure_bending_gives_every_sensor_the_same_curvature(discretisation):
    arm = beam_arm(discretisation + SENSORS)
    moment = 1e-5 * EI / LENGTH
    rest = equilibrium(arm, pushes=[Push('tool', moment=(0.0, -moment, moment))])
    # M / EI in both planes: a moment about -y bends towards +z
    np.testing.assert_allclose(
        flex_sensors(arm).matrix @ rest.q, moment / EI, rtol=1e-6
    )  # large bending, and iterations of the solver


def arm_with_frames(discretisation):
    """Return a beam of 1 m along x with a massless frame at both ends of two sensors."""
    stations = {'a': 0.15, 'b': 0.55, 'c': 0.5, 'd': 0.9}
    frames = [
        part
        for name, x in stations.items()
        for part in (
            f'<link name="{name}"/>',
            joint(f'to_{name}', 'fixed', 'arm', name, f'<origin xyz="{x} 0.02 0"/>'),
        )
    ]
    sensors = ''.join(
        f'<flex_sensor name="{name}_{plane}" from="{stations[name[0]]}" '
        f'to="{stations[name[1]]}" plane="{plane}"/>'
        for name in ('ab', 'cd')
        for plane in ('xy', 'xz')
    )
    section = '<section EIy="20" EIz="30" GJ="10"/>'
    return build_arm(
        read_description(
            robot(link(), joint(), *frames, flexibility(beam(section + discretisation + sensors)))
        )
    )


@pytest.mark.parametrize('plane', ['xy', 'xz'])
@pytest.mark.parametrize(
    'discretisation',
    [
        with_modes(bending_y=3, bending_z=3),
        with_modes(bending_y=2, bending_z=2, segments=2),
        with_elements(4, bending_y='all', bending_z='all'),
    ],
    ids=['modes', 'segments', 'elements'],
)
def test_curvature_is_the_angle_between_two_frames_over_their_distance(discretisation, plane):
    arm = arm_with_frames(discretisation)
    simulation, sensors = Simulation(arm), flex_sensors(arm)
    direction = {'xy': 'bending_y', 'xz': 'bending_z'}[plane]
    random = np.random.default_rng(3)
    # in one plane angles add up, so the difference is exact for any bending
    q = np.array(
        [random.uniform(-0.1, 0.1) if direction in name else 0.0 for name in arm.coordinate_names]
    )
    simulation.set_state(q=q)

    def slope(frame):
        R = simulation.pose(frame)[:3, :3]
        return np.arctan2(*(R[[1, 0], 0] if plane == 'xy' else R[[2, 0], 0]))

    values = dict(zip(sensors.names, sensors.matrix @ q))
    assert values[f'arm/ab_{plane}'] == pytest.approx((slope('b') - slope('a')) / 0.4, abs=1e-12)
    assert values[f'arm/cd_{plane}'] == pytest.approx((slope('d') - slope('c')) / 0.4, abs=1e-12)
    other = 'xz' if plane == 'xy' else 'xy'
    assert values[f'arm/ab_{other}'] == values[f'arm/cd_{other}'] == 0.0


def test_a_short_sensor_measures_the_second_difference_of_the_axis():
    x, step = 0.4, 1e-3
    arm = beam_arm(
        with_modes(bending_y=3)
        + f'<flex_sensor name="s" from="{x - step}" to="{x + step}" plane="xy"/>'
    )
    q = np.array([0.0, 0.02, -0.01, 0.005])
    shape = next(iter(arm.beams.values())).shape(np.array([x - step, x, x + step]))[:, 1] @ q[1:]
    # a step of 1 mm neglects the third and fourth derivatives: some 1e-4 of v''
    assert flex_sensors(arm).matrix @ q == pytest.approx(np.diff(shape, 2)[0] / step**2, rel=1e-3)


def test_rate_of_curvature_is_the_same_map_of_the_rates():
    arm = load('two_link')
    simulation, sensors = Simulation(arm), flex_sensors(arm)
    simulation.effort[:] = [1.0, 2.0, 0.5]
    simulation.step(200)
    before, rates, h = simulation.q, [simulation.v], 1e-3
    simulation.step()
    rates.append(simulation.v)
    change = sensors.matrix @ (simulation.q - before) / h
    # the implicit midpoint rule moves by the mean of the rates, up to its iterations
    np.testing.assert_allclose(
        sensors.matrix @ np.mean(rates, axis=0), change, rtol=1e-6, atol=1e-9
    )


def test_sensors_are_named_after_link_and_sensor_base_to_tip():
    assert flex_sensors(load('two_link')).names == tuple(
        f'{link}/{name}'
        for link in ('upper_arm', 'forearm')
        for name in ('root', 'tip', 'root_side', 'tip_side')
    )


@pytest.mark.parametrize('name', ['rcm', 'canadarm2'])
def test_arm_without_sensors_has_none(name):
    arm = load(name)
    names, matrix = flex_sensors(arm)
    assert names == () and matrix.shape == (0, arm.size)


@KINDS
def test_a_gauge_without_length_measures_the_local_curvature(discretisation):
    places = {'root': 0.0, 'between': 0.31, 'joint': LENGTH / 3, 'tip': LENGTH}
    arm = beam_arm(
        discretisation
        + ''.join(
            f'<flex_sensor name="{name}_{plane}" from="{x!r}" to="{x!r}" plane="{plane}"/>'
            for name, x in places.items()
            for plane in ('xy', 'xz')
        )
    )
    force = 1e-5 * EI / LENGTH**2
    simulation = Simulation(arm)
    simulation.set_state(q=equilibrium(arm, pushes=[Push('tool', (0.0, force, -2 * force))]).q)
    for name, x in places.items():
        moment = force * (LENGTH - x)
        assert simulation.curvature[f'arm/{name}_xy'] == pytest.approx(
            moment / EI, rel=1e-6, abs=1e-8 * force
        )
        assert simulation.curvature[f'arm/{name}_xz'] == pytest.approx(
            -2 * moment / EI, rel=1e-6, abs=1e-8 * force
        )


def test_a_gauge_without_length_is_the_limit_of_a_short_one_also_between_two_elements():
    gauges = ''.join(
        f'<flex_sensor name="{name}" from="{x - d!r}" to="{x + d!r}" plane="xy"/>'
        for x in (0.2, LENGTH / 2)
        for name, d in ((f'at_{x}', 0.0), (f'near_{x}', 1e-6))
    )
    for discretisation in (with_elements(4, bending_y='all'), with_modes(3, segments=2)):
        arm = beam_arm(discretisation + gauges)
        q = np.random.default_rng(0).normal(size=arm.size)
        values = curvatures(arm, q)
        for x in (0.2, LENGTH / 2):
            # error of a gauge of 2 um for shapes that change over a third of the length
            assert values[f'arm/at_{x}'] == pytest.approx(values[f'arm/near_{x}'], rel=1e-4)
