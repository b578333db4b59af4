"""
The flexible four-bar of Bauchau, compared with exact beams of Exudyn.

Three beams AB, BC and CD form a rectangle (Flexible Multibody Dynamics, 2011; numbers as in TACS).
The hinge C is tilted by 5 degrees about CD. So the loop closes in bent states only, except at its
start: all beams bend out of the plane and twist. A damper drives A towards -0.6 rad/s, from rest.
It is so strong that A follows within 1e-3 rad. The loop passes two positions in which all bars are
in line, and snaps into its other branch in the first one: this needs beams that stretch.

The snap leaves a vibration of 265 Hz, a hundredth of the way out of the plane, that nothing damps.
Its frequencies on both sides differ by 0.8 %, so that its phases do not compare, but means do.
"""

import exudyn
import numpy as np
from arms import joint, link, robot
from closed_loops import constraint_text
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from benchmarks.limits import Row
from benchmarks.loops.exudyn_linkage import Linkage

STEP = 1e-3  # [s]
SAMPLES = 60  # means over this part of the time are compared
STEPS = 200  # in a sample
TOLERANCE = 1e-6  # of Exudyn's Newton method [N]
ELEMENTS = 8  # of each beam of Exudyn
RATE, DAMPING = -0.6, 2e4  # of the drive [rad/s, N m s/rad]
START = 1.0  # time in which the drive reaches its rate: Exudyn does not converge at a sudden start
TILT = Rotation.from_euler('y', 5, degrees=True).as_matrix()  # of the plane xy of the loop
# stiffness of shear, stretch, torsion and bending [N, N, N m2, N m2]; mass and inertia per length
THICK = (16.88e6, 52.99e6, 733.5, 1131.0), 1.997, 42.6e-6
THIN = (4.22e6, 13.25e6, 45.84, 70.66), 0.4992, 2.662e-6
# name: root, direction and length in the plane of the loop, and section
BARS = {
    'ab': ((0.0, 0.0, 0.0), np.pi / 2, 0.12, THICK),
    'bc': ((0.0, 0.12, 0.0), 0.0, 0.24, THICK),
    'dc': ((0.24, 0.0, 0.0), np.pi / 2, 0.12, THIN),
}
SHAPES = '<modes bending_y="2" bending_z="2" torsion="1" stretch="1"/>'


def rows(quick):
    """Yield the Rows of this module."""
    samples = 2 if quick else SAMPLES
    (middle, angles), (their_middle, their_angles) = ours(samples), theirs(samples)
    words = f"Bauchau's four-bar over {samples * STEPS * STEP:g} s, exact beams of Exudyn"
    for name, found, expected in (
        ('middle of the coupler', middle[:, :2], their_middle[:, :2]),
        (
            'its way out of the plane, 2.6 mm, means over 0.2 s',
            means(middle[:, 2:]),
            means(their_middle[:, 2:]),
        ),
        ('joint angles', angles, their_angles),
    ):
        moved = np.abs(expected - expected[0]).max(axis=0)
        error = (np.abs(found - expected).max(axis=0) / moved).max()
        yield Row(f'{words}: {name}', error, 1e-2, 'of the largest value')


def means(values):
    """Return means over STEPS steps each of values (samples * STEPS + 1, n)."""
    return values[1:].reshape(-1, STEPS, values.shape[1]).mean(axis=1)


def described():
    """Return the text of the mechanism, in the plane xy of its base."""
    parts, beams = [], []
    for name, (_, _, length, ((kGA, EA, GJ, EI), mass, inertia)) in BARS.items():
        about = mass * length**3 / 12 + inertia * length
        moments = 2 * inertia * length, about, about
        parts.append(link(name, mass * length, f'{length / 2!r} 0 0', moments))
        shear = f'kGAy="{kGA}" kGAz="{kGA}"'
        section = f'<section EIy="{EI}" EIz="{EI}" GJ="{GJ}" EA="{EA}" {shear}/>'
        beams.append(f'<link name="{name}" end="{length} 0 0">{section}{SHAPES}</link>')
    quarter = repr(np.pi / 2)
    for name, parent, child, place, turn in (
        ('A', 'base', 'ab', '0 0 0', quarter),
        ('B', 'ab', 'bc', '0.12 0 0', f'-{quarter}'),
        ('D', 'base', 'dc', '0.24 0 0', quarter),
    ):
        inside = f'<origin xyz="{place}" rpy="0 0 {turn}"/><axis xyz="0 0 1"/>'
        parts.append(joint(name, 'continuous', parent, child, inside))
    parts += [
        '<link name="middle"/>',
        joint('mount', 'fixed', 'bc', 'middle', '<origin xyz="0.12 0 0"/>'),
        constraint_text(
            'C',
            'revolute',
            ('dc', _pose((0.12, 0.0, 0.0))),
            ('bc', _pose((0.24, 0.0, 0.0))),
            Rotation.from_euler('z', -np.pi / 2).as_matrix() @ TILT[:, 2],
            TILT[:, 2],
        ),
    ]
    return robot(*parts, f'<flexibility>{"".join(beams)}</flexibility>')


def rate(time):
    """Rate of the drive [rad/s]."""
    return RATE * (1 - np.cos(np.pi * min(time / START, 1.0))) / 2


def ours(samples):
    """Return positions of the middle, (samples * STEPS + 1, 3), and angles of A, B and D."""
    arm = frs.load(described(), gravity=(0.0, 0.0, 0.0))
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=STEP))
    drive = np.array([name == 'A' for name in arm.joint_names], float)
    simulation.hold([0.0] * 3, [0.0] * 3, DAMPING * drive)
    order = [arm.joint_names.index(name) for name in 'ABD']
    middle, angles = [], []
    for k in range(samples * STEPS + 1):
        if k > 0:
            simulation.effort = DAMPING * rate(simulation.time + STEP / 2) * drive
            simulation.step()
        middle.append(simulation.pose('middle')[:3, 3])
        angles.append(simulation.position[order])
    return np.array(middle), np.array(angles)


def theirs(samples):
    """Return the same of Exudyn."""
    linkage, bars = Linkage((0.0, 0.0, 0.0)), {}
    for name, (start, angle, length, ((shear, EA, GJ, EI), mass, inertia)) in BARS.items():
        section, R = exudyn.BeamSection(), Rotation.from_euler('z', angle).as_matrix()
        section.stiffnessMatrix = np.diag([EA, shear, shear, GJ, EI, EI])
        section.inertia = np.diag([2 * inertia, inertia, inertia])
        section.massPerLength = mass
        bars[name] = linkage.exact_bar(np.array(start), R, length, section, ELEMENTS)
    roots = [linkage.ground(BARS[name][0]) for name in ('ab', 'dc')]
    linkage.hinge(roots[0], bars['ab'].root)
    linkage.hinge(bars['ab'].tip, bars['bc'].root)
    linkage.hinge(roots[1], bars['dc'].root)
    linkage.hinge(bars['dc'].tip, bars['bc'].tip, TILT)
    linkage.drive(roots[0], bars['ab'].root, lambda time: rate(time + STEP / 2), DAMPING)
    linkage.watch('middle', bars['bc'].middle)
    for name, place in (
        ('A', bars['ab'].root),
        ('above B', bars['ab'].tip),
        ('below B', bars['bc'].root),
        ('D', bars['dc'].root),
    ):
        linkage.watch(name, place, exudyn.OutputVariableType.Rotation)
    found = linkage.run(1, samples * STEPS * STEP, samples * STEPS, TOLERANCE)
    turned = {name: np.unwrap(values[:, 2]) for name, values in found.items()}
    angles = [turned['A'], turned['below B'] - turned['above B'], turned['D']]
    return found['middle'], np.array([one - one[0] for one in angles]).T


def _pose(p):
    T = np.eye(4)
    T[:3, 3] = p
    return T
