"""
A finite element program for the whole arm, as a reference for elastic arms.

Its beams are from a textbook (Przemieniecki, Theory of Matrix Structural Analysis, 1968). It takes
plain values from the description, and shares no beam code with the package.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

GRAVITY = np.array([0.0, 0.0, -9.81])
RIGID = 1e4  # stiffness of a direction without modes, relative to the softest one


def poses(arm, angles=None):
    """Return rotation and position of every link in the base frame, {link: (R, p)}."""
    angles = angles or {}
    found = {arm.links[0].name: (np.eye(3), np.zeros(3))}
    for joint in arm.joints:
        R, p = found[joint.parent]
        R, p = R @ joint.rotation, p + R @ joint.position
        move = joint.axis * angles.get(joint.name, 0.0)
        if joint.kind == 'prismatic':
            p = p + R @ move
        elif joint.kind != 'fixed':
            R = R @ Rotation.from_rotvec(move).as_matrix()
        found[joint.child] = R, p
    return found


def carry(offset):
    """Return the map to displacement and rotation (6) of a point of a rigid body at `offset`."""
    x, y, z = offset
    matrix = np.eye(6)
    matrix[:3, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
    return matrix


def beam_element(beam, length):
    """Return stiffness and consistent mass of an element: 3 displacements, 3 rotations per end."""
    stiffness, mass = np.zeros((12, 12)), np.zeros((12, 12))
    gives = {k for k, count in beam.coordinates.items() if count}
    values = {k: beam.stiffness(k) for k in gives}
    stiff = RIGID * min(values.values())
    at, rho_a = length, beam.mass_per_length
    cubic = np.array(
        [
            [12, 6 * at, -12, 6 * at],
            [6 * at, 4 * at**2, -6 * at, 2 * at**2],
            [-12, -6 * at, 12, -6 * at],
            [6 * at, 2 * at**2, -6 * at, 4 * at**2],
        ]
    )
    moving = np.array(
        [
            [156, 22 * at, 54, -13 * at],
            [22 * at, 4 * at**2, 13 * at, -3 * at**2],
            [54, 13 * at, 156, -22 * at],
            [-13 * at, -3 * at**2, -22 * at, 4 * at**2],
        ]
    )
    for direction, rows, sign in (
        ('bending_y', [1, 5, 7, 11], 1),
        ('bending_z', [2, 4, 8, 10], -1),
    ):
        turn, block = np.diag([1, sign, 1, sign]), np.ix_(rows, rows)
        stiffness[block] += values.get(direction, stiff) / at**3 * turn @ cubic @ turn
        mass[block] += rho_a * at / 420 * turn @ moving @ turn
    for direction, row, rho in (('stretch', 0, rho_a), ('torsion', 3, beam.section_inertia[0])):
        block = np.ix_([row, row + 6], [row, row + 6])
        rigid = stiff if direction == 'torsion' else stiff / beam.length**2
        stiffness[block] += values.get(direction, rigid) / at * np.array([[1, -1], [-1, 1]])
        mass[block] += rho * at / 6 * np.array([[2, 1], [1, 2]])
    return stiffness, mass


def finite_elements(arm, angles=None, count=6):
    """
    Return stiffness, mass and weight of the whole arm with locked motors.

    :returns: K, M, f and {flexible link: (tip, root)}; tip and root give the displacement (6) of
        that end, in the link's own axes, from the unknowns.
    """
    at = poses(arm, angles)
    n = 6 * count * sum(link.beam is not None for link in arm.links) + len(arm.joints)
    K, M, f, ends, used = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), {}, 0
    follows = {arm.links[0].name: np.zeros((6, n))}  # displacement of each link's origin
    tips: dict = {}  # and of the tip, with its position

    def add(stiffness, mass, rows, pull):
        K[:] += rows.T @ stiffness @ rows
        M[:] += rows.T @ mass @ rows
        f[:] += rows.T @ mass @ pull

    for link in arm.links:
        R, p = at[link.name]
        joint = next((j for j in arm.joints if j.child == link.name), None)
        if joint is not None:
            carrier, there = tips.get(joint.parent, (follows[joint.parent], at[joint.parent][1]))
            origin = at[joint.parent][1] + at[joint.parent][0] @ joint.position
            follows[link.name] = carry(origin - there) @ carrier
            if np.isfinite(joint.stiffness):
                follows[link.name][3:, used] += R @ joint.axis
                K[used, used] += joint.stiffness
                used += 1
        root = follows[link.name]
        if link.beam is not None:
            axes = R @ link.beam.axes
            turn = np.kron(np.eye(4), axes.T)
            stiffness, mass = beam_element(link.beam, link.beam.length / count)
            near = root
            for _ in range(count):
                far = np.zeros((6, n))
                far[:, used : used + 6] = np.eye(6)
                used += 6
                pull = turn @ np.tile(np.concatenate([GRAVITY, np.zeros(3)]), 2)
                add(stiffness, mass, turn @ np.vstack([near, far]), pull)
                near = far
            tips[link.name] = near, p + R @ link.beam.end
            stiff_tip = carry(R @ link.beam.end) @ root
            ends[link.name] = turn[:6, :6] @ near, turn[:6, :6] @ stiff_tip
        elif link.inertial is not None:
            block = np.zeros((6, 6))
            block[:3, :3] = link.inertial.mass * np.eye(3)
            block[3:, 3:] = R @ link.inertial.inertia @ R.T
            add(
                np.zeros((6, 6)),
                block,
                carry(R @ link.inertial.centre) @ root,
                np.concatenate([GRAVITY, np.zeros(3)]),
            )
    ends = {name: (tip[:, :used], stiff[:, :used]) for name, (tip, stiff) in ends.items()}
    return K[:used, :used], M[:used, :used], f[:used], ends


def frequencies(arm, angles=None):
    """Return the natural frequencies with locked motors [Hz], lowest first."""
    K, M, _, _ = finite_elements(arm, angles)
    # the inverse problem, because the rigid directions would mask the low frequencies
    return 1 / (2 * np.pi * np.sqrt(eigh(M, K, eigvals_only=True)[:0:-1]))
