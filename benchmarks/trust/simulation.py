"""Simulations of random trees: energy, and many arms at once compared with one by one."""

import numpy as np
from random_arms import random_robot

import flex_robot_sim as frs
from benchmarks.trust.check import Case, Check, different

EXPLICIT = ('rk4', 'semi_implicit_euler', 'forward_euler')


def _stored(simulation):
    """Return kinetic and potential energy [J]."""
    return sum(simulation.energy()[:3])


def _random_tree(rng, seed, damping, stops=True):
    text = random_robot(seed, int(rng.integers(1, 7)), damping=damping)
    if stops:  # near, so that joints hit them
        text = text.replace('lower="-20" upper="20"', 'lower="-0.3" upper="0.4"')
    return frs.load(text)


def _energy_never_rises(seed):
    """Release a tree at up to 30 rad/s, at steps of 0.3 to 20 ms."""
    rng = np.random.default_rng(seed)
    arm = _random_tree(rng, seed, damping=bool(rng.integers(2)))
    step = 10.0 ** rng.uniform(-3.5, -1.7)
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
    simulation.set_state(v=rng.normal(size=len(arm.joint_names)) * 10.0 ** rng.uniform(-1, 1.5))
    last = _stored(simulation)
    scale, rise, steps = 1.0 + abs(last), 0.0, 150
    for _ in range(steps):
        simulation.step()
        now = _stored(simulation)
        rise, last = max(rise, (now - last) / scale), now
    return Case(rise, {'trees': 1, 'steps': steps})


def _energy_balance(seed):
    """Drive a tree by strong, jumping efforts: work less dissipated energy stays in the arm."""
    rng = np.random.default_rng(seed)
    simulation = frs.Simulation(_random_tree(rng, seed, bool(rng.integers(2)), stops=False))
    joints = len(simulation.effort)
    strength = 30 * rng.uniform(-1, 1, joints) * 10.0 ** rng.uniform(-1, 0)
    rate, phase = rng.uniform(1, 20, joints), rng.uniform(0, 6, joints)
    work, steps = [0.0], 300
    for _ in range(steps // 10):
        simulation.effort = strength * np.sign(np.sin(rate * simulation.time + phase))
        simulation.step(10)
        work.append(simulation.energy().work)
    energy = simulation.energy()
    through = np.abs(np.diff(work)).sum() + energy.dissipated
    # an arm that sticks has only rounding
    return Case(abs(energy.balance) / (through + 1e-5), {'trees': 1, 'steps': steps})


def _gear_loop(seed):
    """Turn a gear with random springs that slip: the work of a cycle is the area of its loops."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    springs = rng.uniform(50.0, 500.0, count)
    slips = 10.0 ** rng.uniform(-3.5, -2.2, count)  # deflections at which they slip [rad]
    builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, inertia=[1e-3] * 3)
    # a stiff spring holds the link, so that the gear twists by nearly the motion of its motor
    builder.add_joint('hinge', parent='base', child='arm', spring_stiffness=1e5)
    builder.add_gear(
        'hinge', rotor_inertia=0.1, stiffness=1e3, slip=np.transpose([springs, springs * slips])
    )
    simulation = frs.Simulation(builder.build())
    rate, amplitude = 2 * np.pi * 0.5, rng.uniform(2e-3, 1e-2)
    simulation.prescribe(
        'hinge', lambda t: (amplitude * np.sin(rate * t), amplitude * rate * np.cos(rate * t))
    )
    steps, twists = 2000, []
    simulation.step(steps)
    before = simulation.energy().work
    for _ in range(steps):
        simulation.step()
        twists.append(np.ptp(simulation.q))
    reached = max(twists)
    area = 4 * (springs * slips * np.maximum(reached - slips, 0.0)).sum()
    largest = 0.5 * (1e3 + springs.sum()) * reached**2
    return Case(
        abs(simulation.energy().work - before - area) / max(area, 0.01 * largest),
        {'cycles': 1, 'springs': count},
    )


def _explicit_energy(seed):
    """Release a damped tree without stops; explicit schemes take half of their longest step."""
    rng = np.random.default_rng(seed)
    arm = _random_tree(rng, seed, damping=True, stops=False)
    scheme = EXPLICIT[seed % len(EXPLICIT)]
    step = 1e-2
    while True:
        try:
            settings = frs.SimulationSettings(time_step=step, scheme=scheme)
            simulation = frs.Simulation(arm, settings)
            break
        except frs.SettingError:
            step /= 2
    simulation.set_state(v=rng.normal(size=len(arm.joint_names)))
    first, steps = _stored(simulation), 1000
    largest = first
    for _ in range(steps // 10):
        simulation.step(10)
        largest = max(largest, _stored(simulation))
    return Case((largest - first) / (1.0 + abs(first)), {'trees': 1, 'steps': steps})


def _batch(seed):
    """Count the numbers in which members of a batch differ from single simulations."""
    rng, count, steps = np.random.default_rng(seed), 4, 50
    arm = _random_tree(rng, seed, bool(rng.integers(2)))
    joints = len(arm.joint_names)
    link = str(rng.choice([name for name, frame in arm.frames.items() if frame.body >= 0]))
    effort, target, force = (rng.normal(size=(count, k)) for k in (joints, joints, 3))
    batch = frs.Batch(arm, count, threads=1 + seed % 3)
    batch.effort[:] = effort
    batch.hold(target[:2], 30.0, 2.0, members=slice(0, 2))
    batch.push(link, force, follows=True)
    batch.step(steps)
    wrong = 0
    for k in range(count):
        single = frs.Simulation(arm)
        single.effort = effort[k]
        if k < 2:
            single.hold(target[k], 30.0, 2.0)
        single.push(link, force[k], follows=True)
        single.step(steps)
        wrong += different(batch.q[k], single.q) + different(batch.v[k], single.v)
    return Case(wrong, {'trees': 1, 'members': count, 'steps': count * steps})


CHECKS = {
    'energy_never_rises': Check(
        'rise of the energy of a released arm in a step of 0.3 to 20 ms, over the energy',
        1e-10, 400, 5, _energy_never_rises,
    ),
    'energy_explicit': Check(
        'rise of the energy of a released damped arm, explicit schemes at permitted steps',
        1e-3, 60, 2, _explicit_energy,
    ),
    'energy_balance': Check(
        'work less dissipated and stored energy under jumping efforts, over the energy flow',
        1e-4, 200, 3, _energy_balance,
    ),
    'gear_loops': Check(
        'work of a gear with random springs that slip in a cycle, areas of the loops',
        1e-4, 200, 3, _gear_loop,
    ),
    'batch_and_single': Check(
        'numbers in which members of a batch and single simulations differ',
        0.0, 100, 3, _batch,
    ),
}  # fmt: skip
