"""Robots with spatial beams; their motion by sums over mass points and Lagrange's equations."""

import numpy as np
from reference import gradient, turn, turn_about

STEP_SIZE = 5e-3  # of differences of sixth order
STEP = 1e-30  # complex step: without a difference, so no digits are lost
SCALES = np.arange(5.0)  # of the coordinates, from which the orders of a sum follow

MATERIAL = '<material E="7e10" G="2.6e10"/>'
CURVE = '0 0 0  0.25 0.02 0.03  0.42 0.12 0.08  0.5 0.3 0.1'


def mass_of(name, mass, centre, inertia):
    """Return a <link>."""
    ixx, iyy, izz = inertia
    return (
        f'<link name="{name}"><inertial><origin xyz="{centre}"/><mass value="{mass}"/><inertia '
        f'ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def spatial_robot(count=3, segments=1):
    """Return a robot with a curved link, a tapered twisted one behind a joint, and a tool."""
    return f"""<robot name="spatial">
<link name="base"/>
{mass_of('hook', 1.5, '0.25 0.12 0.05', (0.02, 0.05, 0.06))}
{mass_of('blade', 0.8, '0.2 0 0', (1e-3, 0.01, 0.01))}
{mass_of('tool', 0.5, '0.02 0.01 0.05', (0.001, 0.002, 0.0015))}
<joint name="shoulder" type="revolute"><parent link="base"/><child link="hook"/>
  <axis xyz="0 0.6 0.8"/><limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
<joint name="elbow" type="revolute"><parent link="hook"/><child link="blade"/>
  <origin xyz="0.5 0.3 0.1" rpy="0.2 -0.3 0.5"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
<joint name="wrist" type="fixed"><parent link="blade"/><child link="tool"/>
  <origin xyz="0.4 0.01 0.03"/></joint>
<flexibility>
<link name="hook" end="0.5 0.3 0.1"><axis points="{CURVE}"/>
  <rectangle width="0.02" height="0.01"/>{MATERIAL}<modes count="{count}"/></link>
<link name="blade" end="0.4 0 0"><rectangle width="0.03" height="0.006" at="0" twist="0"/>
  <rectangle width="0.02" height="0.004" at="1" twist="0.8"/>{MATERIAL}
  <modes count="{count}" segments="{segments}"/></link>
</flexibility>
</robot>"""


class PointSum:
    """The arm of an ArmModel with spatial beams, by sums over all of their mass points."""

    def __init__(self, arm, gravity=(0.0, 0.0, -9.81)):
        self.arm, self.arrays, self.gravity = arm, arm.arrays, np.array(gravity)
        self.fields = [
            arm.beams[parent].station(self.arrays.station_x[s]) if s >= 0 else None
            for parent, s in zip(self.arrays.parent, self.arrays.station)
        ]

    def poses(self, q):
        """Return poses (R, p) of all bodies in the base; q may be complex."""
        out: list = []
        for i, (parent, s, j) in enumerate(
            zip(self.arrays.parent, self.arrays.station, self.arrays.joint)
        ):
            R, p = self.arrays.home_R[i], self.arrays.home_p[i]
            if j >= 0:
                R = R @ turn_about(self.arrays.screw[i, :3], q[j])
            if s >= 0:
                fields = self.fields[i]
                e = q[self.arm.elastic_coordinates(parent)]
                move = e @ fields.U + np.einsum('i,j,ija->a', e, e, fields.Q) / 2
                station_R, station_p = turn(move[:3]) @ fields.R, fields.p + move[3:]
                R, p = station_R @ R, station_p + station_R @ p
            if parent >= 0:
                R, p = out[parent][0] @ R, out[parent][1] + out[parent][0] @ p
            out.append((R, p))
        return out

    def jacobians(self, q):
        """Return (angular, linear) velocity of each body by rate, (i, 6, n), in its axes."""
        base, columns = self.poses(q), []
        for k in range(len(q)):
            moved = self.poses(q + 1j * STEP * np.eye(len(q))[k])
            rates = []
            for (R, _), (moved_R, moved_p) in zip(base, moved):
                W = R.T @ moved_R.imag / STEP
                rates.append([W[2, 1], W[0, 2], W[1, 0], *(R.T @ moved_p.imag / STEP)])
            columns.append(rates)
        return np.moveaxis(np.array(columns), 0, 2)

    def body_inertia(self, i, e):
        """Inertia (6 + n, 6 + n) of body i with its coordinates, to the orders of (T92)."""
        if i not in self.arm.beams:
            return self.arrays.inertia[i]
        points, n = self.arm.beams[i].points, len(e)

        def sums(scale):
            r = points.X + scale * np.einsum('pia,i->pa', points.Phi, e)
            r = r + scale**2 * np.einsum('pija,i,j->pa', points.Q, e, e) / 2
            N = points.Phi + scale * np.einsum('pija,j->pia', points.Q, e)
            columns = np.concatenate(
                [
                    np.moveaxis(np.array([np.cross(axis, r) for axis in np.eye(3)]), 0, 1),
                    np.tile(np.eye(3), (len(r), 1, 1)),
                    N,
                ],
                axis=1,
            )
            return np.einsum('p,pia,pja->ij', points.mass, columns, columns)

        orders = np.linalg.solve(
            np.vander(SCALES, increasing=True),
            np.array([sums(scale) for scale in SCALES]).reshape(len(SCALES), -1),
        ).reshape(len(SCALES), 6 + n, 6 + n)
        largest = np.full((6 + n, 6 + n), 2)
        largest[:3, 6:] = largest[6:, :3] = 1
        kept = sum(order * (largest >= k) for k, order in enumerate(orders))
        own = np.zeros((6 + n, 6 + n))
        own[:6, :6] = self.arrays.inertia[i] - self.arm.beams[i].integrals.inertia
        return kept + own

    def mass_matrix(self, q):
        """Mass matrix (n, n)."""
        M = np.zeros((len(q), len(q)))
        for i, J in enumerate(self.jacobians(q)):
            columns = self.arm.elastic_coordinates(i)
            if i in self.arm.beams:
                J = np.vstack([J, np.eye(len(q))[columns]])
            M += J.T @ self.body_inertia(i, q[columns]) @ J
        return M

    def weight(self, q):
        """Potential energy of gravity [J]."""
        total = 0.0
        for i, (R, p) in enumerate(self.poses(q)):
            I = self.body_inertia(i, q[self.arm.elastic_coordinates(i)])
            first = np.array([I[2, 4], I[0, 5], I[1, 3]])
            total -= self.gravity @ (I[3, 3] * p + R @ first)
        return total

    def strain_force(self, q):
        """Forces of the strains on the coordinates, (n,)."""
        force = np.zeros(len(q))
        for i, beam in self.arm.beams.items():
            columns = self.arm.elastic_coordinates(i)
            force[columns] = -beam.stiffness @ q[columns]
        return force

    def required_force(self, q, qd, qdd):
        """Forces (n,) for a motion by Lagrange's equations, without those of the strains."""
        slopes = gradient(self.mass_matrix, q, STEP_SIZE)
        force = self.mass_matrix(q) @ qdd + gradient(self.weight, q, STEP_SIZE)
        force += np.einsum('kij,k,j->i', slopes, qd, qd)
        return force - np.einsum('ijk,j,k->i', slopes, qd, qd) / 2


def upper_triangle(matrix):
    """Return the 21 numbers of a symmetric matrix (6, 6) in the order of a <section>."""
    return ' '.join(map(repr, np.asarray(matrix)[np.triu_indices(6)].tolist()))


def cantilever(section, end, modes, points=None):
    """Return a clamped spatial beam of 1 kg with a small tip; modes: attributes of <modes>."""
    middle = ' '.join(repr(float(x) / 2) for x in end)
    place = ' '.join(repr(float(x)) for x in end)
    axis = (
        ''
        if points is None
        else f'<axis points="{" ".join(map(repr, points.ravel().tolist()))}"/>'
    )
    return f"""<robot name="cantilever">
<link name="base"/>
{mass_of('arm', 1.0, middle, (0.1, 0.1, 0.1))}
{mass_of('tip', 1e-3, '0 0 0', (1e-6, 1e-6, 1e-6))}
<joint name="clamp" type="fixed"><parent link="base"/><child link="arm"/></joint>
<joint name="end" type="fixed"><parent link="arm"/><child link="tip"/>
  <origin xyz="{place}"/></joint>
<flexibility><link name="arm" end="{place}">{axis}{section}<modes {modes}/></link></flexibility>
</robot>"""
