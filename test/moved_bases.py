"""Motions of a moved base, and robots whose base is moved by a joint instead."""

import re

import numpy as np

ROLLED = (
    '<link name="sea"/><joint name="roll" type="continuous"><parent link="sea"/>'
    '<child link="{base}"/><axis xyz="{axis}"/></joint><link name="{base}"><inertial>'
    '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)


def on_a_joint(text, axis):
    """Return a robot whose base link is carried by a joint `roll` about an axis."""
    base = re.findall('<link name="([^"]*)"', text)[0]
    pattern = f'<link name="{base}"[^>]*/>|<link name="{base}">.*?</link>'
    joint = ROLLED.format(base=base, axis=' '.join(map(str, axis)))
    return re.sub(pattern, lambda match: joint, text, count=1, flags=re.DOTALL)


class Roll:
    """Sum of two sines about an axis, zero at the start [rad], and a constant rate [rad/s]."""

    def __init__(self, axis, amplitude=0.3, rate=0.0):
        self.axis, self.amplitude, self.rate = np.array(axis, float), amplitude, rate

    def angle(self, time):
        """Angle and its two rates."""
        terms = (self.amplitude, 1.1), (0.2 * self.amplitude, 2.3)
        return (
            sum(a * np.sin(w * time) for a, w in terms) + self.rate * time,
            sum(a * w * np.cos(w * time) for a, w in terms) + self.rate,
            sum(-a * w * w * np.sin(w * time) for a, w in terms),
        )

    def drive(self, time):
        """Position and velocity, for `prescribe`."""
        return self.angle(time)[:2]

    def base(self, time):
        """Pose, twist and rate of the twist, for `move_base`."""
        angle, rate, acceleration = self.angle(time)
        pose = [0, 0, 0, *(np.sin(angle / 2) * self.axis), np.cos(angle / 2)]
        return pose, [*(rate * self.axis), 0, 0, 0], [*(acceleration * self.axis), 0, 0, 0]


def ship(time):
    """Pose of a ship: surge, sway, heave, and roll, pitch, yaw about fixed axes [m, rad]."""
    x, y, z = 0.5 * np.sin(0.4 * time), 0.2 * np.sin(0.7 * time + 1), 0.4 * np.cos(0.9 * time)
    r, p, w = 0.2 * np.sin(0.8 * time), 0.1 * np.cos(1.1 * time), 0.05 * np.sin(0.3 * time)
    return x, y, z, r, p, w


def write_ship(path, times, motion=ship):
    """Write a table of a motion at times."""
    rows = [','.join(f'{value:.15g}' for value in (time, *motion(time))) for time in times]
    path.write_text('\n'.join(['time,x,y,z,roll,pitch,yaw', *rows]) + '\n')
    return path
