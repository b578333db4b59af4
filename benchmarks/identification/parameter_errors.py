"""
Errors of fitted parameters over random motions and starts, for plants of five kinds.

The plants are one joint and one flexible link: MuJoCo with `frictionloss`, with friction that
creeps, with twenty slipping elements in gear and friction, with LuGre friction, and an arm of this
package with more modes.
"""

import numpy as np

from benchmarks.identification.bench_log import log_of, recorded
from benchmarks.identification.mujoco_plant import PRESLIDING, MujocoPlant
from benchmarks.identification.own_plant import OwnPlant
from benchmarks.identification.planar_arm import Drive, Link, PlanarArm
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set

PIECES = 12
SEEDS = 14
SECONDS = 12.0
GAINS = np.array([60.0]), np.array([4.0])  # of the servo [N m/rad], [N m s/rad]
LINK = Link(length=0.6, EI=20.0, density=0.3, damping_time=4e-4, tip_mass=0.25)
DRIVE = Drive(rotor=0.05, stiffness=400.0, damping=0.3, coulomb=0.3, viscous=0.2, effort=6.0)
DELAY = 4e-3  # [s]
TARGETS = {  # largest relative errors; of the delay [s]
    'link1.EIz': 0.01,
    'joint1.stiffness': 0.02,
    'joint1.coulomb': 0.03,
    'joint1.viscous': 0.03,
    'delay': 3e-4,
}
PLANTS = 'frictionloss', 'creep', 'slip', 'lugre', 'own'
CREEP_RATE = 0.01  # at the start of a fit [rad/s]


def true_arm(kind):
    """Return the PlanarArm of a kind of PLANTS."""
    return PlanarArm((DRIVE._replace(hysteresis=0.05 * (kind == 'slip')),), (LINK,), DELAY)


def make_plant(kind, arm):
    """Return a plant of a kind of PLANTS."""
    if kind == 'own':
        return OwnPlant(arm, PIECES, presliding=PRESLIDING)
    return MujocoPlant(arm, kind, PIECES)


def random_motion(random, seconds):
    """
    Return a function from time to positions and rates (1,): a sweep, or sines that turn slowly.

    Both turn back often, slow and fast, so that they determine friction.
    """
    if random.random() < 0.5:
        low, high = 0.2, random.uniform(4.0, 8.0)
        growth, size = np.log(high / low) / seconds, random.uniform(0.3, 0.5)

        def sweep(t):
            rate = 2 * np.pi * low * np.exp(growth * t)
            phase = (rate - 2 * np.pi * low) / growth
            amplitude = size * np.sqrt(low) / np.sqrt(rate / (2 * np.pi))
            return (
                np.array([amplitude * np.sin(phase)]),
                np.array([amplitude * (rate * np.cos(phase) - 0.5 * growth * np.sin(phase))]),
            )

        return sweep
    rates = 2 * np.pi * np.geomspace(0.1, 4.0, 8) * random.uniform(0.8, 1.2, 8)
    sizes = random.uniform(0.2, 0.35) * (rates / rates[0]) ** -0.5
    phases = random.uniform(0, 2 * np.pi, 8)

    def sines(t):
        grown = 1 - np.exp(-((t / 0.7) ** 3))
        slope = 3 * t**2 / 0.7**3 * np.exp(-((t / 0.7) ** 3))
        wave = (sizes * np.sin(rates * t + phases)).sum()
        change = (sizes * rates * np.cos(rates * t + phases)).sum()
        return np.array([grown * wave]), np.array([slope * wave + grown * change])

    return sines


def random_guess(random, arm):
    """Return a PlanarArm whose parameters are off as those of a data sheet."""

    def off(value, factor):
        return value * float(np.exp(random.uniform(-1, 1) * np.log(factor)))

    drives = tuple(
        drive._replace(
            stiffness=off(drive.stiffness, 1.3),
            damping=off(drive.damping, 3.0),
            coulomb=off(drive.coulomb, 3.0),
            viscous=off(drive.viscous, 2.0),
            hysteresis=0.02 if drive.hysteresis else 0.0,
        )
        for drive in arm.drives
    )
    links = tuple(
        link._replace(EI=off(link.EI, 1.25), damping_time=off(link.damping_time, 3.0))
        for link in arm.links
    )
    return PlanarArm(drives, links)


def fitted(kind, seed, seconds=SECONDS):
    """Return the Identification of one log, and the true values by path."""
    random, arm = np.random.default_rng([seed, 5]), true_arm(kind)
    plant = make_plant(kind, arm)
    times, columns = recorded(plant, random_motion(random, seconds), seconds, GAINS)
    log = log_of(times, columns, delay=DELAY, seed=seed, name=f'{kind} {seed}')
    has_slip, creeps = kind in ('slip', 'lugre', 'own'), kind == 'creep'
    model = random_guess(random, arm).model(
        pieces=PIECES,
        presliding=2 * PRESLIDING if has_slip else None,
        creep_rate=CREEP_RATE if creeps else None,
    )
    free = [*TARGETS, 'link1.damping_time', 'joint1.damping']
    free += ['joint1.creep_rate'] * creeps + ['joint1.presliding'] * has_slip
    free += ['joint1.hysteresis'] * (kind == 'slip')
    found = identify(Setup(model.description, make_data_set([log], model)), free)
    truth = {
        'link1.EIz': LINK.EI,
        'joint1.stiffness': DRIVE.stiffness,
        'joint1.coulomb': DRIVE.coulomb,
        'joint1.viscous': DRIVE.viscous,
        'delay': DELAY,
    }
    if kind == 'slip':  # both are secants of the loop at the amplitude of the log
        twist = np.percentile(np.abs(columns['twist/joint1']), 90)
        truth['joint1.stiffness'] = plant.secant_stiffness(twist)
    return found, truth


def errors_of(found, truth):
    """Return the relative errors by path, of the delay [s]; None: not identified."""
    out = {}
    for estimate in found.estimates:
        if estimate.path not in truth:
            continue
        true = truth[estimate.path]
        error = estimate.value - true if estimate.path == 'delay' else estimate.value / true - 1
        out[estimate.path] = error if estimate.is_identifiable else None
    return out


def parameter_errors(quick=False, seeds=SEEDS):
    """Return worst and median errors of each plant by parameter, and their targets."""
    out = {}
    for kind in PLANTS:
        rows = [
            errors_of(*fitted(kind, seed, 6.0 if quick else SECONDS))
            for seed in range(1 if quick else seeds)
        ]
        out[kind] = {
            path: {
                'worst': _rounded(max(abs(row[path]) for row in rows if row[path] is not None)),
                'median': _rounded(
                    np.median([abs(row[path]) for row in rows if row[path] is not None])
                ),
                'not identified': sum(row[path] is None for row in rows),
                'target': target,
            }
            for path, target in TARGETS.items()
        }
    return out


def _rounded(value):
    return float(f'{value:.3g}')
