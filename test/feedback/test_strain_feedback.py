"""
Damping by flex sensors, against independently assembled loops, and on arms that are pushed.

The eigenvalues come from transfer functions in continuous time with a Pade delay, independent of
the sampled design. The pushes act on the nonlinear simulation.
"""

import numpy as np
import pytest
from arms import joint, link, robot
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.feedback.damping_channels import MEAN_RATE_SHARE, closed_rates
from flex_robot_sim.feedback.damping_search import KINDS
from flex_robot_sim.feedback.modal_damping import design_damping
from flex_robot_sim.feedback.pose_model import pose_model
from flex_robot_sim.feedback.simulated_sensors import sensor_feedback
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.simulation.rollout import ControlLoop, rollout
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

LOOP = LoopTiming(1e-3, 1e-3)
STIFFNESS, DAMPING = (np.array([60.0]), np.array([0.18]))  # first mode: 0.5 % damping
SERVO = STIFFNESS, DAMPING
FINE = frs.SimulationSettings(scheme='rk4', time_step=1.25e-4)
PUSHED = 0.05  # how long                       [s]


@pytest.fixture(scope='module')
def arm():
    return frs.load('single_link')


@pytest.fixture(scope='module')
def designs(arm):
    return {
        kind: design_damping(arm, [0.0], gains=SERVO, kind=kind, **LOOP._asdict())
        for kind in KINDS
    }


def pade(delay, order=4):
    """Numerator and denominator of exp(-s delay)."""
    c = np.ones(order + 1)
    for k in range(order):
        c[k + 1] = c[k] * (order - k) / ((2 * order - k) * (k + 1))
    powers = (delay ** np.arange(order + 1)) * c
    signs = (-1.0) ** np.arange(order + 1)
    return (powers * signs)[::-1], powers[::-1]


def continuous_rates(arm, gauges, design):
    """Roots of the loop as polynomials in s, with all efforts delayed by 1.5 periods."""
    model = frs.linearise(arm, [0.0])
    n = arm.size
    sensors = [np.concatenate([row, np.zeros(n)]) for row in gauges]
    denominator = np.poly(model.A)

    def numerator(row):
        b = model.B[:, 0]
        return np.poly(model.A - np.outer(b, row)) - denominator

    late = pade(1.5 * LOOP.period)  # half a period for the hold
    total = np.polymul(denominator, late[1])
    servo = np.polymul(np.array([DAMPING[0], STIFFNESS[0]]), numerator(np.eye(2 * n)[0]))
    total = np.polyadd(total, np.polymul(servo, late[0]))
    if design is None:
        return np.roots(total)
    assert len(design.channels) == 1
    (channel,) = design.channels
    mean, r, z = MEAN_RATE_SHARE * channel.rate, channel.filter_rate, channel.filter_ratio
    g, h = channel.gains
    sensed = (
        sum(w * numerator(row) for w, row in zip(channel.sensor_weights, sensors))
        * channel.drive_weights[0]
    )
    # s / (s + mean) r^2 (g + h s) / (s^2 + 2 z r s + r^2)
    top = r * r * np.polymul([1.0, 0.0], [h, g])
    bottom = np.polymul([1.0, mean], [1.0, 2 * z * r, r * r])
    # the sampled filter includes the newest sample, half a period early
    early = pade(0.5 * LOOP.period)
    total = np.polymul(np.polymul(total, bottom), early[0])
    sensed = np.polymul(np.polymul(np.polymul(sensed, top), late[0]), early[1])
    return np.roots(np.polysub(total, sensed))


def oscillating(rates, highest=400.0):
    """Frequencies and damping ratios of the oscillating modes, by frequency."""
    rates = rates[(rates.imag > 1e-6) & (np.abs(rates) < highest)]
    ratios = -rates.real / np.abs(rates)
    rates, ratios = rates[ratios < 0.95], ratios[ratios < 0.95]
    order = np.argsort(np.abs(rates))
    return np.abs(rates[order]), ratios[order]


@pytest.mark.parametrize('kind', [None, *KINDS])
def test_design_and_polynomials_agree_about_every_mode(arm, designs, kind):
    design = designs[kind] if kind else None
    gauges = pose_model(arm, [0.0]).gauges
    reference = oscillating(continuous_rates(arm, gauges, design))
    own = oscillating(design.poles_after if kind else designs['ppf'].poles_before)
    assert len(reference[0]) == len(own[0])
    # half a period of delay equals the hold to second order in rate times period
    np.testing.assert_allclose(own[0], reference[0], rtol=0.02)
    np.testing.assert_allclose(own[1], reference[1], rtol=0.1, atol=2e-3)


@pytest.mark.parametrize('kind', KINDS)
def test_first_mode_gains_damping_and_no_other_loses_any(designs, kind):
    design = designs[kind]
    before, after = oscillating(design.poles_before), oscillating(design.poles_after)
    assert design.warning == ''
    assert before[1][0] < 0.01
    # the mode and its filter come first, then the others as before
    extra = len(after[0]) - len(before[0])
    assert extra in (0, 1)
    assert (after[1][: 1 + extra] >= 0.39).all()
    assert (after[1][1 + extra :] >= before[1][1:]).all()


@pytest.fixture(scope='module')
def two_links():
    """Arm, pose, and gains of the servo."""
    return frs.load('two_link'), [0.0, 0.5, -0.5], (np.full(3, 20.0), np.full(3, 0.3))


@pytest.fixture(scope='module')
def undamped(two_links):
    """Decay rates of its motion without a design."""
    return rates_of_motion(*two_links)


@pytest.fixture(scope='module', params=KINDS)
def of_two_links(request, two_links):
    """Arm, pose, gains of the servo, and a design."""
    arm, pose, servo = two_links
    return (
        arm,
        pose,
        servo,
        design_damping(arm, pose, gains=servo, kind=request.param, **LOOP._asdict()),
    )


@pytest.mark.long(after=1)
def test_design_says_what_another_mode_of_two_links_loses(of_two_links):
    arm, pose, servo, design = of_two_links
    rates = closed_rates(pose_model(arm, pose), LOOP, servo[0], servo[1], design.channels)
    before, after = oscillating(design.poles_before), oscillating(rates, 1e9)
    # every mode above the damped ones, with the nearest mode of the closed loop
    others = [k for k, rate in enumerate(before[0]) if rate > 2 * before[0][0]]
    assert len(others) > 3
    losses = [
        1 - after[1][np.abs(after[0] / before[0][k] - 1).argmin()] / before[1][k]
        for k in others
        if before[1][k] < 0.5
    ]
    assert max(losses) <= max(design.damping_loss, 1e-9) * (1 + 1e-6) + 1e-9
    assert (
        design.damping_loss < 5e-3
        or 'another mode loses' in design.warning
        or ('of critical' in design.warning)
    )


def rates_of_motion(arm, pose, servo, design=None):
    """Rates of an arm that vibrates a little, by linear prediction from its motion alone."""
    model, rng, motions = pose_model(arm, pose), np.random.default_rng(4), []
    for start in rng.normal(size=(5, 2, arm.size)):
        halves = []
        for size in (1e-5, -1e-5):  # quadratic terms cancel in their difference
            simulation = frs.Simulation(arm, FINE)
            simulation.set_state(q=model.rest + size * start[0], v=20.0 * size * start[1])
            law = StrainFeedback(arm, design) if design is not None else None
            if law is not None:
                law.start()

            def control(seen, law=law):
                effort = (
                    model.effort
                    - servo[0] * (seen.position - model.encoders_rest)
                    - servo[1] * seen.velocity
                )
                return (
                    effort
                    if law is None
                    else effort + law.update(seen.position, seen.velocity, seen.curvature)
                )

            log = rollout(
                simulation,
                duration=0.7,
                controller=sensor_feedback(arm, control),
                record=('q', 'v'),
                **LOOP._asdict(),
            )
            halves.append(np.hstack([log.q - model.rest, log.v / 30])[:-1] / size)
        motions.append(np.mean(halves, axis=0))
    # past samples include filters and delay: 24 samples determine the next 24
    past, future = (
        np.hstack(
            [
                np.vstack([rows[100 + k + late : len(rows) - 25 + k + late].T for k in range(24)])
                for rows in motions
            ]
        )
        for late in (0, 1)
    )
    U, size, V = np.linalg.svd(past, full_matrices=False)
    kept = size > 5e-8 * size[0]  # smaller ones are noise
    step = U[:, kept].T @ future @ (V[kept].T / size[kept])
    return np.log(np.linalg.eigvals(step).astype(complex)) / LOOP.period


@pytest.mark.long
def test_other_modes_of_two_links_in_motion_lose_no_more_than_the_design_says(
    of_two_links, undamped
):
    design = of_two_links[-1]
    before, after = undamped, rates_of_motion(*of_two_links)
    expected = design.poles_before[
        (design.poles_before.imag > 0) & (np.abs(design.poles_before) < 1600.0)
    ]
    ratios = -expected.real / np.abs(expected)
    others = expected[(ratios < 0.05) & (np.abs(expected) > 2 * np.abs(expected).min())]
    assert len(others) > 4
    for rate in others:
        here, then = (found[np.abs(found - rate).argmin()] for found in (before, after))
        # cubic terms, 1e-10 of the motion, change the rates by up to 1e-4; in the
        # least damped modes, with 0.7 %, they change the damping by 1 %
        assert abs(here - rate) < 5e-4 * abs(rate)
        assert then.real / abs(then) < (1 - design.damping_loss - 0.02) * here.real / abs(here)


def pushed(arm, law, force=0.2, seconds=2.0, more=None):
    """Distance of the tip from its rest during and after a push, and efforts."""
    simulation = frs.Simulation(arm)
    start, rows = simulation.pose('tool')[:3, 3], []

    def control(seen):
        effort = -STIFFNESS * seen.position - DAMPING * seen.velocity
        added = law.update(seen.position, seen.velocity, seen.curvature) if law else 0.0
        if more is not None:
            more(seen.time)
        rows.append(
            [
                seen.time,
                np.linalg.norm(simulation.pose('tool')[:3, 3] - start),
                float(np.sum(added)),
            ]
        )
        return effort + added

    loop = ControlLoop(simulation, sensor_feedback(arm, control), LOOP)
    simulation.push('tool', force=(0.0, force, 0.0))
    loop.advance(round(PUSHED / simulation.settings.time_step))
    simulation.push('tool')
    loop.advance(round((seconds - PUSHED) / simulation.settings.time_step))
    return np.array(rows).T


@pytest.mark.parametrize('kind', KINDS)
def test_after_a_push_the_tip_is_within_two_percent_in_two_periods(arm, designs, kind):
    period = 2 * np.pi / abs(designs[kind].poles_before[0])
    still = pushed(arm, None)
    assert still[1][still[0] > PUSHED + 2 * period].max() > 0.9 * still[1].max()
    law = StrainFeedback(arm, designs[kind])
    law.start()
    time, away, _ = pushed(arm, law)
    assert away[time > PUSHED + 2 * period].max() < 0.02 * away.max()
    assert not law.saturated.any()


def test_modes_that_the_design_does_not_know_do_not_ring_with_ppf(designs):
    # the gain of ppf falls with the square of the frequency, that of strain feedback linearly: it
    # needs a description that includes the modes below the frequency of its filter
    text = shipped_robots()['single_link'].read_text()
    richer = build_arm(frs.read_description(text.replace('bending_y="2"', 'bending_y="5"')))
    model = pose_model(richer, [0.0])
    before = oscillating(closed_rates(model, LOOP, STIFFNESS, DAMPING), np.inf)
    after = oscillating(
        closed_rates(model, LOOP, STIFFNESS, DAMPING, designs['ppf'].channels), np.inf
    )
    assert after[1].min() > 0.9 * min(before[1][1:].min(), 0.3)


@pytest.mark.parametrize('kind', KINDS)
def test_switching_makes_no_jump_even_while_the_arm_swings(arm, designs, kind):
    law = StrainFeedback(arm, designs[kind])

    def switch(now):
        if abs(now - 0.5) < 1e-6:
            law.start()
        if abs(now - 0.9) < 1e-6:
            law.stop()

    time, _, effort = pushed(arm, law, seconds=1.5, more=switch)
    assert (effort[time < 0.5] == 0.0).all() and np.abs(effort).max() > 0.02
    # the effort changes with the filter and the fade, at some tens per second; it does not jump
    assert np.abs(np.diff(effort)).max() < 0.04 * np.abs(effort).max()
    assert (effort[time > 1.3] == 0.0).all()


def test_efforts_keep_to_their_limit_and_nonsense_is_refused(arm, designs):
    law = StrainFeedback(arm, designs['strain'], limits=[0.01])
    law.start()
    _, _, effort = pushed(arm, law, seconds=0.6)
    assert np.abs(effort).max() == 0.01 and law.saturated[0] > 0
    before = law.update(None, None, np.zeros(2)).copy()
    assert (law.update(None, None, np.array([np.nan, 0.0])) == before).all()
    assert law.refused == 1


def test_damping_without_flex_sensors_is_refused_with_a_remedy():
    with pytest.raises(frs.SettingError) as caught:
        design_damping(frs.load('ella'), [0.0, 0.0, 0.0], gains=(1.0, 1.0))
    assert str(caught.value) == (
        'strain feedback needs flex sensors, and ella has none: give <flex_sensor> to a flexible '
        'link (there are: link_1, link_2), or take lqg, which does with encoders'
    )
    rigid = build_arm(frs.read_description(robot(joint(), link())))
    with pytest.raises(frs.SettingError, match=r'there are: none'):
        design_damping(rigid, [0.0], gains=(1.0, 1.0), kind='ppf')


@pytest.mark.parametrize(
    'line, change',
    {
        'q must be 1 finite numbers, in this order: motor': {'q': [np.nan]},
        "kind = 'pdf' must be one of strain, ppf": {'kind': 'pdf'},
        'damping_ratio = 1.0 must be between 0 and 1': {'damping_ratio': 1.0},
        'modes = 9 must be between 1 and 3': {'modes': 9},
        'the period of a loop = 0.0 must be > 0 and finite [s]': {'period': 0.0},
        'the delay of a loop = -1.0 must be >= 0 and at most 1000 of its periods of 0.001 s': {
            'delay': -1.0
        },
        'a period of 0.2 s is too long for a mode of 1.76 Hz: '
        'take four or more in one period of the mode': {'period': 0.2},
    }.items(),
)
def test_bad_numbers_end_in_a_line(arm, change, line):
    arguments = {'q': [0.0], 'gains': SERVO, **change}
    assert refusal(frs.SettingError, design_damping, arm, **arguments) == line
