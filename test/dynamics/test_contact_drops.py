"""Random drops of many arms onto the ground, obstacles and their own links: energy never rises."""

from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from contact_arms import (
    block,
    capsule,
    grasping_satellite,
    pressing_beam,
    reaching_arm,
    slider,
    tumbling_box,
)
from public_robots import public_robot

import flex_robot_sim as frs

ARMS_PER_BATCH, DROPS_PER_ARM, STEPS = 20, 10, 300
TIME_STEPS = 5e-4, 1e-3, 2e-3  # [s]
ROUNDING = 1e-12  # of the energy: a gap is rounded by 1e-16 m at a force of 1e4 N
GRAVITY = 0.0, 0.0, -9.81


class Drop(NamedTuple):
    """A robot, and the range of its starts."""

    robot: object  # function of the attributes of its contacts
    low: tuple | None  # of the joints or of the position of a free base [rad, m]
    high: tuple
    rates: tuple  # standard deviations, of the joints or of the twist of a free base
    gravity: tuple = GRAVITY


DROPS = {
    'box in a plane': Drop(tumbling_box, (-0.3, 0.2, -3), (1.0, 0.5, 3), (2, 2, 10)),
    'ball': Drop(lambda law: slider(law, joints='xyz'), (-1, -1, 0.1), (1, 1, 0.4), (1, 1, 1)),
    'box': Drop(block, (-1, -1, 0.15), (1, 1, 0.4), (9, 9, 9, 1, 1, 1)),
    'capsule': Drop(capsule, (0, -0.2, 0.3), (0.4, 0.2, 0.5), (9, 9, 9, 1, 1, 1)),
    'flexible arm': Drop(reaching_arm, (-0.2, -1), (0.2, 1), (3, 3)),
    'flexible beam': Drop(pressing_beam, (), (), ()),
    'satellite': Drop(
        grasping_satellite, (1, 2, 2), (1, 2, 3), (0.2, 0.2, 0.2, 1, 1, 1), (0, 0, 0)
    ),
}


# of their wheel, each with a link that collides as boxes or cylinders
PUBLIC = {
    'UR10': ('ur_description/urdf/ur10_robot.urdf', 'ee_link'),
    'Z1': ('z1_description/urdf/z1.urdf', 'link04'),
    'Panda': ('panda_description/urdf/panda.urdf', 'panda_leftfinger'),
}


def public_arm(name, law):
    """Return the text of a public robot with flexible joints above the ground."""
    path, link = PUBLIC[name]
    text = public_robot(path).read_text('utf-8')
    joints = ''.join(
        f'<joint name="{joint.get("name")}" stiffness="5000" damping="2" rotor_inertia="1e-4" '
        'gear_ratio="50"/>'
        for joint in ElementTree.fromstring(text).iter('joint')
        if joint.get('type') in ('revolute', 'continuous')
    )
    contact = f'<contact name="tool" link="{link}" {law}/><ground height="-0.1"/>'
    flexibility = f'<flexibility>{joints}{contact}</flexibility>'
    return text.replace('</robot>', f'{flexibility}</robot>')


def random_law(rng):
    """Attributes of a contact: any of them may be absent."""
    values = {
        'friction': rng.choice([0.0, rng.uniform(0.05, 2.0)]),
        'stiffness': 10 ** rng.uniform(3, 7),
        'damping': 10 ** rng.uniform(0, 4),
    }
    return ' '.join(f'{name}="{x:.6g}"' for name, x in values.items() if rng.uniform() < 0.75)


def random_start(drop, arm, rng, size):
    """Arguments of `Batch.set_state` for `size` members."""
    low, high, deviations = drop.low, drop.high, drop.rates
    if low is None:  # anywhere within the limits of the joints
        low, high = (np.clip(one, -2.0, 2.0) for one in (arm.arrays.lower, arm.arrays.upper))
        deviations = np.ones(len(arm.joint_names))
    place = rng.uniform(low, high, (size, len(low)))
    rates = rng.normal(size=(size, len(deviations))) * deviations
    if not arm.has_free_base:
        return {'q': place, 'v': rates}
    turn = rng.normal(size=(size, 4))
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    return {'base_pose': np.hstack([place, turn]), 'base_twist': rates}


def largest_rise(drop, rng, arms):
    """Largest rise of energy in a step, over the largest energy of the drop."""
    arms = [frs.load(drop.robot(random_law(rng)), gravity=drop.gravity) for _ in range(arms)]
    arms = [arm for arm in arms for _ in range(DROPS_PER_ARM)]
    batch = frs.Batch(arms, settings=frs.SimulationSettings(time_step=rng.choice(TIME_STEPS)))
    batch.set_state(**random_start(drop, arms[0], rng, len(arms)))
    while (touching := np.flatnonzero(batch.energy().strain > 0.0)).size:
        start = random_start(drop, arms[0], rng, touching.size)
        batch.set_state(**start, members=touching)
    last, largest = energies(batch)
    rise = np.zeros(len(arms))
    for _ in range(STEPS):
        batch.step()
        present, scale = energies(batch)
        rise, largest = np.maximum(rise, present - last), np.maximum(largest, scale)
        last = present
    assert not batch.is_lost.any()
    return (rise / largest).max()


def energies(batch):
    """Energies of the members, and the sums of the sizes of their parts [J]."""
    energy = batch.energy()
    return (
        energy.kinetic + energy.strain + energy.gravity,
        energy.kinetic + energy.strain + abs(energy.gravity),
    )


@pytest.mark.parametrize('name', DROPS)
def test_energy_never_rises(name):
    assert largest_rise(DROPS[name], np.random.default_rng(1), 3) < ROUNDING


@pytest.mark.parametrize('name', PUBLIC)
def test_energy_never_rises_in_drops_of_a_public_arm(name):
    drop = Drop(lambda law: public_arm(name, law), None, None, None)
    assert largest_rise(drop, np.random.default_rng(3), 2) < ROUNDING


@pytest.mark.long
@pytest.mark.parametrize('name', DROPS)
def test_energy_never_rises_in_100_000_drops(name, capsys):
    rng, drops, rises = np.random.default_rng(2), 0, []
    while drops * len(DROPS) < 100_000:
        rises.append(largest_rise(DROPS[name], rng, ARMS_PER_BATCH))
        drops += ARMS_PER_BATCH * DROPS_PER_ARM
    with capsys.disabled():
        print(f'\n{name}: {drops} drops, largest rise {max(rises):.1e} of the energy')
    assert max(rises) < ROUNDING


def test_body_in_flight_keeps_its_momentum_and_gains_no_energy():
    text = block().replace('<mass value="2"/>', '<origin xyz="0.1 0.05 -0.02"/><mass value="2"/>')
    sim = frs.Simulation(frs.load(text, gravity=(0, 0, 0)))
    sim.set_state(base_pose=[0, 0, 9, 0, 0, 0, 1], base_twist=[1, 20, 1, 0.1, 0.2, 0.3])
    start, scale, last, centre = sim.momentum(), sim.energy().kinetic, 0.0, sim.centre_of_mass
    for _ in range(100):
        sim.step(10)
        balance = sim.energy().balance / scale
        assert balance < last + 5e-15  # rounding of ten steps; without the correction: 1e-13
        last = balance
    assert abs(sim.momentum() - start).max() < 1e-14
    assert sim.centre_of_mass == pytest.approx(centre + start[3:] / 2, rel=1e-12)
