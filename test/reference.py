"""
Slow reference of the arm: energies by dense quadrature, motion by Lagrange's equations.

It shares with the package the description, the shapes of the beams, and the names and order of the
coordinates; no integral, no recursion and no derivative. Velocities are complex-step derivatives
of positions, hence exact; only derivatives of the kinetic energy are finite differences.
"""

import functools
from xml.etree import ElementTree

import numpy as np

STEP = 1e-30  # complex step: without a difference, so no digits are lost
POINTS = 40  # Gauss points in every smooth piece of a beam
EYE = np.eye(3)
DIRECTIONS = ('bending_y', 'bending_z', 'torsion', 'stretch')


def hat(a):
    """Return the matrix of the vector product with a."""
    return np.array([[0 * a[0], -a[2], a[1]], [a[2], 0 * a[0], -a[0]], [-a[1], a[0], 0 * a[0]]])


def turn(phi):
    """Return the rotation matrix exp(phi) by its series, also of complex vectors."""
    x, y, z = phi.tolist()  # Python numbers, which take half the time of those of numpy
    square, first, second = -(x * x + y * y + z * z), 1.0, 1.0  # hat(phi)**3 = square * hat(phi)
    for k in range(24, 0, -2):  # 1 + a/(2 3) (1 + a/(4 5) ..., and the same from 1/2 on
        first = 1.0 + first * square / (k * (k + 1))
        second = 1.0 + second * square / ((k + 1) * (k + 2))
    around = hat((x, y, z))
    return EYE + first * around + second / 2 * (around @ around)


def turn_about(axis, angle):
    """Return the rotation matrix about a unit vector, by Rodrigues' formula."""
    return np.eye(3) + np.sin(angle) * hat(axis) + (1 - np.cos(angle)) * hat(axis) @ hat(axis)


leggauss = functools.cache(np.polynomial.legendre.leggauss)


def gauss(breaks):
    """Return dense Gauss stations and weights between the breaks."""
    nodes, weights = leggauss(POINTS)
    size = np.diff(breaks)[:, None]
    return (breaks[:-1, None] + size * (nodes + 1) / 2).ravel(), (size * weights / 2).ravel()


def gradient(function, x, step=1e-3):
    """Differentiate function(x) by each of its arguments, (n, ...); see `along`."""
    return np.array(
        [along(lambda s, k=k: function(x + s * np.eye(len(x))[k]), step) for k in range(len(x))]
    )


def along(function, step=1e-3):
    """Differentiate a function of one number at 0, to the sixth power of the step."""
    difference = [(function(k * step) - function(-k * step)) / (2 * k * step) for k in (1, 2, 3)]
    return 1.5 * difference[0] - 0.6 * difference[1] + 0.1 * difference[2]


class Piece:
    """One segment of a flexible link: its shapes, and a dense quadrature over it."""

    def __init__(self, beam, link, columns, shortens, start=0.0, sections=()):
        self.beam, self.data, self.columns, self.shortens = beam, link.beam, columns, shortens
        self.length = link.beam.length / link.beam.segments
        self.breaks = np.linspace(0.0, self.length, max(link.beam.elements, 1) + 1)
        places = np.array([at * link.beam.length - start for at, _ in sections])
        inside = (places > 0.0) & (places < self.length)
        self.breaks = np.union1d(self.breaks, places[inside])
        self.x, self.weights = gauss(self.breaks)
        self.Phi, self.Theta = beam.shape(self.x), beam.turn(self.x)
        self.strain = beam.strain(self.x)
        stiffness = np.nan_to_num([self.data.EA, self.data.GJ, self.data.EIy, self.data.EIz])
        self.stiffness = np.tile(stiffness, (len(self.x), 1))
        mass = np.ones(len(self.x))
        if sections:
            share = (start + self.x) / link.beam.length
            self.stiffness, mass = sections_at(sections, share)
        # not all at once: the stations for 30 elements would take a gigabyte
        self.H = np.concatenate(
            [self.shortening(x) for x in np.split(self.x, range(POINTS, len(self.x), POINTS))]
        )
        self.mass = self.data.mass_per_length * self.weights * mass
        self.inertia = (self.weights * mass)[:, None, None] * np.diag(self.data.section_inertia)
        self.stations = {}
        self.is_set_back = shortens and link.beam.segments > 1

    def shortening(self, x):
        """Integrals of v'^T v' + w'^T w' from the root to stations x (k,), (k, n, n)."""
        rules = [gauss(np.append(self.breaks[self.breaks < one], one)) for one in x]
        stations, weights = map(np.concatenate, zip(*rules))
        slopes = self.beam.turn(stations)[:, 1:]
        ends = np.cumsum([len(weights) for _, weights in rules])[:-1]
        return self.shortens * np.array(
            [
                np.tensordot(weight[:, None, None] * slope, slope, ((0, 1), (0, 1)))
                for weight, slope in zip(np.split(weights, ends), np.split(slopes, ends))
            ]
        )

    def axis(self, q):
        """Points of the deflected axis at the quadrature stations, (g, 3)."""
        e = q[self.columns]
        points = self.Phi @ e
        g, n = len(self.x), len(e)
        points[:, 0] += self.x - (self.H.reshape(g * n, n) @ e).reshape(g, n) @ e / 2
        return points

    def section(self, q, x):
        """Pose of the section at x in the frame of the root."""
        if x not in self.stations:  # independent of q
            nodes, weights = leggauss(4)
            slopes = [self.beam.turn(x * (node + 1) / 2) for node in nodes]
            self.stations[x] = (
                self.beam.shape(x),
                self.beam.turn(x),
                self.shortening([x])[0],
                list(zip(slopes, weights)),
            )
        Phi, Theta, H, before = self.stations[x]
        e = q[self.columns]
        place = Phi @ e
        place[0] += x - e @ H @ e / 2
        if self.is_set_back:  # by a sum over four points, as in (T10)
            for slope, weight in before:
                _, wy, vy = slope @ e
                place = place + np.array([0, -vy, wy]) * (vy**2 + wy**2) * weight * x / 12
        return turn(Theta @ e), place

    def strain_energy(self, q):
        """Integral of the squared strains."""
        strain = (self.strain @ q[self.columns]) ** 2
        return self.weights @ (strain * self.stiffness).sum(axis=1) / 2


def varying_sections(text, link):
    """Return the <section> with `at` of a link in the text of a URDF: [(at, attributes)]."""
    found = ElementTree.fromstring(text).findall(f"flexibility/link[@name='{link}']/section[@at]")
    rows = [{name: float(value) for name, value in one.attrib.items()} for one in found]
    return [(row['at'], row) for row in rows]


def sections_at(sections, share):
    """Stiffnesses EA, GJ, EIy, EIz (k, 4) and mass over its mean (k,) at shares of the length."""
    out, integral = np.zeros((len(share), 5)), 0.0
    for (low, first), (high, last) in zip(sections[:-1], sections[1:]):
        ends = [
            [row[name] for name in ('EA', 'GJ', 'EIy', 'EIz', 'mass_per_length')]
            for row in (first, last)
        ]
        integral += (high - low) * (ends[0][4] + ends[1][4]) / 2
        if high > low:
            rows = (share > low) & (share < high)
            part = ((share[rows] - low) / (high - low))[:, None]
            out[rows] = (1 - part) * ends[0] + part * ends[1]
    return out[:, :4], out[:, 4] / integral


class Reference:
    """The arm of an ArmModel, by first principles; gravity is in the base frame, (3,) [m/s2]."""

    def __init__(self, arm, gravity=(0.0, 0.0, -9.81)):
        self.description, self.names = arm.description, arm.coordinate_names
        self.gravity, self.size = np.array(gravity), len(arm.coordinate_names)
        self.pieces, self.seats = {}, {}
        self.beams = {link.name: link.beam for link in self.description.links}
        for link in arm.description.links:
            if link.beam is not None:
                for k, body in enumerate(arm.segments[link.name]):
                    beam = arm.beams[body]
                    part = f'{link.name}/' + (f'{k + 1}/' if link.beam.segments > 1 else '')
                    columns = [self.names.index(part + name) for name in beam.names]
                    self.pieces[link.name, k] = Piece(
                        beam,
                        link,
                        columns,
                        arm.coupling == 'shortening',
                        k * link.beam.length / link.beam.segments,
                        varying_sections(arm.description.text, link.name),
                    )

    def place(self, q):
        """Poses (R, p) of all links, and of the roots of all pieces of flexible links, by name."""
        links: dict = {}
        roots: dict = {}
        for link, joint in zip(self.description.links, [None, *self.description.joints]):
            R, p = np.eye(3), np.zeros(3)
            if joint is not None:
                R, p = self._joint_frame_at_zero(joint, links, roots, q)
                R, p = self._moved(joint, R, p, q)
            links[link.name] = R, p
            if link.beam is not None:
                R = R @ link.beam.axes
                for k in range(link.beam.segments):
                    roots[link.name, k] = R, p
                    piece = self.pieces[link.name, k]
                    turned, moved = piece.section(q, piece.length)
                    R, p = R @ turned, R @ moved + p
        return links, roots

    def _joint_frame_at_zero(self, joint, links, roots, q):
        """Return the pose of a joint frame at zero joint position."""
        beam = self.beams[joint.parent]
        R, p = links[joint.parent]
        if beam is None:
            return R @ joint.rotation, R @ joint.position + p
        if joint.name not in self.seats:  # independent of q
            x = min(max(beam.axes[:, 0] @ joint.position, 0.0), beam.length)
            size = beam.length / beam.segments
            k = min(int(x / size), beam.segments - 1)
            self.seats[joint.name] = (
                (joint.parent, k),
                x - k * size,
                beam.axes.T @ joint.position - [x, 0.0, 0.0],
                beam.axes.T @ joint.rotation,
            )
        key, x, beside, rotation = self.seats[joint.name]
        R, p = roots[key]
        turned, moved = self.pieces[key].section(q, x)
        return R @ turned @ rotation, R @ (moved + turned @ beside) + p

    def _moved(self, joint, R, p, q):
        if joint.kind == 'fixed':
            return R, p
        value = joint.held_at if joint.held_at is not None else q[self.names.index(joint.name)]
        if joint.kind == 'prismatic':
            return R, p + R @ joint.axis * value
        return R @ turn_about(joint.axis, value), p

    def motion(self, q, qd, only=None):
        """
        Return all moving mass points and rotating bodies, as two lists.

        :param only: names of the links that count; None: all.
        :returns: points [(mass, position, velocity)] with arrays (g,), (g, 3), (g, 3), and spins
            [(R, inertia, omega)] in body axes, where omega is (g, 3) at quadrature stations.
        """
        links, roots = self.place(q + STEP * 1j * qd)
        points, spins = [], []
        for link in self.description.links:
            counts = only is None or link.name in only
            if counts and link.beam is None and link.inertial is not None:
                R, p = links[link.name]
                centre = (R @ link.inertial.centre + p)[None]
                points.append((np.array([link.inertial.mass]), centre.real, centre.imag / STEP))
                spins.append((R.real, link.inertial.inertia[None], spin_of(R)[None]))
        for key, piece in self.pieces.items():
            if only is not None and key[0] not in only:
                continue
            R, p = roots[key]
            axis = piece.axis(q + STEP * 1j * qd) @ R.T + p
            points.append((piece.mass, axis.real, axis.imag / STEP))
            spins.append((R.real, piece.inertia, spin_of(R) + piece.Theta @ qd[piece.columns]))
        return points, spins

    def kinetic_energy(self, q, qd, other=None):
        """Return T, or with `other` rates on one side, the bilinear form of T."""
        points, spins = self.motion(q, qd)
        points2, spins2 = (points, spins) if other is None else self.motion(q, other)
        total = sum(m @ (v * w).sum(axis=1) for (m, _, v), (_, _, w) in zip(points, points2))
        total += sum(
            np.sum(v * np.matmul(inertia, w[..., None])[..., 0])
            for (_, inertia, v), (_, _, w) in zip(spins, spins2)
        )
        other = qd if other is None else other
        for joint, name in self._rotors():
            k = self.names.index(name)
            total += joint.rotor_inertia * joint.gear_ratio**2 * qd[k] * other[k]
        return total / 2

    def _rotors(self):
        """Return the moving joints, each with the coordinate of its rotor."""
        return [
            (joint, joint.name if np.isinf(joint.stiffness) else f'{joint.name}/motor')
            for joint in self.description.joints
            if joint.moves
        ]

    def mass_matrix(self, q):
        """Second derivative of T by the rates: T is quadratic in them, so the form itself."""
        columns = [self.motion(q, unit) for unit in np.eye(self.size)]
        M = np.zeros((self.size, self.size))
        for part in zip(*(points for points, _ in columns)):
            v = np.array([velocity for _, _, velocity in part])
            M += np.tensordot(part[0][0][:, None] * v, v, ((1, 2), (1, 2)))
        for part in zip(*(spins for _, spins in columns)):
            v = np.array([omega for _, _, omega in part])
            M += np.tensordot(np.einsum('gab,igb->iga', part[0][1], v), v, ((1, 2), (1, 2)))
        for joint, name in self._rotors():
            k = self.names.index(name)
            M[k, k] += joint.rotor_inertia * joint.gear_ratio**2
        return M

    def gravity_energy(self, q):
        """Return minus the sum of mass times gravity times position."""
        links, roots = self.place(q)
        total = 0.0
        for link in self.description.links:
            if link.beam is None and link.inertial is not None:
                R, p = links[link.name]
                total -= link.inertial.mass * self.gravity @ (R @ link.inertial.centre + p)
        for key, piece in self.pieces.items():
            R, p = roots[key]
            axis = piece.axis(q) @ R.T + p
            total -= piece.mass @ (axis @ self.gravity)
        return total

    def spring_energy(self, q):
        """Strain of the beams and of the gears."""
        total = sum(piece.strain_energy(q) for piece in self.pieces.values())
        for joint, name in self._rotors():
            if np.isfinite(joint.stiffness):
                wound = q[self.names.index(name)] - q[self.names.index(joint.name)]
                total += joint.stiffness * wound**2 / 2
        return total

    def potential_force(self, energy, q):
        """Return the force -dV/dq on every coordinate, by complex steps."""
        return np.array([-energy(q + STEP * 1j * unit).imag / STEP for unit in np.eye(self.size)])

    def bias(self, q, qd):
        """Lagrange's equations without accelerations and springs: (dM/dt) qd - dT/dq + dV/dq."""
        changing = along(lambda t: self.mass_matrix(q + t * qd) @ qd)
        return (
            changing
            - gradient(lambda x: self.kinetic_energy(x, qd), q)
            - self.potential_force(self.gravity_energy, q)
        )

    def beyond(self, link):
        """Return the names of a link and of all links beyond it."""
        names = {link}
        for joint in self.description.joints:
            if joint.parent in names:
                names.add(joint.child)
        return names

    def momentum(self, q, qd, only=None):
        """Angular and linear momentum of links about the origin of the base, (6,)."""
        points, spins = self.motion(q, qd, only)
        total = np.zeros(6)
        for mass, position, velocity in points:
            total += np.concatenate([mass @ np.cross(position, velocity), mass @ velocity])
        for R, inertia, omega in spins:
            total[:3] += R @ np.einsum('gab,gb->a', inertia, omega)
        return total

    def weight(self, q, only=None):
        """Moment about the origin of the base, and force, that gravity has on links, (6,)."""
        points, _ = self.motion(q, np.zeros(self.size), only)
        total = np.zeros(6)
        for mass, position, _ in points:
            pull = mass[:, None] * self.gravity
            total += np.concatenate([np.cross(position, pull).sum(axis=0), pull.sum(axis=0)])
        return total

    def jacobian(self, q, link):
        """Twist of a link, (angular, linear) in its own frame, by rates, (6, n)."""
        columns = []
        for unit in np.eye(self.size):
            R, p = self.place(q + STEP * 1j * unit)[0][link]
            columns.append(np.concatenate([spin_of(R), R.real.T @ p.imag / STEP]))
        return np.array(columns).T


def spin_of(R):
    """Return the angular velocity in the body, from a rotation with a complex step."""
    W = R.real.T @ R.imag / STEP
    return np.array([W[2, 1], W[0, 2], W[1, 0]])
