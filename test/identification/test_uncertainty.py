"""Standard deviations of a fit with coloured residuals, against fits of many noise samples."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.signal import butter, lfilter, sosfilt
from scipy.stats import binom

from flex_robot_sim.identification.fit import Fit
from flex_robot_sim.identification.low_pass import Filter
from flex_robot_sim.identification.noise import noise_floor, without_spikes
from flex_robot_sim.identification.uncertainty import block_edges, trading, uncertainty
from flex_robot_sim.identification.validation import explainable, explained

pytestmark = pytest.mark.slow

ROWS, TRIALS = 3000, 400


def fits(colour, seed=3):
    """Yield (error, Uncertainty) of straight-line fits with noise of one colour."""
    random = np.random.default_rng(seed)
    t = np.linspace(0, 1, ROWS)
    J = np.column_stack([np.sin(40 * t), np.cos(40 * t), t - 0.5])[:, None, :]
    for _ in range(TRIALS):
        noise = lfilter([1.0], [1.0, -colour], random.normal(size=ROWS))
        z = -np.linalg.lstsq(J[:, 0], noise, rcond=None)[0]
        residuals = noise[:, None] + J @ z
        yield z, uncertainty(Fit(z, residuals, J, np.ones((ROWS, 1)), np.ones(1), 0.0, 0), [ROWS])


@pytest.mark.parametrize('colour', [0.0, 0.95])
def test_intervals_contain_the_truth_for_any_colour_of_residuals(colour):
    held = np.array([np.abs(z) <= spread.factor * spread.deviations for z, spread in fits(colour)])
    # of 400 trials; two per cent less because the 12 blocks are few and not quite independent
    low, high = binom.ppf([1e-3, 1 - 1e-3], TRIALS, 0.95) / TRIALS
    share = held.mean(axis=0)
    assert (share > low - 0.02).all() and (share < high + 0.02).all(), share


def test_deviations_for_white_residuals_would_be_too_small():
    z, spreads = zip(*fits(0.95))
    true = np.std(z, axis=0)
    J = np.linspace(0, 1, ROWS) - 0.5
    white = 1 / np.sqrt(1 - 0.95**2) / np.sqrt((J**2).sum())
    assert white < 0.25 * true[2]  # (1 - c) / (1 + c) of the variance is white
    assert np.mean([one.deviations[2] for one in spreads]) == pytest.approx(true[2], rel=0.15)


def test_deviations_agree_with_a_block_bootstrap():
    random, variances = np.random.default_rng(5), []
    for k, (_, spread) in enumerate(fits(0.9, seed=11)):
        if k == 12:
            break
        t = np.linspace(0, 1, ROWS)
        J = np.column_stack([np.sin(40 * t), np.cos(40 * t), t - 0.5])
        # the residuals of this fit, resampled in blocks longer than their correlation
        noise = lfilter([1.0], [1.0, -0.9], np.random.default_rng([11, k]).normal(size=ROWS))
        left = noise - J @ np.linalg.lstsq(J, noise, rcond=None)[0]
        found = []
        for _ in range(150):
            begins = random.integers(0, ROWS - 150, ROWS // 150)
            drawn = np.concatenate([left[b : b + 150] for b in begins])
            found.append(np.linalg.lstsq(J, drawn, rcond=None)[0])
        variances.append((np.var(found, axis=0), spread.deviations**2))
    # 12 blocks determine a standard deviation to a quarter, twelve fits to 7 %. The slow column
    # spans all blocks, whose sums are not quite independent
    drawn, stated = np.sqrt(np.mean(variances, axis=0))
    assert drawn / stated == pytest.approx(1.0, abs=0.2)


def test_mean_variance_is_that_of_autoregressive_noise():
    # cov z = J^+ C J^+^T; C has c^|i - k| / (1 - c^2)
    colour, t = 0.9, np.linspace(0, 1, ROWS)
    inverse = np.linalg.pinv(np.column_stack([np.sin(40 * t), np.cos(40 * t), t - 0.5]))
    coloured = toeplitz(colour ** np.arange(ROWS)) / (1 - colour**2)
    true = np.diag(inverse @ coloured @ inverse.T)
    found = np.mean([spread.deviations**2 for _, spread in fits(colour)], axis=0)
    assert found == pytest.approx(true, rel=0.2)


def test_only_a_parameter_without_effect_is_unidentifiable():
    random = np.random.default_rng(0)
    J = random.normal(size=(500, 1, 3))
    J[:, :, 2] = 0.0
    spread = uncertainty(
        Fit(np.zeros(3), random.normal(size=(500, 1)), J, np.ones((500, 1)), np.ones(1), 0.0, 0),
        [500],
    )
    assert np.isinf(spread.deviations[2]) and np.isfinite(spread.deviations[:2]).all()


def test_two_parameters_with_the_same_effect_are_reported_as_trading():
    random = np.random.default_rng(0)
    J = random.normal(size=(500, 1, 3))
    J[:, :, 1] = -J[:, :, 0] + 0.01 * J[:, :, 1]
    spread = uncertainty(
        Fit(np.zeros(3), random.normal(size=(500, 1)), J, np.ones((500, 1)), np.ones(1), 0.0, 0),
        [500],
    )
    assert trading(spread.correlations, 0, 3) == 1
    assert trading(spread.correlations, 2, 3) is None


@pytest.mark.parametrize('apart, is_identifiable', [(0.02, True), (0.001, False)])
def test_two_parameters_are_separable_up_to_the_jacobian_accuracy(apart, is_identifiable):
    # columns of length one with an angle between them. The information on their difference is
    # (angle / 2)^2 of that on their sum; Jacobians by differences are accurate to a thousandth
    turns = np.linspace(0, 2 * np.pi, ROWS, endpoint=False)
    J = np.sqrt(2 / ROWS) * np.column_stack([np.cos(turns), np.cos(turns + apart)])[:, None, :]
    noise = np.random.default_rng(0).normal(size=ROWS)
    noise -= J[:, 0] @ np.linalg.lstsq(J[:, 0], noise, rcond=None)[0]
    spread = uncertainty(
        Fit(np.zeros(2), noise[:, None], J, np.ones((ROWS, 1)), np.ones(1), 0.0, 0), [ROWS]
    )
    if is_identifiable:  # white noise of variance one; 12 blocks determine it to a third
        assert spread.deviations == pytest.approx(2 * [1 / np.sin(apart)], rel=0.35)
    else:
        assert np.isinf(spread.deviations).all()


def test_blocks_cover_all_rows_once_and_stay_within_sequences():
    edges = block_edges([100, 37, 300], 24)
    assert [row for a, b in edges for row in range(a, b)] == list(range(437))
    assert all(not a < border < b for a, b in edges for border in (100, 137))


def test_explained_variance_is_one_minus_that_of_the_residuals():
    x = np.random.default_rng(1).normal(size=(1000, 1))
    assert explained(x, 0.5 * x)[0] == pytest.approx(0.75)
    assert explained(x, x + 3.0)[0] == pytest.approx(1.0)  # an offset is not variance


def vibrating_modes(random, rate, factor=1.0):
    """
    Return modes that vibrate after steps and follow a sweep, with a spring stiffer by a factor.

    Closed forms (t,): static bending falls with the factor, frequencies grow with its root.
    """
    t, out = np.arange(0, 8, 1 / rate), 0.0
    for k in range(random.integers(1, 4)):
        f, ratio = random.uniform(0.8, 0.08 * rate), random.uniform(0.002, 0.05)
        size, begin = random.uniform(0.3, 1.0) / (k + 1), random.uniform(0, 4)
        w, u = 2 * np.pi * f * np.sqrt(factor), np.maximum(t - begin, 0)
        out = out + size / factor * (np.exp(-ratio * w * u) * np.cos(w * u)) * (t > begin)
    return out


def test_a_right_model_passes_at_any_noise_and_a_wrong_one_fails_where_there_is_a_signal():
    seen = 0
    for case in range(300):
        random = np.random.default_rng(case)
        rate, shape = random.uniform(80, 600), [case, 1]
        signal = vibrating_modes(np.random.default_rng(shape), rate)
        wrong = vibrating_modes(np.random.default_rng(shape), rate, random.choice([0.8, 1.2]))
        size = signal.std() * 10 ** random.uniform(-3, 1.5)
        measured = signal + random.normal(0, size, signal.size)
        if case % 3 == 0:  # coarse counts act as noise, too
            measured = size * np.round(measured / size)
        last = 3 * signal.size // 4
        m, right, off = (x[last:, None] for x in (measured, signal, wrong))
        floor, whole = noise_floor([m]), measured.var() * np.ones(1)
        noise = floor.variance
        true_noise = size**2 * (1 + (case % 3 == 0) / 12)
        # a spectrum of some hundred samples determines its level to some tenths
        assert noise[0] == pytest.approx(true_noise, rel=0.5), case
        for model, is_right in ((right, True), (off, False)):
            share = explainable(
                (m - model).var(axis=0),
                m.var(axis=0),
                model.var(axis=0),
                noise,
                whole,
                floor.scatter,
            )
            if is_right:
                # coarse counts are not quite white
                least = 0.9 if case % 3 == 0 else 0.99
                assert share.explained[0] >= least or not share.is_seen[0], case
            elif right.var() > 2 * true_noise and right.var() > 1e-3 * whole[0]:
                seen += 1
                assert share.is_seen[0] and share.explained[0] < 0.99, case
    assert seen > 60  # the others have no visible residual


def test_a_missing_expected_motion_is_not_silence():
    random = np.random.default_rng(3)
    m, model = random.normal(size=(2000, 1)), 3 * np.sin(np.arange(2000) / 20)[:, None]
    share = explainable(
        (m - model).var(axis=0),
        m.var(axis=0),
        model.var(axis=0),
        noise_floor([m]).variance,
        np.ones(1),
        0.03,
    )
    assert share.is_seen[0] and share.explained[0] < 0
    share = explainable(
        m.var(axis=0), m.var(axis=0), np.zeros(1), noise_floor([m]).variance, np.ones(1), 0.03
    )
    assert not share.is_seen[0]


def test_vibration_is_not_noise():
    t = np.arange(3000) / 500
    vibration = sum(np.sin(2 * np.pi * f * t) for f in (2.0, 11.0, 37.0, 70.0, 130.0))
    noise = np.random.default_rng(0).normal(0, 1e-2, t.size)
    assert np.sqrt(noise_floor([(vibration + noise)[:, None]]).variance[0]) == pytest.approx(
        1e-2, rel=0.2
    )


@pytest.mark.parametrize('corner', [0.24, 0.06])  # over the rate of samples
def test_noise_after_a_low_pass_counts_over_its_whole_band(corner):
    random, t = np.random.default_rng(3), np.arange(6000)
    # as with an analog low-pass: sampled eight times as often
    noise = sosfilt(butter(2, corner / 8, fs=1, output='sos'), random.normal(size=8 * t.size))
    seen = noise[::8] + 0.2 * np.sin(2 * np.pi * 0.02 * t)
    known = Filter(corner)
    found = noise_floor(
        [seen[:, None]], lambda frequency: known.passes(frequency)[:, None]
    ).variance
    # aliasing, and a spectrum of 37 segments
    assert found[0] == pytest.approx(noise.var(), rel=0.2)
    assert noise_floor([seen[:, None]]).variance[0] < 0.6 * noise.var()  # too low for white noise


def test_a_vibration_on_the_slope_of_a_low_pass_is_not_noise():
    random, t = np.random.default_rng(3), np.arange(3000)
    corner, vibration = 0.06, np.sin(2 * np.pi * 0.075 * t)
    seen = (vibration + random.normal(0, 0.01, t.size))[:, None]
    passes = Filter(corner).passes
    floor = noise_floor([seen], lambda frequency: passes(frequency)[:, None], 0.075)
    assert floor.variance[0] == pytest.approx(1e-4, rel=0.3) and not floor.is_complete[0]


def test_spikes_are_replaced_and_vibration_is_not():
    random, t = np.random.default_rng(4), np.arange(3000)
    clean = (np.exp(-t / 800) * np.sin(0.25 * t) + random.normal(0, 0.01, t.size))[:, None]
    is_spike = random.random(t.size) < 0.01
    seen = clean.copy()
    seen[is_spike, 0] += 0.2 * random.choice([-1, 1], is_spike.sum())
    error = without_spikes(seen) - clean
    assert np.abs(error).max() < 0.06 and np.abs(error[is_spike]).max() > 0.0
    assert np.abs(without_spikes(clean) - clean).max() < 0.06
