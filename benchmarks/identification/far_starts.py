"""
Fits of robots whose description is wrong by factors of up to two.

`python -m benchmarks.identify --only far_starts`

Random one-link arms are chains in MuJoCo. UR5 and Franka Research 3 are models with elastic joints
in MuJoCo.
"""

import numpy as np

from benchmarks.identification.bench_log import log_of, recorded
from benchmarks.identification.elastic_robot import QUANTITIES, ElasticRobot
from benchmarks.identification.mujoco_plant import MujocoPlant
from benchmarks.identification.parameter_errors import random_motion
from benchmarks.identification.planar_arm import Drive, Link, PlanarArm
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set

PIECES, SECONDS, DELAY = 12, 10.0, 4e-3
FACTORS = 1.5, 2.0  # least and largest factor, or one over it
ARMS, ROBOTS = 8, (('ur5', 0), ('ur5', 1), ('fr3', 0))  # cases
MAX_ERROR = 0.05  # of a value that a fit calls determined, or 2 half widths of its interval
FREE = [
    'link1.EIz',
    'link1.damping_time',
    'joint1.stiffness',
    'joint1.damping',
    'joint1.coulomb',
    'joint1.viscous',
    'joint1.creep_rate',
    'delay',
]


def random_factors(random, size=None):
    """Return factors by which a description is wrong."""
    return np.exp(random.choice([-1, 1], size) * random.uniform(*np.log(FACTORS), size))


def random_arm(random):
    """Return a PlanarArm of one link, and the gains of its servo."""
    length, density, tip = random.uniform((0.4, 0.2, 0.1), (1.0, 0.8, 1.0))
    rate = 2 * np.pi * random.uniform(3.0, 10.0)  # of the clamped link
    EI = rate**2 * (tip + 0.24 * density * length) * length**3 / 3
    inertia = tip * length**2 + density * length**3 / 3
    stiffness = (rate * random.uniform(1.0, 3.0)) ** 2 * inertia
    total = inertia * random.uniform(1.2, 2.0)  # with the rotor
    servo = 2 * np.pi * 2.0
    effort = random.uniform(0.4, 0.75) * total * servo**2
    coulomb = random.uniform(0.02, 0.06) * effort
    drive = Drive(
        rotor=total - inertia,
        stiffness=stiffness,
        damping=0.04 * np.sqrt(stiffness * inertia),
        coulomb=coulomb,
        viscous=random.uniform(0.25, 0.5) * coulomb,
        effort=effort,
    )
    link = Link(length, EI, density, 2 * random.uniform(0.003, 0.02) / rate, tip)
    gains = np.array([total * servo**2]), np.array([1.4 * total * servo])
    return PlanarArm((drive,), (link,), DELAY), gains


def wrong_arm(random, arm):
    """Return the PlanarArm with wrong values."""
    (drive,), (link,) = arm.drives, arm.links
    words = 'stiffness', 'damping', 'coulomb', 'viscous'
    off = {word: getattr(drive, word) * float(random_factors(random)) for word in words}
    EI, damping_time = (
        value * float(random_factors(random)) for value in (link.EI, link.damping_time)
    )
    return PlanarArm((drive._replace(**off),), (link._replace(EI=EI, damping_time=damping_time),))


def fitted_arm(seed):
    """Return the Identification of a random arm, and its true values by path."""
    random = np.random.default_rng([seed, 77])
    arm, gains = random_arm(random)
    plant = MujocoPlant(arm, 'creep', PIECES)
    times, columns = recorded(plant, random_motion(random, SECONDS), SECONDS, gains)
    log = log_of(times, columns, delay=DELAY, seed=seed, name=f'arm {seed}')
    model = wrong_arm(random, arm).model(pieces=PIECES, creep_rate=0.02)
    found = identify(Setup(model.description, make_data_set([log], model)), FREE)
    (drive,), (link,) = arm.drives, arm.links
    truth = {'link1.EIz': link.EI, 'link1.damping_time': link.damping_time, 'delay': DELAY}
    words = 'stiffness', 'damping', 'coulomb', 'viscous'
    return found, truth | {f'joint1.{word}': getattr(drive, word) for word in words}


def fitted_robot(name, seed):
    """Return the Identification of a robot with elastic joints, and its true values by path."""
    random = np.random.default_rng([seed, 99])
    robot = ElasticRobot(name, random)
    log = robot.recorded(random, SECONDS, f'{name} {seed}')
    size = len(robot.names)
    model = robot.described({word: random_factors(random, size) for word in QUANTITIES})
    found = identify(Setup(model.description, make_data_set([log], model)))
    return found, robot.truth


def row(found, truth):
    """Return the errors of a fit, and whether it is wrong without saying so."""
    errors: dict[str, float] = {}
    wrong = []
    for one in found.estimates:
        if one.path not in truth or not one.is_identifiable:
            continue
        true, word = truth[one.path], one.path.rpartition('.')[2]
        error, (low, high) = abs(one.value - true), one.interval
        errors[word] = max(errors.get(word, 0.0), error / true)
        if error > max(MAX_ERROR * true, high - low):
            wrong.append(one.path)
    return {
        'verdict': found.is_good,
        'largest errors': {word: float(f'{value:.2g}') for word, value in errors.items()},
        'not determined': sum(not one.is_identifiable for one in found.estimates),
        'silently wrong': wrong if found.is_good else [],
    }


def far_starts(quick=False, cases=ARMS):
    """Return a row for each case; less than all of the arms: no robots."""
    out = {f'arm {seed}': row(*fitted_arm(seed)) for seed in range(1 if quick else cases)}
    for name, seed in () if quick or cases < ARMS else ROBOTS:
        out[f'{name} {seed}'] = row(*fitted_robot(name, seed))
    return out
