"""Table of modes, against single poses, closed forms of one beam, and a simulation."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import excited_modes, loaded, mode_table, modes_along
from flex_robot_sim.shaping.shaper_stages import groups_of, stages_of
from flex_robot_sim.util.exceptions import SettingError


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


@pytest.fixture(scope='module')
def table(arm):
    return mode_table(arm, count=2)


@pytest.mark.slow
def test_table_gives_the_frequencies_of_any_pose(arm, table):
    rng = np.random.default_rng(7)
    for pose in rng.uniform(
        np.maximum(arm.arrays.lower, -2.3), np.minimum(arm.arrays.upper, 2.3), (8, 3)
    ):
        frequencies, ratios = (
            table.pose_table(values).at(pose) for values in (table.frequencies, table.ratios)
        )
        known = frs.modes(arm, pose)
        # between the poses of the table
        assert frequencies == pytest.approx(known.frequencies[:2], rel=1e-2)
        assert ratios == pytest.approx(known.damping_ratios[:2], abs=2e-3)


def test_table_is_over_the_elbow_first_and_not_over_the_waist(table):
    # the waist turns about the vertical, which changes neither gravity nor inertia
    assert table.joints[0] == 2 and 0 not in table.joints


def test_modes_along_a_path_are_those_of_its_poses(arm):
    path = np.linspace([0.0, 0.2, -1.0], [0.5, 0.8, 1.2], 4)
    frequencies, _ = modes_along(arm, path, 3)
    for pose, found in zip(path, frequencies):
        assert found == pytest.approx(frs.frequencies(arm, pose)[:3], rel=1e-9)


def test_payload_lowers_the_frequencies_as_in_a_simulation():
    arm = frs.load('single_link')
    heavy = loaded(arm, ('tool', 0.2))
    slow = excited_modes(heavy, [0.0]).frequencies[0]
    assert slow < 0.95 * excited_modes(arm, [0.0]).frequencies[0]
    # reference: zero crossings of a simulation with this payload
    simulation = frs.Simulation(arm)
    simulation.set_payload('tool', 0.2)
    simulation.prescribe('motor', lambda t: (0.0, 0.0))
    rest = frs.equilibrium(heavy).q
    simulation.set_state(q=rest + np.array([0.0, 1e-3, 0.0]))
    values = []
    for _ in range(6000):
        simulation.step()
        values.append(simulation.q[1] - rest[1])
    values = np.array(values)
    up = np.flatnonzero((values[:-1] < 0) & (values[1:] >= 0))
    places = up - values[up] / (values[up + 1] - values[up])
    assert (up.size - 1) / np.ptp(places) / 1e-3 == pytest.approx(slow, rel=5e-3)


def test_deflection_over_acceleration_is_that_of_a_hub_that_turns():
    """A light beam with a tip mass bends by (M + 0.24 m) a L^3 / 3 EI, nearly a / omega^2."""
    arm = frs.load('single_link')
    found = excited_modes(arm, [0.0])
    # the tool moves with the first mode, whose tip is as far out as the tool of the rigid arm
    assert found.sizes[0] == pytest.approx(1 / (2 * np.pi * found.frequencies[0]) ** 2, rel=0.1)
    assert found.shares[0] == 1.0 and found.shares[1] < 0.05


def test_servo_lowers_the_frequencies_and_damps(arm):
    stiff = excited_modes(arm, [0.0, 0.0, 0.0])
    soft = excited_modes(arm, [0.0, 0.0, 0.0], gains=(400.0, 20.0))
    assert soft.frequencies[0] < stiff.frequencies[0]
    assert soft.ratios[:2].max() > 2 * stiff.ratios[:2].max()


def test_close_modes_share_a_stage_that_keeps_them_all(table):
    assert groups_of(table) == [[0, 1]]
    (stage,) = stages_of(table, 'si', 0.05, 0.1)
    for row in range(0, len(table.frequencies), 37):
        for frequency in table.frequencies[row]:
            for off in (0.9, 1.0, 1.1):
                turns = 2j * np.pi * off * frequency / stage.frequencies[row] * stage.cycles
                # for undamped modes; damped modes vibrate no more
                assert abs(np.exp(turns) @ stage.amplitudes) < 0.06


def test_stage_of_each_mode_has_half_a_cycle_between_its_impulses(table):
    stages = stages_of(table, 'zvd')
    assert len(stages) == 2
    for stage in stages:
        assert stage.cycles == pytest.approx([0.0, 0.5, 1.0], abs=1e-12)


@pytest.mark.parametrize(
    'call, message',
    [
        (
            lambda arm: loaded(arm, ('nose', 1.0)),
            'no link "nose" that carries a payload. Known: turret, shoulder_motor, upper_arm, '
            'elbow_motor, forearm, payload, tool',
        ),
        (
            lambda arm: mode_table(frs.load('rcm')),
            'nothing of rcm vibrates in these poses: it needs no shaper',
        ),
    ],
)
def test_what_has_no_table_is_refused(arm, call, message):
    with pytest.raises(SettingError) as caught:
        call(arm)
    assert str(caught.value) == message
