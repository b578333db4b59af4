"""
A simulated arm: state, time, and what happens when time goes on.

Python only keeps the state; the steps between two calls are one compiled call without the GIL.
"""

import numbers
from typing import NamedTuple

import numpy as np

from flex_robot_sim.adaptive import advance_adaptively
from flex_robot_sim.deflection import Deflections
from flex_robot_sim.dynamics import implicit_dynamics, inverse_dynamics
from flex_robot_sim.energy import set_energies
from flex_robot_sim.exceptions import SettingError, SimulationError
from flex_robot_sim.integrators import SCHEMES, advance
from flex_robot_sim.jacobians import jacobian, pose, twist, twist_rate
from flex_robot_sim.loads import Push, make_loads, payload_inertia, set_loads
from flex_robot_sim.mass import refuse_massless
from flex_robot_sim.model import make_workspace
from flex_robot_sim.settings import SimulationSettings
from flex_robot_sim.stability import longest_step, rounded_down
from flex_robot_sim.tangent import checked, driven
from flex_robot_sim.validity import lines_of, make_watch, turn_limits

STEPS_AT_ONCE = 10000       # between two looks at whether the user pressed Ctrl-C


class Energy(NamedTuple):
    """Where the energy is [J]; `balance` is zero but for errors of the integration."""

    kinetic: float
    strain: float           # in elastic links, gears and stops
    gravity: float
    work: float             # done by motors and loads since the start
    dissipated: float       # since the start
    balance: float


class Simulation:
    """An arm in motion."""

    def __init__(self, arm, settings=None):
        """Start `arm` (ArmModel) at rest in its zero position."""
        if arm.arrays.modes.size == 0 or arm.size == 0:
            raise SettingError('the arm has no coordinates: it has nothing to simulate')
        refuse_massless(arm)
        self.arm, self.settings = arm, settings or SimulationSettings()
        self.time = 0.0
        self._effort = np.zeros(len(arm.joint_names))
        self.reports = []           # lines about a state beyond the validity of the model
        # the payload may change, so the inertias are a copy
        self._arrays = arm.arrays._replace(inertia=arm.arrays.inertia.copy())
        self._work = make_workspace(self._arrays)
        self._q, self._qd, self._qdd = np.zeros((3, arm.size))
        self._stage, self._flow = np.zeros((8, arm.size)), np.zeros(2)
        self._driven = driven(arm)
        self._payload, self._pushes = {}, {}
        self._loads = make_loads(arm)
        self._watch, self._reported = make_watch(arm, self.settings), set()
        self._start_energy = self._energies().sum()
        self._refuse_unstable_step(0.0, 0.0)

    @property
    def effort(self):
        """Efforts of the motors, (joints,) [N m, N]: set them all, or one of them."""
        return self._effort

    @effort.setter
    def effort(self, values):
        self._effort[:] = checked('effort', values, self.arm.joint_names)

    @property
    def applied_effort(self):
        """What the motors apply now, servo included, (joints,) [N m, N]."""
        work = self._work
        pull = (self._effort + work.servo_stiffness * (work.target - self.motor_position)
                - work.servo_damping * self.motor_velocity)
        return np.clip(pull, -work.effort_limit, work.effort_limit)

    @property
    def position(self):
        """Joint positions on the link side, (joints,) [rad, m]."""
        return self._q[:self._effort.size].copy()

    @property
    def velocity(self):
        """Joint velocities on the link side, (joints,) [rad/s, m/s]."""
        return self._qd[:self._effort.size].copy()

    @property
    def motor_position(self):
        """Joint positions on the motor side, behind the gear, (joints,) [rad, m]."""
        return self._q[self._driven]

    @property
    def motor_velocity(self):
        """Joint velocities on the motor side, behind the gear, (joints,) [rad/s, m/s]."""
        return self._qd[self._driven]

    @property
    def coordinates(self):
        """All coordinates, in the order of arm.coordinate_names, (n,)."""
        return self._q.copy()

    @property
    def rates(self):
        """Rates of all coordinates, (n,)."""
        return self._qd.copy()

    @property
    def deflection(self):
        """Tip translation and rotation vector, (6,) [m, rad], of each flexible link, by name."""
        return Deflections(self.arm, self.coordinates)

    def set_state(self, position=None, velocity=None, coordinates=None, rates=None):
        """
        Put the arm somewhere else; time goes on.

        :param position: of the joints, motor and link side, (joints,); elastic parts straight.
        :param coordinates: all of them, (n,), instead of a position; likewise rates.
        """
        q, qd = np.zeros((2, self.arm.size))
        for name, values, all_name, total, out in (
                ('position', position, 'coordinates', coordinates, q),
                ('velocity', velocity, 'rates', rates, qd)):
            if total is not None:
                if values is not None:
                    raise SettingError(f'{name} and {all_name} say the same: give one of them')
                out[:] = checked(all_name, total, self.arm.coordinate_names)
            elif values is not None:
                values = checked(name, values, self.arm.joint_names)
                out[:values.size] = values
                out[self._driven] = values
        self._q[:], self._qd[:], self._qdd[:] = q, qd, 0.0
        self._flow[:] = 0.0
        self._start_energy = self._energies().sum()

    def reset(self):
        """
        Put the arm back to rest in its zero position, without efforts, servo and pushes.

        Time goes on, and payloads stay.
        """
        self._effort[:] = 0.0
        self.hold(np.zeros(self._effort.size), 0.0, 0.0)
        self._pushes.clear()
        self._loads = make_loads(self.arm)
        self._reported.clear()
        self.reports.clear()
        self._watch.bent[:] = self._watch.turned[:] = -1
        self.set_state()

    def hold(self, target, stiffness, damping):
        """
        Let motors pull towards `target` with PD gains, on top of `effort`; zero gains let go.

        :param target: (joints,) [rad, m].
        :param stiffness: one or (joints,) [N m/rad, N/m]; damping: likewise [N m s/rad, N s/m].
        """
        names, work = self.arm.joint_names, self._work
        gains = [checked(name, values if np.ndim(values) else [values] * len(names), names)
                 for name, values in (('stiffness', stiffness), ('damping', damping))]
        if min(gain.min(initial=0.0) for gain in gains) < 0:
            raise SettingError('stiffness and damping of a servo must be >= 0')
        target = checked('target', target, names)
        if np.any(np.array(gains) != [work.servo_stiffness, work.servo_damping]):
            self._refuse_unstable_step(*gains)
        work.target[:] = target
        work.servo_stiffness[:], work.servo_damping[:] = gains

    def push(self, link, force=(0.0, 0.0, 0.0), moment=(0.0, 0.0, 0.0), point=(0.0, 0.0, 0.0),
             follows=False):
        """
        Push at a link until told otherwise; without force and moment, let go.

        :param force: [N] and moment [N m], (3,), in the base frame, or in the link frame if it
            `follows` the link.
        :param point: where the force acts, in the link frame (3,) [m].
        """
        pushes = {**self._pushes, link: Push(link, force, moment, point, follows)}
        self._loads = make_loads(self.arm, pushes.values())
        if not np.any(force) and not np.any(moment):
            del pushes[link]
        self._pushes = pushes

    def set_payload(self, link, mass, centre=(0.0, 0.0, 0.0), inertia=None):
        """
        Fix a body to a link, in place of the payload it had.

        :param mass: [kg]; centre: of mass in the link frame (3,) [m]; inertia: about it, in the
            axes of the link (3, 3) [kg m2].
        """
        frame = self._frame(link)
        if frame.body < 0:
            raise SettingError(f'link "{link}" is fixed to the base and carries no payload')
        added = payload_inertia(link, frame, mass, centre, inertia)
        before = self._energies().sum()
        self._payload[link] = (frame.body, added)
        self._arrays.inertia[:] = self.arm.arrays.inertia
        for body, matrix in self._payload.values():
            self._arrays.inertia[body] += matrix
        self._watch.turn[:] = turn_limits(self.arm, self._arrays, self.settings)
        self._start_energy += self._energies().sum() - before       # what the payload brings

    def advance_to(self, time):
        """Go on until `time` [s], to the nearest whole step."""
        if not np.isfinite(time):
            raise SettingError(f'time = {time!r} must be finite [s]')
        steps = round((time - self.time) / self.settings.time_step)
        if steps < 0:
            raise SettingError(f'time = {time!r} is over: it is {self.time:.6g} s by now')
        if steps > 0:
            self.step(steps)

    def step(self, steps=1):
        """Take steps of settings.time_step; SimulationError leaves the last good state."""
        if not isinstance(steps, numbers.Integral) or steps < 1:
            raise SettingError(f'steps = {steps!r} must be a whole number > 0')
        checked('effort', self._effort, self.arm.joint_names)
        h, start = float(self.settings.time_step), self.time
        # Ctrl-C stops the reference anywhere, and time must keep up with the state
        at_once = 1 if self.settings.scheme == 'reference' else STEPS_AT_ONCE
        for first in range(0, steps, at_once):
            asked = min(at_once, steps - first)
            done = self._advance(h, asked)
            self.time = start + (first + done) * h
            self.reports.extend(lines_of(
                self.arm, self.settings, self._watch, self._reported,
                lambda step, first=first: start + (first + step + 1) * h))
            if done < asked:
                raise SimulationError(f'the state is not finite after {self.time:.6g} s; the last '
                                      'good one is kept. Take a shorter time_step or smaller '
                                      'efforts')

    def _advance(self, h, steps):
        motion = self._q, self._qd, self._qdd, self._effort, h, steps, self._flow, self._watch
        if self.settings.scheme == 'reference':
            return advance_adaptively(self._arrays, self._loads, *motion, self._work)
        return advance(self._arrays, self._loads, SCHEMES[self.settings.scheme],
                       self.settings.iterations, *motion, self._stage, self._work)

    def pose(self, link, station=None):
        """
        Pose (4, 4) of a link in the base frame, deflections included [-, m].

        :param station: None: the frame of the link. A distance from the root along a flexible
            link [m], or 'tip': its section there, x along the beam.
        """
        return pose(self.arm, self._q, link, station, self._work)

    def jacobian(self, link, representation='body', station=None):
        """
        Jacobian (6, n) from the rates of all coordinates to the twist of a link.

        :param representation: 'body', 'spatial', 'hybrid' or 'mixed', see twists.py.
        :param station: see `pose`.
        """
        return jacobian(self.arm, self._q, link, representation, station, self._work)

    def twist(self, link, representation='body', station=None):
        """Angular and linear velocity (6,) [rad/s, m/s] of a link; see `jacobian`."""
        return twist(self.arm, self._q, self._qd, link, representation, station, self._work)

    def twist_rate(self, link, representation='body', station=None):
        """Rate (6,) [rad/s2, m/s2] of the twist of a link under the present efforts and pushes."""
        return twist_rate(self.arm, self._q, self._qd, self._accelerations(), link,
                          representation, station, self._work)

    def wrench(self, joint):
        """Moment and force (6,) [N m, N] that a joint passes on to its link, in the link frame."""
        if joint not in self.arm.carried_bodies:
            raise SettingError(f'no joint "{joint}" carries a body. Known: '
                               f'{", ".join(self.arm.carried_bodies)}')
        body, frame = self.arm.carried_bodies[joint]
        inverse_dynamics(self._arrays, self._q, self._qd, self._accelerations(), self._work,
                         np.zeros(self.arm.size))
        moment, pull = self._work.F[body, :3], self._work.F[body, 3:]
        return np.concatenate([frame.R.T @ (moment - np.cross(frame.p, pull)), frame.R.T @ pull])

    def energy(self):
        """Return the Energy of the arm, and whether it adds up."""
        kinetic, strain, gravity = self._energies()
        done, taken = self._flow
        balance = kinetic + strain + gravity + taken - done - self._start_energy
        return Energy(*map(float, (kinetic, strain, gravity, done, taken, balance)))

    def _accelerations(self):
        """Accelerations of all coordinates (n,) at this instant."""
        qdd = np.zeros(self.arm.size)
        set_loads(self._arrays, self._loads, self._q, self._qd, self._work)
        implicit_dynamics(self._arrays, self._q, self._qd, self._effort, 0.0, qdd, self._work, qdd)
        return qdd

    def _energies(self):
        out = np.zeros(3)
        set_energies(self._arrays, self._q, self._qd, self._work, out)
        return out

    def _frame(self, link):
        if link not in self.arm.frames:
            raise SettingError(f'no link "{link}". Known: {", ".join(self.arm.frames)}')
        return self.arm.frames[link]

    def _refuse_unstable_step(self, stiffness, damping):
        """Raise SettingError if an explicit scheme cannot follow the arm with such a servo."""
        h, scheme = self.settings.time_step, self.settings.scheme
        longest = longest_step(self._arrays, scheme, stiffness, damping)
        if h > longest:
            remedy = (f'the longest step that works is {rounded_down(longest):.3g} s' if longest
                      else 'no step works, because some mode is undamped')
            raise SettingError(f'time_step = {h:g} s is too long for {scheme}: {remedy}')
