"""`shaper_for`: one call for an arm, a URDF, a recording or a shaper file."""

from typing import Any

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim import cli
from flex_robot_sim.shaping import shaper_source
from flex_robot_sim.shaping.impulses import of_kind
from flex_robot_sim.shaping.shaper_file import write_shaper
from flex_robot_sim.shaping.shaper_specification import CoveredBand, ShaperSpecification
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError

pytestmark = pytest.mark.slow

TIMES = np.arange(0.0, 1.5, 2e-3)


@pytest.fixture
def log(tmp_path):
    """Two modes that decay after a stop at 1 s."""
    t = np.arange(0.0, 8.0, 0.004)
    after = np.maximum(t - 1.0, 0.0)
    rng = np.random.default_rng(1)
    values = np.exp(-0.3 * after) * np.sin(2 * np.pi * 3.2 * after)
    values += 0.5 * np.exp(-0.6 * after) * np.sin(2 * np.pi * 9.1 * after)
    path = tmp_path / 'log.csv'
    table = np.column_stack([t, values + 0.01 * rng.normal(size=t.size)])
    np.savetxt(path, table, delimiter=',', header='time,ax', comments='')
    return path


def test_a_recording_gives_a_shaper_for_its_modes(log, capsys):
    shaper = frs.shaping.shaper_for(str(log))
    assert len(shaper.bands) == 2
    for band, frequency in zip(shaper.bands, (3.2, 9.1)):
        assert band.low < frequency < band.high
    # the same that the command recommends and writes
    path = log.with_name('shaper.json')
    assert cli.main(['shape', '--log', str(log), '--output', str(path)]) == 0
    assert f'recommended: {shaper.name}, ' in capsys.readouterr().out
    other = frs.shaping.shaper_for(path)
    assert other.bands == shaper.bands
    np.testing.assert_allclose(other.shaper.times, shaper.shaper.times)
    # less of the first mode is left than without a shaper, and it ends at the end
    assert shaper.shaper.vibration(3.2) < 0.1 and shaper.added_time == shaper.shaper.duration
    shaped = shaper.shape(TIMES, TIMES)
    assert shaped.positions[-1] == TIMES[-1]
    delays, weights = shaper.fir(0.01)
    assert weights.sum() == pytest.approx(1.0) and 0.01 * delays[-1] < shaper.added_time + 0.05
    response = np.exp(-2j * np.pi * 3.2 * 0.01 * delays) @ weights
    assert abs(response) == pytest.approx(shaper.shaper.vibration(3.2), abs=0.01)


def test_an_arm_has_a_band_for_each_mode_and_keeps_its_limits():
    arm = frs.load('single_link')
    shaper = frs.shaping.shaper_for(arm)
    known = frs.frequencies(arm, [0.0])[0]
    assert shaper.bands[0].low == pytest.approx(0.9 * known, rel=1e-3)
    assert shaper.bands[0].high == pytest.approx(1.1 * known, rel=1e-3)
    # within the velocity limits, although the input is a jump
    shaped = shaper.shape(TIMES, np.ones((TIMES.size, 1)) * (TIMES[:, None] > 0.1))
    rates = np.abs(np.diff(shaped.positions, axis=0)) / 2e-3
    assert rates.max() <= arm.description.joint('motor').velocity * (1 + 1e-9)
    assert shaped.positions[-1] == 1.0


def test_a_urdf_and_the_name_of_a_robot_are_loaded(monkeypatch):
    monkeypatch.setattr(shaper_source, 'design_for_arm', lambda arm, **options: (arm, options))
    for source in ('two_link', frs.robots()['two_link'], str(frs.robots()['two_link'])):
        found: Any = frs.shaping.shaper_for(source, masses=[0.1, 0.2], fixed=True)
        arm, options = found
        assert arm.joint_names == frs.load('two_link').joint_names
        assert options == {
            'masses': [0.1, 0.2],
            'uncertainty': 0.1,
            'allowed_vibration': 5e-4,
            'fixed': True,
        }


def test_delays_by_pose_have_no_fir_coefficients_and_fixed_ones_have():
    arm = frs.load('two_link')
    by_pose = frs.shaping.design_for_arm(arm, kind='zv')
    with pytest.raises(SettingError) as caught:
        by_pose.fir(1e-3)
    assert str(caught.value) == (
        'the delays of "zv by pose" follow the pose, so it has no FIR coefficients: design it '
        'with fixed=True'
    )
    positions = TIMES[:, None] * [0.3, 0.4, -0.5]
    assert len(repr(by_pose).splitlines()) <= 20  # no table in a terminal
    shaped = by_pose.shape(TIMES, positions)
    assert (shaped.positions[-1] == positions[-1]).all()
    assert shaped.times[-1] - TIMES[-1] <= by_pose.added_time + 0.02
    # the band is that of all poses
    for pose in ([0.0, 0.0, 0.0], [0.4, 0.9, -1.2]):
        frequency = frs.frequencies(arm, pose)[0]
        assert by_pose.bands[0].low - 0.05 <= frequency <= by_pose.bands[0].high + 0.05


def test_a_shaper_file_keeps_bands_and_limits(tmp_path):
    path = tmp_path / 'a.json'
    bands = (CoveredBand(2.0, 2.5, 0.01),)
    limits = np.array([0.5, np.inf])
    parts = ShaperSpecification(
        'zv', of_kind('zv', 2.2, 0.01), velocity_limits=limits, bands=bands
    )
    write_shaper(path, parts, 'arm', ('a', 'b'))
    read = frs.shaping.shaper_for(path)
    assert read.bands == bands
    np.testing.assert_array_equal(read.velocity_limits, limits)
    np.testing.assert_array_equal(read.shaper.times, parts.shaper.times)


@pytest.mark.parametrize(
    'source, options, message',
    [
        (
            3.0,
            {},
            'source = 3.0 must be an arm, or the path of a URDF, of a recording or of a shaper '
            'file',
        ),
        (
            'none.csv',
            {},
            'none.csv: cannot be read: No such file or directory. Give a CSV or MCAP file.',
        ),
        ('none.json', {}, 'none.json: cannot be read: No such file or directory'),
        (
            'none.json',
            {'fixed': True},
            'none.json is a shaper file, which takes no fixed: leave it out',
        ),
        (
            'none.csv',
            {'masses': [0.1]},
            'none.csv is a recording, which takes no masses: leave it out',
        ),
    ],
)
def test_other_sources_are_one_line(source, options, message):
    with pytest.raises(FlexRobotSimError) as caught:
        frs.shaping.shaper_for(source, **options)
    assert str(caught.value) == message


def test_a_rigid_arm_and_a_quiet_recording_have_no_shaper(tmp_path):
    with pytest.raises(SettingError, match='nothing of rcm vibrates: it needs no shaper'):
        frs.shaping.shaper_for('rcm')
    path = tmp_path / 'quiet.csv'
    noise = np.random.default_rng(0).normal(size=(2000, 1))
    table = np.column_stack([0.005 * np.arange(2000), noise])
    np.savetxt(path, table, delimiter=',', header='time,ax', comments='')
    with pytest.raises(SettingError, match='no resonance stands out. Record several periods'):
        frs.shaping.shaper_for(path)
