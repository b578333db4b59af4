"""Impulses of shapers, against exact oscillators, closed forms, and published sensitivities."""

import itertools

import numpy as np
import pytest
from project_files import ROOT
from scipy.linalg import expm

from flex_robot_sim.shaping.impulses import KINDS, ExtraInsensitive, convolved, of_kind
from flex_robot_sim.shaping.specified_insensitivity import Band, for_modes, si
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

EXACT = [name for name, kind in KINDS.items() if not kind.has_tolerance]
EXTRA_INSENSITIVE = {
    name: kind for name, kind in KINDS.items() if isinstance(kind, ExtraInsensitive)
}


def left_by(shaper, frequency, ratio):
    """Residual amplitude of an oscillator after impulses, relative to one impulse at time 0."""
    rate = 2 * np.pi * frequency
    A = np.array([[0.0, 1.0], [-(rate**2), -2 * ratio * rate]])
    state = np.zeros(2)
    for start, end, amplitude in zip(
        shaper.times, [*shaper.times[1:], shaper.times[-1]], shaper.amplitudes
    ):
        state = expm(A * (end - start)) @ (state + [0.0, amplitude])

    def size(state):
        # the envelope of x, from x and the quadrature of its rate
        x, v = state
        return np.hypot(x, (v + ratio * rate * x) / (rate * np.sqrt(1 - ratio**2)))

    return size(state) / size([0.0, 1.0])


@pytest.mark.parametrize(
    'kind, ratio, frequency', [*itertools.product(EXACT, (0.0, 0.01, 0.2, 0.7), (0.3, 2.0, 40.0))]
)
def test_zero_vibration_leaves_an_oscillator_at_rest(kind, ratio, frequency):
    assert left_by(of_kind(kind, frequency, ratio), frequency, ratio) < 1e-12  # rounding


@pytest.mark.parametrize('kind, ratio', [*itertools.product(KINDS, (0.0, 0.05, 0.25))])
def test_vibration_is_what_the_oscillator_shows(kind, ratio):
    shaper = of_kind(kind, 2.0, ratio)
    for frequency in np.random.default_rng(3).uniform(0.5, 6.0, 20):
        assert shaper.vibration(frequency, ratio) == pytest.approx(
            left_by(shaper, frequency, ratio), abs=1e-12
        )


# Singhose, Seering and Singer, J. Mechanical Design 116 (1994) and 119 (1997): undamped, 5 %
WIDTHS = {'zv': 0.06, 'zvd': 0.286, 'zvdd': 0.48, 'ei': 0.399, 'ei2': 0.726}


@pytest.mark.parametrize('kind', KINDS)
def test_insensitivity_is_the_published_one(kind):
    found = of_kind(kind, 1.7).insensitivity(1.7)
    assert found == pytest.approx(WIDTHS[kind], abs=5e-3)  # as printed


@pytest.mark.parametrize('kind', KINDS)
def test_page_of_control_has_the_row_of_each_shaper(kind):
    shaper, page = of_kind(kind, 1.0), (ROOT / 'docs' / 'control.md').read_text('utf-8')
    row = f'| `{kind}` | {shaper.times.size} | {shaper.duration:g} | {WIDTHS[kind]:.2f} |\n'
    assert row in page


def test_undamped_extra_insensitive_shaper_has_the_closed_form():
    shaper = of_kind('ei', 2.0, tolerance=0.1)
    assert shaper.amplitudes == pytest.approx([0.275, 0.45, 0.275], abs=1e-14)
    assert shaper.times == pytest.approx([0.0, 0.25, 0.5], abs=1e-14)


@pytest.mark.parametrize('ratio', [0.02, 0.1, 0.2, 0.3])
def test_damped_extra_insensitive_shaper_is_near_the_published_fit(ratio):
    """Singhose, Seering and Singer (1996), fitted for 0 to 0.3 of damping and 0 to 15 %."""
    V, z = 0.05, ratio
    first = (
        0.24968 + 0.24962 * V + 0.80008 * z + 1.23328 * V * z + 0.49599 * z**2 + 3.17316 * V * z**2
    )
    last = (
        0.25149 + 0.21474 * V - 0.83249 * z + 1.41498 * V * z + 0.85181 * z**2 - 4.90094 * V * z**2
    )
    shaper = of_kind('ei', 1.0, ratio, V)
    # the printed accuracy of the fit is half a per cent
    assert shaper.amplitudes == pytest.approx([first, 1 - first - last, last], abs=5e-3)


@pytest.mark.parametrize(
    'kind, ratio, tolerance',
    [*itertools.product(EXTRA_INSENSITIVE, (0.0, 0.02, 0.2), (0.01, 0.05, 0.1))],
)
def test_extra_insensitive_shaper_keeps_its_tolerance_on_its_band(kind, ratio, tolerance):
    shaper, humps = of_kind(kind, 2.0, ratio, tolerance), EXTRA_INSENSITIVE[kind].humps
    _, _, still, tops = _features(shaper, ratio)
    assert len(still) == humps + 1  # zeros, one more than the humps between them
    assert tops == pytest.approx([tolerance] * humps, abs=1e-6)  # of the grid


def _features(shaper, ratio, frequency=2.0):
    """Frequencies around the mode, their vibration, its zeros, and the humps between them."""
    grid = frequency * np.linspace(0.2, 1.8, 8001)
    values = np.array(shaper.vibration(grid, ratio))
    low = (values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])
    places = np.flatnonzero(low) + 1
    still = places[values[places] < 2e-3]
    # those nearest to the mode; the curve has others further away
    still = still[np.abs(grid[still] - frequency) < 0.75 * frequency]
    tops = [values[a:b].max() for a, b in zip(still, still[1:])]
    return grid, values, grid[still], tops


@pytest.mark.parametrize(
    'low, high, ratio, tolerance',
    [
        (0.7, 1.3, 0.0, 0.05),
        (2.0, 4.0, 0.01, 0.05),
        (0.5, 2.0, 0.0, 0.05),
        (4.9, 5.1, 0.02, 0.02),
        (1.0, 1.6, 0.1, 0.1),
    ],
)
def test_specified_insensitivity_keeps_its_band(low, high, ratio, tolerance):
    shaper = si([Band(low, high, ratio, tolerance)])
    # between the frequencies that constrain the solution
    worst = max(left_by(shaper, f, ratio) for f in np.linspace(low, high, 101))
    assert worst < tolerance + 1e-3
    assert shaper.amplitudes.min() > 0.0
    assert shaper.amplitudes.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize('kind', EXTRA_INSENSITIVE)
def test_specified_insensitivity_on_the_band_of_ei_is_no_longer_than_ei(kind):
    known = of_kind(kind, 1.0)
    half = known.insensitivity(1.0) / 2
    found = si([Band(1.0 - half, 1.0 + half)])
    assert found.duration <= known.duration * (1 + 1e-2)  # the band is sampled on a grid


@pytest.mark.parametrize(
    'modes',
    [
        [(1.0, 0.0), (2.0, 0.0)],
        [(1.0, 0.0), (1.1, 0.0)],
        [(1.0, 0.01), (3.3, 0.02)],
        [(2.7, 0.006), (2.9, 0.007), (11.3, 0.016), (13.2, 0.024)],
    ],
)
def test_joint_solution_is_exact_for_all_modes_and_no_longer_than_the_product(modes):
    joint, product = for_modes('zv', modes), for_modes('zv', modes, joint=False)
    for shaper in joint, product:
        assert max(left_by(shaper, *mode) for mode in modes) < 1e-10  # rounding
    assert joint.duration <= product.duration
    assert joint.amplitudes.min() > 0.0


def test_joint_solution_of_a_mode_and_its_octave_is_the_known_one():
    # three equal impulses a third of the slow period apart: the roots of 1 + z + z^2
    shaper = for_modes('zv', [(1.0, 0.0), (2.0, 0.0)])
    assert shaper.times == pytest.approx([0.0, 1 / 3, 2 / 3], abs=1e-6)  # of the optimiser
    assert shaper.amplitudes == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_joint_bands_are_kept_and_shorter_than_one_after_the_other():
    bands = [Band(0.9, 1.1, 0.01), Band(3.0, 4.0, 0.01)]
    joint = si(bands)
    product = convolved([si([band]) for band in bands])
    assert joint.duration <= product.duration
    for band in bands:
        assert (
            max(left_by(joint, f, band.ratio) for f in np.linspace(band.low, band.high, 60))
            < band.tolerance + 1e-3
        )


def test_convolution_multiplies_the_responses():
    one, two = of_kind('zv', 1.0, 0.1), of_kind('ei', 2.7)
    s = np.array([-0.3 + 2j, -1 + 9j])
    assert convolved([one, two]).response(s) == pytest.approx(one.response(s) * two.response(s))


@pytest.mark.parametrize(
    'call, message',
    [
        (
            lambda: of_kind('zv', 1.0, 1.0),
            'damping = 1.0 of a mode must be >= 0 and below 1: what is '
            'damped more does not vibrate and needs no shaper',
        ),
        (
            lambda: of_kind('ei', 1.0, 0.5),
            'an extra insensitive shaper takes damping up to 0.3, not 0.5: such a mode hardly '
            'vibrates. Take zv or zvd',
        ),
        (
            lambda: of_kind('ei2', 1.0, 0.3, 0.15),
            'no two-hump shaper leaves 0.15 of a mode damped by 0.3: take a smaller tolerance, or '
            'ei',
        ),
        (
            lambda: si([Band(2.0, 1.0)]),
            'a band from 2 to 1 Hz is none: give the lower frequency first',
        ),
        (
            lambda: si([Band(1.0, 2.0, tolerance=0.0)]),
            'no shaper leaves nothing over a whole band: give a tolerance above 0',
        ),
        (lambda: for_modes('zv', []), 'there is no mode to shape for'),
    ],
)
def test_what_is_no_shaper_is_refused(call, message):
    with pytest.raises(SettingError) as caught:
        call()
    assert str(caught.value) == message
