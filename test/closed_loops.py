"""Random robots with closed loops, their motion, and the opening of a loop by poses alone."""

import numpy as np
from pinocchio_loops import pinocchio_loops
from random_arms import random_robot
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.util.share import shipped_robots

ROBOTS = {name: frs.read_description(name) for name in shipped_robots()}
LOOPS = [name for name, robot in ROBOTS.items() if robot.constraints]
MOVED = [name for name, robot in ROBOTS.items() if robot.base_motion]
TREES = [name for name in ROBOTS if name not in (*LOOPS, *MOVED)]
ONE_LOOP = ('revolute', 'spherical', 'universal', 'prismatic', 'distance')


def closed_robot(seed, kind='spherical', links=6, **options):
    """
    Return a random tree with one loop, closed at zero, as text.

    :param kind: type of the constraint; options are those of `random_robot`.
    """
    text = random_robot(seed, links, **options)
    arm, rng = frs.load(text), np.random.default_rng([seed, 7])
    q = np.zeros(arm.size)
    parent, child = _ends(arm, rng)
    beam = arm.description.link(child).beam
    if beam is None:
        offset = rng.uniform(-0.2, 0.2, 3)
        T = frs.pose(arm, q, link=child) @ _pose(offset)
    else:
        offset = beam.end
        T = frs.pose(arm, q, link=child, station='tip') @ _pose(np.zeros(3), beam.axes.T)
    T_parent = np.linalg.inv(frs.pose(arm, q, link=parent)) @ T
    axis, length = _unit(rng), 0.0
    if kind == 'distance':
        length = rng.uniform(0.2, 0.6)
        T_parent[:3, 3] += length * axis
    other = _unit(rng)
    across = np.cross(axis, other) / np.linalg.norm(np.cross(axis, other))
    constraint = constraint_text(
        'loop',
        kind,
        (parent, T_parent),
        (child, _pose(offset)),
        axis,
        across if kind == 'universal' else axis,
        length,
    )
    return text.replace('</robot>', f'{constraint}\n</robot>')


def moving_loop(seed, kind, step=1e-3, coupling='shortening', **options):
    """Return a Simulation of such a robot with random rates; step [s]."""
    arm = frs.load(closed_robot(seed, kind, **options), coupling=coupling)
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
    v = np.zeros(arm.size)
    arm.set_joints(v, np.random.default_rng([seed, 8]).normal(size=len(arm.joint_names)))
    simulation.set_state(v=v)
    return simulation


def without_loops(arm, coupling='shortening'):
    """Return the same arm without its constraints."""
    text, _, end = arm.description.text.partition('<constraint')
    return frs.load(text + end.rpartition('</constraint>')[2], coupling=coupling)


def energy_rise(simulation, steps):
    """Step without effort; return the largest rise of energy in a step, over 1 J and energy."""
    largest, last = -np.inf, sum(simulation.energy()[:3])
    scale = 1.0 + abs(last)
    for _ in range(steps):
        simulation.step()
        now = sum(simulation.energy()[:3])
        largest = max(largest, (now - last) / scale)
        last = now
    return largest


def opening_rates(simulation, name='loop', step=1e-6):
    """Rates of the residuals of a constraint, by differences of poses."""
    arm, q, v = simulation.arm, simulation.q, simulation.v
    after, before = (np.array(opening(arm, q + s * step * v, name)) for s in (1, -1))
    return (after - before) / (2 * step)


def pinocchio_accelerations(arm):
    """
    Return Pinocchio's accelerations of a rigid arm with fixed or spherical constraints.

    :returns: function of q and v in its order, and the rows of our joints in this order.
    """
    import pinocchio as pin

    theirs = pinocchio_loops(pin, arm)
    theirs.model.gravity.linear = -arm.arrays.base_acceleration[3:]

    def accelerate(q, v):
        effort = np.zeros(theirs.model.nv)
        loops = theirs.constraints, theirs.constraint_data, theirs.settings
        return pin.constraintDynamics(theirs.model, theirs.data, q, v, effort, *loops)

    return accelerate, theirs.order


def constraint_text(name, kind, parent, child, parent_axis=None, child_axis=None, length=0.0):
    """Return a <constraint>; parent and child: name of the link and pose (4, 4) of the frame."""
    size = f' length="{length!r}"' if kind == 'distance' else ''
    parts = [f'<constraint name="{name}" type="{kind}"{size}>']
    sides = ('parent', *parent, parent_axis), ('child', *child, child_axis)
    for side, link, T, axis in sides:
        rpy = Rotation.from_matrix(T[:3, :3]).as_euler('xyz')
        parts.append(f'<{side} link="{link}"/>')
        parts.append(f'<{side}_origin xyz="{_numbers(T[:3, 3])}" rpy="{_numbers(rpy)}"/>')
        if kind in ('revolute', 'universal') or (kind == 'prismatic' and side == 'parent'):
            parts.append(f'<{side}_axis xyz="{_numbers(axis)}"/>')
    return ''.join([*parts, '</constraint>'])


def opening(arm, q, name):
    """
    Return the residuals of a constraint from poses of links alone: translations and axes.

    Only for frames on rigid links and at tips of beams.
    """
    one = arm.closed_loops[name].constraint
    parent = _frame(arm, q, one.parent, one.parent_rotation, one.parent_position)
    child = _frame(arm, q, one.child, one.child_rotation, one.child_position)
    relative = np.linalg.inv(parent) @ child
    p, R = relative[:3, 3], relative[:3, :3]
    turned = Rotation.from_matrix(R).as_rotvec()
    a, b = one.parent_axis, R @ one.child_axis
    return {
        'fixed': lambda: [*p, *turned],
        'spherical': lambda: p,
        'universal': lambda: [*p, a @ b],
        'revolute': lambda: [*p, *np.cross(a, b)],
        'prismatic': lambda: [*np.cross(a, p), *turned],
        'distance': lambda: [np.linalg.norm(p) - one.length],
    }[one.kind]()


def _frame(arm, q, link, rotation, position):
    """Pose (4, 4) of a frame on a link, which a beam carries at its tip."""
    beam = arm.description.link(link).beam
    if beam is None:
        return frs.pose(arm, q, link=link) @ _pose(position, rotation)
    tip = frs.pose(arm, q, link=link, station='tip')
    return tip @ _pose(beam.axes.T @ (position - beam.end), beam.axes.T @ rotation)


def _ends(arm, rng):
    """Return a rigid link or the base, and another link that moves freely relative to it."""
    links, joints = arm.description.links, {one.child: one for one in arm.description.joints}
    paths: dict[str, frozenset[str]] = {}
    for link in links:
        joint = joints.get(link.name)
        above = paths[joint.parent] if joint else frozenset()
        paths[link.name] = above | {joint.name} if joint and joint.moves else above
    pairs = [
        (parent.name, child.name)
        for parent in links
        for child in links[1:]
        if parent.beam is None and parent is not child
    ]
    between = np.array([len(paths[one] ^ paths[other]) for one, other in pairs])
    return pairs[rng.choice(np.flatnonzero(between == between.max()))]


def _pose(p, R=None):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.eye(3) if R is None else R, p
    return T


def _unit(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def _numbers(values):
    return ' '.join(repr(float(value)) for value in values)
