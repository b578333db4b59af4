"""
Residual vibration of the tool after random moves of nonlinear arms, with and without shapers.

The velocity of a move is a trapezoid within the joint limits of the URDF. The drives follow it
exactly, or a servo moves them along it. Before the move the arm is at rest and sags under its
weight. The residual vibration is the largest distance of the tool from its rest position, within
the two longest periods after the end of the set points.
"""

from dataclasses import replace
from functools import cache

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import mode_table
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.model.payload import make_payload
from flex_robot_sim.shaping.impulses import NONE, of_kind
from flex_robot_sim.shaping.recommendation import DEFAULT_UNCERTAINTY, following, recommend
from flex_robot_sim.shaping.shaped_samples import shaped_samples
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of

SERVO = 8.0  # frequency that the gains of a servo are chosen for         [Hz]
SETTLING = 2.0  # settling time of the servo, before and after a move                       [s]
ROBOTS = 'two_link', 'ella', 'dual_screw_arm'
PAYLOADS = {'two_link': 0.3, 'ella': 2.1, 'dual_screw_arm': 0.0}  # in the URDF           [kg]
STIFFNESS = 0.2  # relative error of the stiffness
PERIOD = 1e-3
REACH, LONGEST = 1.5, 1.5  # of poses and of moves                                    [rad]
SPEED, RISE = 0.6, 4.0  # share of the velocity limit; acceleration over that limit  [-, 1/s]
STEPS = 4  # between two samples of the tool
DESIGNS = 'zv, one frequency', 'zv', 'ei', 'recommended'


@cache
def servo(name):
    """Gains (stiffness, damping) that a stiff servo of a robot has."""
    found = design_servo(frs.load(name), frequency=SERVO)
    return found.stiffness, found.damping


@cache
def recommended(name, is_varied=False, by_servo=False):
    """
    Choice for a robot by the rule of `flexsim shape`, and the payloads of its design.

    :param is_varied: whether the payload varies from none to that of the URDF.
    """
    arm, gains, payloads = frs.load(name), servo(name) if by_servo else None, (None,)
    uncertainty = DEFAULT_UNCERTAINTY
    if is_varied:
        uncertainty = 1 - np.sqrt(1 - STIFFNESS)
        arm, payloads = bare(name), loads(name)
    return recommend(arm, payloads=payloads, gains=gains, uncertainty=uncertainty).choice


def bare(name):
    """Robot without its payload."""
    return varied(frs.load(name), name, 1.0, 0.0)


def loads(name):
    """Payloads from none to that of the URDF, as `loaded` takes them."""
    return (('payload', 0.0), ('payload', PAYLOADS[name])) if PAYLOADS[name] else (None,)


@cache
def designs_for(name, by_servo, is_varied):
    """Shapers of a robot, {design: ShaperSpecification}."""
    arm, gains = frs.load(name), servo(name) if by_servo else None
    full = mode_table(arm, gains)
    zero_pose = np.zeros(len(arm.joint_names))
    first = float(full.pose_table(full.frequencies).at(zero_pose)[0])
    found = {'zv, one frequency': ShaperSpecification('zv', of_kind('zv', first, 0.005))}
    for kind in ('zv', 'ei'):
        found[kind] = ShaperSpecification(kind, NONE, full, tuple(stages_of(full, kind)))
    choice = recommended(name, is_varied, by_servo)
    if choice.follows:
        table, stages = full, stages_of(full, *choice.design)
        if is_varied:
            table, stages = following(bare(name), choice.design, loads(name), gains)
        found['recommended'] = ShaperSpecification(choice.name, NONE, table, tuple(stages))
    else:
        found['recommended'] = ShaperSpecification(choice.name, choice.shaper)
    return found


def shaped_by_library(specification, samples):
    """Shape set points (k, joints) until they have arrived."""
    if specification.stages:
        return specification.online(samples.shape[1], PERIOD).run(samples)
    return shaped_samples(specification.shaper, samples, PERIOD)


def varied(arm, name, stiffness, payload):
    """Arm with scaled stiffness and a share of its payload."""
    inertia = arm.arrays.inertia.copy()
    if payload < 1.0 and PAYLOADS[name]:
        left_out = make_payload(arm, 'payload', (1 - payload) * PAYLOADS[name])
        inertia[left_out.body] -= left_out.added
    return replace(
        arm,
        arrays=arm.arrays._replace(
            inertia=inertia,
            stiffness=stiffness * arm.arrays.stiffness,
            gear_stiffness=stiffness * arm.arrays.gear_stiffness,
        ),
    )


def residuals(
    count,
    is_varied=False,
    designs=DESIGNS,
    by_servo=False,
    seed=0,
    shaped_by=shaped_by_library,
    robots=ROBOTS,
):
    """
    Rows (robot, vibration of the unshaped move [m], {design: (share left, time added [s])}).

    :param shaped_by: shapes set points (k, joints) by a ShaperSpecification.
    """
    rng = np.random.default_rng(seed)
    rows: list[tuple] = []
    for k in range(count):
        name = robots[k % len(robots)]
        arm = frs.load(name) if k < len(robots) else rows[k % len(robots)][3]
        start, end = _poses(arm, rng)
        real = arm
        if is_varied:
            real = varied(arm, name, rng.uniform(1 - STIFFNESS, 1 + STIFFNESS), rng.uniform())
        samples = trapezoid(arm, start, end)
        window = 2 / frs.frequencies(real, end)[0]
        gains = servo(name) if by_servo else None
        unshaped = vibration(real, samples, window, gains)
        found = {}
        for design in designs:
            shaped = shaped_by(designs_for(name, by_servo, is_varied)[design], samples)
            found[design] = (
                vibration(real, shaped, window, gains) / unshaped,
                PERIOD * (len(shaped) - len(samples)),
            )
        rows.append((name, unshaped, found, arm))
    return rows


def summed(rows, design):
    """Median and worst share of the vibration that is left, and mean time added [s]."""
    left, added = np.array([found[design] for _, _, found, _ in rows]).T
    return {
        'median': float(np.median(left)),
        'p90': float(np.percentile(left, 90)),
        'worst': float(left.max()),
        'added': float(added.mean()),
    }


def _poses(arm, rng):
    lower, upper = np.maximum(arm.arrays.lower, -REACH), np.minimum(arm.arrays.upper, REACH)
    start, end = rng.uniform(lower, upper), rng.uniform(lower, upper)
    return start, start + (end - start) * min(1.0, LONGEST / np.abs(end - start).max())


def trapezoid(arm, start, end):
    """Set points (k, joints) of a move in which all joints keep step [rad]."""
    fastest = SPEED * np.array([arm.description.joint(name).velocity for name in arm.joint_names])
    way = np.abs(end - start)
    duration = max(
        np.where(
            way < fastest / RISE * fastest,
            2 * np.sqrt(way / (fastest * RISE)),
            way / fastest + 1 / RISE,
        )
    )
    count = int(np.ceil(duration / PERIOD))
    t, rise = np.arange(count + 1) / count, 1 / 3
    share = np.where(
        t < rise,
        t**2 / (2 * rise),
        np.where(t < 1 - rise, t - rise / 2, 1 - rise - (1 - t) ** 2 / (2 * rise)),
    ) / (1 - rise)
    samples = start + share[:, None] * (end - start)
    samples[-1] = end
    return samples


def vibration(arm, samples, window, gains=None):
    """Largest distance of the tool from its rest, after the set points (k, joints) [m]."""
    if gains is not None:
        return _vibration_by_servo(arm, samples, window, gains)
    simulation = frs.Simulation(arm)
    simulation.set_state(q=frs.equilibrium(arm, samples[0]).q)
    still = np.repeat(samples[-1:], int(window / PERIOD), axis=0)
    rates = np.gradient(samples, PERIOD, axis=0)
    rates[[0, -1]] = 0.0
    seen = simulation.follow(np.vstack([samples, still]), np.vstack([rates, 0 * still]))
    rest = frs.pose(arm, frs.equilibrium(arm, samples[-1]).q, link='tool')[:3, 3]
    return float(
        max(
            np.linalg.norm(frs.pose(arm, q, link='tool')[:3, 3] - rest)
            for q in seen[len(samples) :: STEPS]
        )
    )


def _vibration_by_servo(arm, samples, window, gains):
    """The same for drives moved by a servo; the rest position is that at the end."""
    simulation = frs.Simulation(arm)
    simulation.set_state(q=frs.equilibrium(arm, samples[0]).q)
    simulation.hold(samples[0], *gains)
    simulation.step(round(SETTLING / PERIOD))
    rates = np.gradient(samples, PERIOD, axis=0)
    rates[-1] = 0.0
    for sample, rate in zip(samples, rates):
        simulation.hold(sample, gains[0], gains[1], rate)
        simulation.step()
    places = []
    for _ in range(round((window + SETTLING) / (STEPS * PERIOD))):
        simulation.step(STEPS)
        places.append(simulation.pose('tool')[:3, 3])
    places = np.array(places)
    rest = places[-round(SETTLING / 2 / (STEPS * PERIOD)) :].mean(axis=0)
    return float(np.linalg.norm(places[: int(window / (STEPS * PERIOD))] - rest, axis=1).max())
