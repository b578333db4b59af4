"""
Rigid loops: Pinocchio's constraint dynamics, and two problems of the IFToMM benchmark library.

A02 is a chain of two four-bars, whose links fall into line twice in a turn. A04 is the mechanism
of Bricard: six hinges whose constraints are redundant. Both start as the library has them
(lim.ii.udc.es/mbsbenchmark). Their known constant is the energy. In addition, A02 moves as a
pendulum, whose angle is an integral, and A04 as Pinocchio's constrained dynamics. The energy of
A02 is no proof of its motion: an arm that is stuck where its links are in line keeps it.
"""

import numpy as np
from arms import joint, link, robot
from closed_loops import constraint_text, moving_loop, pinocchio_accelerations
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from benchmarks.limits import Row
from flex_robot_sim.simulation import queries

LOOPS = 40  # random ones
END = 10.0  # [s]
STEP = 1e-3  # [s]
GRAVITY = 9.81
LIMIT = '<limit lower="-99" upper="99" effort="0" velocity="99"/>'


def rows(quick):
    """Yield the Rows of this module."""
    yield _accelerations(4 if quick else LOOPS)
    end = 0.2 if quick else END
    yield from _four_bars(end)
    yield from _bricard(end)


def _accelerations(count):
    error = 0.0
    for seed in range(count):
        kind = ('spherical', 'fixed')[seed % 2]
        simulation = moving_loop(
            seed, kind, kinds=('rigid',), gears=False, links=8, joints=('revolute', 'prismatic')
        )
        accelerate, order = pinocchio_accelerations(simulation.arm)
        theirs = accelerate(simulation.q[order], simulation.v[order])
        ours = queries.accelerations(simulation._simulated)[order]
        error = max(error, np.abs(ours - theirs).max() / np.abs(theirs).max())
    return Row(f'accelerations of {count} random rigid loops, Pinocchio', error, 1e-9, 'relative')


def four_bars():
    """Return the text of A02: three upright links of 1 m and 1 kg, and two across their tips."""
    parts, loops, thin = [], [], 1 / 12
    for k in range(3):
        parts += [
            link(f'up_{k}', 1.0, '0 0 0.5', (thin, thin, 0.0)),
            _hinge(f'root_{k}', 'base', f'up_{k}', (k, 0, 0), (0, 1, 0)),
        ]
    for k in range(2):
        parts += [
            link(f'across_{k}', 1.0, '0.5 0 0', (0.0, thin, thin)),
            _hinge(f'tip_{k}', f'up_{k}', f'across_{k}', (0, 0, 1), (0, 1, 0)),
        ]
        sides = (f'up_{k + 1}', _at(0, 0, 1)), (f'across_{k}', _at(1, 0, 0))
        loops.append(constraint_text(f'loop_{k}', 'spherical', *sides))
    return robot(*parts, *loops)


def bricard():
    """Return the text of A04: five rods of 1 m, 0.1 m wide; the last one is cut in its middle."""
    tips = (1, 0, 0), (0, 0, -1), (0, -1, 0), (-1, 0, 0), (0, 0, 0.5)
    axes = (0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0)
    parts, place, parent = [], (0, 0, 0), 'base'
    for k, (tip, axis) in enumerate(zip(tips, axes)):
        name = f'rod_{k}'
        parts += [_rod(name, tip), _hinge(f'hinge_{k}', parent, name, place, axis)]
        place, parent = tip, name
    parts += [
        _rod('rod_5', (0, 0, -0.5)),
        _hinge('hinge_5', 'base', 'rod_5', (0, -1, 0), (1, 0, 0)),
    ]
    loop = constraint_text('cut', 'fixed', ('rod_4', _at(0, 0, 0.5)), ('rod_5', _at(0, 0, -0.5)))
    return robot(*parts, loop)


def _rod(name, tip):
    """Rod of 1 kg/m from its hinge to `tip`, of 0.1 m square."""
    length = np.abs(tip).sum()
    about = np.where(np.array(tip) != 0, 0.1**2 / 6, (0.1**2 + length**2) / 12) * length
    centre = ' '.join(str(0.5 * x) for x in tip)
    return link(name, float(length), centre, tuple(map(float, about)))


def _hinge(name, parent, child, place, axis):
    place, axis = (' '.join(map(str, numbers)) for numbers in (place, axis))
    inside = f'<origin xyz="{place}"/><axis xyz="{axis}"/>{LIMIT}'
    return joint(name, 'revolute', parent, child, inside)


def _at(*p):
    T = np.eye(4)
    T[:3, 3] = p
    return T


def _run(text, v, end):
    """Return the arm, times, joint positions and the largest change of energy over its scale."""
    arm = frs.load(text)
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=STEP))
    simulation.set_state(v=v)
    samples = 50
    times, path, energies = [0.0], [simulation.position], [_energy(simulation)]
    for _ in range(samples):
        simulation.step(round(end / samples / STEP))
        times.append(min(simulation.time, end))
        path.append(simulation.position)
        energies.append(_energy(simulation))
    energies = np.array(energies)
    return arm, np.array(times), np.array(path), np.abs(energies - energies[0]).max()


def _energy(simulation):
    return sum(simulation.energy()[:3])


def _four_bars(end):
    arm = frs.load(four_bars())
    rate = {f'root_{k}': 1.0 for k in range(3)} | {f'tip_{k}': -1.0 for k in range(2)}
    v = np.array([rate[name] for name in arm.joint_names])
    _, times, path, change = _run(four_bars(), v, end)
    # 3 links turn about their ends, 2 move along a circle: 3 th'' = (3/2 + 2) g sin th
    pendulum = solve_ivp(
        lambda _, x: [x[1], 3.5 / 3 * GRAVITY * np.sin(x[0])],
        (0.0, end),
        [0.0, 1.0],
        'DOP853',
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    )
    error = np.abs(path[:, 0] - pendulum.y[0]).max()
    words = f'A02, two four-bars, {end:g} s at {STEP * 1e3:g} ms'
    yield Row(f'{words}: change of energy', change, 1e-9, 'J')
    yield Row(f'{words}: angle, pendulum', error, 1e-3, 'rad')


def _bricard(end):
    arm, times, path, change = _run(bricard(), np.zeros(6), end)
    accelerate, order = pinocchio_accelerations(arm)
    n = order.size
    theirs = solve_ivp(
        lambda _, x: np.concatenate([x[n:], accelerate(x[:n], x[n:])]),
        (0.0, end),
        np.zeros(2 * n),
        'DOP853',
        t_eval=times,
        rtol=1e-9,
        atol=1e-9,
    )
    error = np.abs(path[:, order] - theirs.y[:n].T).max()
    words = f'A04, Bricard, {end:g} s at {STEP * 1e3:g} ms'
    yield Row(f'{words}: change of energy', change, 1e-9, 'J')
    yield Row(f'{words}: angles, Pinocchio', error, 1e-3, 'rad')
