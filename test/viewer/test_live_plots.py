"""Data of the live plots: histories, spectra, tips, and the largest push of a page."""

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot

from flex_robot_sim import load
from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.viewer.arm_picture import straight_links
from flex_robot_sim.viewer.history import History
from flex_robot_sim.viewer.live_plots import LivePlots, spectrum, with_comb
from flex_robot_sim.viewer.observed import ObservedArm, Tips
from flex_robot_sim.viewer.pushing import PUSH_DIRECTIONS, compliance, largest_push

pytestmark = pytest.mark.slow

TOOL = joint('end', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>'), '<link name="tool"/>'


def cantilever(more=''):
    """Return a beam of 1 m with EIy = 20 and EIz = 30 N m2 and a tool at its end."""
    return load(robot(link(), joint(), *TOOL, flexibility(beam(), more)), gravity=(0.0, 0.0, 0.0))


def test_a_history_keeps_the_last_seconds_in_bounded_memory():
    history = History(1, 2.0, 10.0)
    for k in range(1000):
        history.add(0.1 * k, [k])
        times, rows = history.last()
        expected = [j for j in range(k + 1) if 0.1 * j >= 0.1 * k - 2.0]
        assert rows[:, 0].tolist() == expected
        assert np.array_equal(times, 0.1 * np.array(expected))
    times, rows = history.last(1.05, 4)
    assert rows[:, 0].tolist() == [990, 993, 996, 999]


def test_a_time_jump_back_restarts_the_history_and_a_repeated_time_is_ignored():
    history = History(2, 5.0, 10.0)
    assert history.newest == -np.inf and len(history.last()[0]) == 0
    for time in (3.0, 4.0, 4.0, 1.0, 1.5):
        history.add(time, [time, -time])
    times, rows = history.last()
    assert times.tolist() == [1.0, 1.5] and rows.tolist() == [[1.0, -1.0], [1.5, -1.5]]


def test_a_sine_is_a_peak_of_its_amplitude_at_its_frequency():
    rng = np.random.default_rng(1)
    times = np.arange(1000) / 100.0 + rng.uniform(-1e-3, 1e-3, 1000)
    values = np.column_stack(
        [0.7 + 0.02 * np.sin(2 * np.pi * 2.0 * times), 0.005 * np.cos(2 * np.pi * 11.0 * times)]
    )
    frequencies, amplitudes = spectrum(times, values)
    for column, frequency, size in ((0, 2.0, 0.02), (1, 11.0, 0.005)):
        peak = amplitudes[:, column].argmax()
        # a line of 10 s is 0.1 Hz wide; between lines, the Hann window loses 1.4 dB, and
        # linear interpolation reduces the peaks of the faster one by up to 6 %
        assert frequencies[peak] == pytest.approx(frequency, abs=0.06)
        assert 0.8 * size < amplitudes[peak, column] < 1.01 * size
    # constants have no spectrum
    assert amplitudes[:2].max() < 1e-3


@pytest.mark.parametrize(
    'times', [np.arange(10) / 100.0, np.append(np.arange(100), np.arange(120, 200)) / 100.0]
)
def test_too_few_samples_or_a_gap_have_no_spectrum(times):
    frequencies, amplitudes = spectrum(times, np.sin(times)[:, None])
    assert len(frequencies) == 0 and amplitudes.shape == (0, 1)


def test_predictions_are_spikes_at_their_frequencies():
    frequencies, amplitudes = np.arange(50) / 5.0, np.linspace(1.0, 2.0, 50)[:, None]
    x, y = with_comb(frequencies, amplitudes, np.array([0.33, 4.0, 25.0]))
    assert np.all(np.diff(x) > 0.0) and y.shape == (len(x), 2)
    assert x[y[:, 1] > 0.0].tolist() == [0.33, 4.0]
    assert y[:, 0] == pytest.approx(np.interp(x, frequencies, amplitudes[:, 0]))


@pytest.mark.parametrize('name', ['two_link', 'single_link', 'rig', 'canadarm2'])
def test_linearised_tips_agree_for_small_deflections(name):
    arm = load(name)
    tips = Tips(arm)
    q = np.zeros(arm.size)
    q[len(arm.joint_names) + len(arm.motor_names) :] = 1e-5
    found = dict(zip(tips.names, tips.matrix @ q))
    for link_name in arm.tips:
        _, y, z, *_ = tip_deflection(arm, link_name, q)
        # the difference is of third order in 1e-5
        assert found.get(f'{link_name} y', 0.0) == pytest.approx(y, abs=1e-12)
        assert found.get(f'{link_name} z', 0.0) == pytest.approx(z, abs=1e-12)


def test_the_tip_compliance_is_L3_over_3EI():
    gives = compliance(cantilever(), 'tool')
    # EIz = 30 about z, EIy = 20 about y; EA = 1e6 along the axis is neglected
    assert gives == pytest.approx([0.0, 1 / (3 * 30), 1 / (3 * 20)], rel=1e-6, abs=1e-9)


def test_a_flexible_joint_adds_to_the_tip_compliance():
    gives = compliance(
        cantilever('<joint name="hinge" stiffness="50" rotor_inertia="0.1"/>'), 'tool'
    )
    assert gives[1] == pytest.approx(1 / (3 * 30) + 1.0**2 / 50, rel=1e-6)


def test_the_largest_push_bends_an_arm_by_a_few_percent():
    force, direction = largest_push(cantilever(), 'tool')
    assert direction == '-z' and PUSH_DIRECTIONS['-z'].tolist() == [0.0, 0.0, -1.0]
    # 1, 2 and 5 times powers of ten are within a factor of sqrt(2.5) of any value
    assert 0.05 / 1.6 < force / (3 * 20) < 0.05 * 1.6
    stiff = load(robot(link(), joint(), *TOOL))
    assert largest_push(stiff, 'tool')[0] == 10.0  # about half the weight of 2 kg


@pytest.mark.parametrize('name', ['two_link', 'rig', 'canadarm2'])
def test_rigid_links_reach_from_root_to_tip(name):
    arm = load(name)
    posture = Posture(arm)
    posture.take(np.zeros(arm.size))
    found: dict = {solid.link: [] for solid in straight_links(arm)}
    for solid in straight_links(arm):
        found[solid.link].append(solid.vertices)
    assert {*found} == {*arm.tips}
    for link_name, parts in found.items():
        description = arm.description.beam(link_name)
        along = np.concatenate(parts) @ description.axes[:, 0]
        assert [along.min(), along.max()] == pytest.approx([0.0, description.length], abs=1e-9)


class PlotRecorder:
    """Stores the last plotted data by title."""

    def __init__(self):
        self.plots = {}

    def plot(self, title, lines, height=0, note=''):
        """Return a function that stores abscissae and values, all finite numbers."""

        def change(x, values):
            assert np.isfinite(x).all() and np.isfinite(values).all()
            assert np.all(np.diff(x) >= 0.0) and values.shape == (len(x), len(lines))
            self.plots[title] = x, values

        return change


def test_plots_follow_an_arm_and_stop_while_it_is_paused():
    arm, paper = load('two_link'), PlotRecorder()
    plots, seen = LivePlots(paper, arm, 30.0, 10.0), ObservedArm(arm)
    plots.draw()
    first = len(arm.joint_names) + len(arm.motor_names)

    def live(begin, end, is_paused=False):
        for time in np.arange(begin, end, 1 / 30):
            seen.stamp = time
            seen.coordinates[0] = 0.1 * time
            for part in range(3):
                q = seen.coordinates.copy()
                q[first] = 1e-3 * np.sin(2 * np.pi * 3.0 * (time + part / 90))
                seen.flex_samples.append((time + part / 90, q))
            plots.add_observation(seen, is_paused)
            assert not seen.flex_samples

    live(0.0, 20.0)
    plots.draw()
    x, values = paper.plots['joints']
    # without a target, the plot shows the joint position
    assert x[0] >= -10.0 and x[-1] == 0.0
    assert values[:, 0] == pytest.approx(0.1 * (seen.stamp + x)) and (
        values[:, 3] == pytest.approx(values[:, 0])
    )
    frequencies, amplitudes = paper.plots['spectrum of the tips [mm]']
    # 8 s of samples resolve frequencies to an eighth of a hertz
    assert frequencies[amplitudes[:, 0].argmax()] == pytest.approx(3.0, abs=0.13)
    live(20.0, 25.0, is_paused=True)
    plots.draw()
    assert np.array_equal(paper.plots['joints'][1], values)
    live(25.0, 26.0)
    plots.draw()
    x, after = paper.plots['joints']
    # the history has no gap for the pause: one new second after the earlier samples
    assert after[-1, 0] == pytest.approx(2.6, abs=0.01)
    assert np.count_nonzero(after[:, 0] > 2.4) == pytest.approx(np.count_nonzero(x > -1.0), abs=2)


def test_predicted_frequencies_are_plotted_with_the_spectrum():
    arm, paper = load('single_link'), PlotRecorder()
    plots, seen = LivePlots(paper, arm, 30.0, 10.0), ObservedArm(arm)
    plots.predict(np.array([2.0, 7.0]))
    for time in np.arange(0.0, 10.0, 0.01):
        seen.stamp = time
        seen.flex_samples.append((time, np.full(arm.size, 1e-3 * np.sin(15.0 * time))))
        plots.add_observation(seen)
    plots.draw()
    frequencies, values = paper.plots['spectrum of the tips [mm]']
    assert frequencies[values[:, -1] > 0.0].tolist() == [2.0, 7.0] and frequencies[-1] <= 10.5


def test_flexible_joints_are_plotted_against_their_motors():
    arm = load(
        robot(
            link(),
            joint(),
            *TOOL,
            flexibility('<joint name="hinge" stiffness="50" rotor_inertia="0.1"/>'),
        )
    )
    paper, seen = PlotRecorder(), ObservedArm(arm)
    plots = LivePlots(paper, arm, 30.0, 10.0)
    for time in np.arange(0.0, 2.0, 1 / 30):
        seen.stamp, seen.coordinates[:] = time, (0.3, 0.3 - 0.004 * time)
        seen.effort[:] = 7.0
        plots.add_observation(seen)
    plots.draw()
    x, twist = paper.plots['joints against their motors']
    assert twist[:, 0] == pytest.approx(4.0 * (seen.stamp + x))  # mrad
    assert paper.plots['efforts'][1][:, 0] == pytest.approx(7.0)


def test_a_curved_link_that_does_not_bend_lies_on_its_circle():
    corners = np.concatenate(
        [one.vertices for one in straight_links(load('curved_arm')) if one.link == 'tube']
    )
    # a tube of 30 mm along a quarter circle of 0.5 m; its pieces are chords
    distance = np.abs(np.hypot(corners[:, 0], corners[:, 2] - 0.5) - 0.5)
    assert distance.max() < 0.017 and np.abs(corners[:, 1]).max() < 0.0151
