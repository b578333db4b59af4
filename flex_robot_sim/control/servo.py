"""
PD gains that hold an arm in all its poses, though the state comes only now and then.

Near a pose the arm obeys M x'' + D x' + K x = S u (T50), with its weight in K: what stands upright
has negative stiffness. From one state to the next the effort u stands still, and it may answer the
state before the last one, so the matrix of a step says what grows:

    x[k+1] = A x[k] + B u[k],    u[k+1] = -F x[k]    or    u[k] = -F x[k]                    (C1)

Two things limit the gains. They must be stiffer than weight pulls, or the arm falls over, however
slowly. And in the time between two states an effort must not move a drive further than it was to:
what is light at the drive, a rotor before a stiff gear or the root of a beam without a rotor, gets
away from a damper that is slow to answer, and shakes.

Friction may be more than inertia: a wrist with the friction of its gear that has 1 Hz by its
inertia alone takes minutes to its target. Its stiffness is then large enough for the rate that the
frequency asks for, against viscous friction, and for a small error at rest, against dry friction.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.joint_space_inertia import poses_within, rigid_inertia, rigid_moves
from flex_robot_sim.analysis.sampling import zero_order_hold
from flex_robot_sim.analysis.tangent import driven, tangent
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.hold_monitor import hold_tolerance
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix, refuse_massless
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.eigenproblem import eigvalsh

WISH, RATIO = 1.0, 0.7      # frequency [Hz] and damping ratio of a closed joint, alone and rigid
SLOWEST = 0.08              # frequency of a closed joint that is of any use                [Hz]
STEEPER = 2.0               # stiffness of a joint over what its weight needs: for a payload
RESERVE = 1.2               # factor by which a frequency could be higher still
ENOUGH = 0.5                # down to which a joint is slowed for the sake of its damping   [Hz]
LOW, LOWEST = 0.3, 0.1      # its ratio, where sampling limits it, above that frequency and below
LEAST_RATIO = 1e-9                  # that is as good as none, and can be divided by
LATE, AT_ONCE = 0.35, 0.7   # share of the damping that stops a drive from one state to the next,
                            # where the effort answers the state before, and where it does not
FINER = 0.8                 # from one frequency that is tried to the next
SHARES = (1.0, 0.5, 0.25)   # of that damping, tried in turn
PARTS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.1)    # of the integral action asked for, tried in turn
MORE = 1.5                  # factor by which it could be larger still
HEAVIER = 1.7               # factor of weight and inertia by which an arm may be
GROWTH = 1e-2               # of an undamped mode by rounding and the like                  [1/s]
INTEGRAL_SHARE = 0.2        # of the rate of a joint, for integral action that is added by default,
OFFSET_SHARE = 0.1          # where it would rest this far from its target, over hold_tolerance
DRY_SHARE = 0.2             # the same, that the stiffness of a default servo allows without it


class Sampling(NamedTuple):
    """When a controller sees the state."""

    period: float               # between two states, 0: always                             [s]
    is_late: bool = True        # whether an effort acts a period after its state


ALWAYS = Sampling(0.0, False)


@dataclass(frozen=True, eq=False)
class Servo:
    """Gains of the joints of an arm."""

    stiffness: np.ndarray       # (joints,)                                 [N m/rad, N/m]
    damping: np.ndarray         # (joints,)                                 [N m s/rad, N s/m]
    frequency: float            # of the slowest closed joint if the arm were rigid         [Hz]
    complaint: str = ''         # why they do not hold the arm, and what would help
    integral: np.ndarray | None = None  # (joints,)  rates of an integral action         [1/s]


class ServoFit:
    """An arm near poses, and the gains that hold it there."""

    def __init__(self, arm: ArmModel, sampling: Sampling, feedback: str = 'motor',
                 poses: np.ndarray | None = None) -> None:
        """
        Look at the arm in its poses.

        :param arm: ArmModel; sampling: Sampling of the controller.
        :param feedback: side of the drives that is measured, 'motor' or 'link'.
        :param poses: (poses, joints) [rad, m]; default: all over its range.
        """
        refuse_massless(arm)
        self.arm, self.sampling = arm, sampling
        self._loops = [_Loop(arm, pose, sampling, feedback)
                       for pose in (poses_within(arm) if poses is None else poses)]
        self.inertia = np.max([np.diag(loop.inertia) for loop in self._loops], axis=0)
        # rates of a fall of the arm if nothing bends: it needs more than their square
        self.fall = math.sqrt(max(0.0, *(
            eigvalsh(-loop.pull, np.diag(self.inertia))[-1]
            for loop in self._loops)))
        # a matrix whose rows weigh more on the diagonal than beside it is positive
        self._upright = np.minimum(
            STEEPER * self.fall**2 * self.inertia,
            STEEPER * np.max([np.abs(loop.pull).sum(axis=1) for loop in self._loops], axis=0))
        self._light = np.min([loop.light for loop in self._loops], axis=0)
        self.has_friction = bool((arm.arrays.viscous + arm.arrays.coulomb
                                  + arm.arrays.stiction).any())

    def servo(self, frequency: float = WISH, ratio: float = RATIO) -> Servo:
        """
        Return the Servo that comes nearest to a frequency [Hz] and a damping ratio.

        Where its weight needs more than that frequency, it is higher; where the state comes too
        rarely for it, lower, down to SLOWEST.
        """
        need = math.sqrt(STEEPER) * self.fall / (2 * math.pi)
        wish = max(frequency, need)
        least = min(SLOWEST, wish)
        while wish >= max(least, need):
            for meets_friction in (True, False) if self.has_friction else (False,):
                for share in SHARES if self.sampling.period else SHARES[:1]:
                    servo = self._limited(wish, ratio, share, meets_friction)
                    if servo.frequency >= least and self.holds(servo):
                        return servo
            if wish == need:
                break
            wish = max(FINER * wish, need)
        return self._least_evil(max(frequency, need), ratio)

    def holds(self, servo: Servo, reserves: Iterable[float] = (1.0, RESERVE)) -> bool:
        """Whether nothing grows in any pose, nor with gains that are higher by a reserve."""
        for i, loop in enumerate(self._loops):
            if any(loop.growth(factor**2 * servo.stiffness, factor * servo.damping) > GROWTH
                   for factor in reserves):
                # the pose that fails is the first to be asked next time
                self._loops.insert(0, self._loops.pop(i))
                return False
        return True

    def with_integral(self, servo: Servo, share: float) -> Servo:
        """
        Return a Servo with integral action (C29), at most of a share of the rate of each joint.

        It is less where the arm would not come to rest, in any pose, with half as much again, nor
        with a payload that makes it HEAVIER; and none where even a small part is too much.
        """
        if share == 0.0 or not self.holds(servo, (1.0,)):
            return servo
        with np.errstate(divide='ignore', invalid='ignore'):
            rates = share * np.sqrt(servo.stiffness / self.inertia)
        # gains that are less are as an arm that is heavier, and so is its weight
        cases = [(1.0, MORE)] + [(1 / HEAVIER, 1.0)] * self.holds(servo, (HEAVIER**-0.5,))
        for part in PARTS:
            if all(loop.growth(factor * servo.stiffness, factor * servo.damping,
                               integral=more * part * rates) <= GROWTH
                   for factor, more in cases for loop in self._loops):
                return replace(servo, integral=part * rates)
        return replace(servo, complaint=servo.complaint or (
            f'{self.arm.description.name} does not bear integral action with these gains: give '
            'more damping, or shorter periods'))

    def with_default_integral(self, servo: Servo, feeds_weight: bool = True) -> Servo:
        """
        Return a Servo with integral action where a joint would otherwise stay off its target.

        :param feeds_weight: whether the efforts that carry the weight are fed forward.
        """
        allowed = OFFSET_SHARE * hold_tolerance(self.arm)
        needed = self.offsets(servo, feeds_weight) > allowed
        if not needed.any() or servo.complaint:
            return servo
        found = self.with_integral(servo, INTEGRAL_SHARE)
        return servo if found.integral is None else replace(
            found, integral=np.where(needed, found.integral, 0.0))

    def offsets(self, servo: Servo, feeds_weight: bool = True) -> np.ndarray:
        """Largest distances (joints,) from targets at rest without integral action [rad, m]."""
        arrays = self.arm.arrays
        effort = arrays.coulomb + arrays.stiction
        if not feeds_weight:
            effort = effort + np.max(np.abs([
                carrying_efforts(self.arm, pose) for pose in poses_within(self.arm)]), axis=0)
        return np.divide(effort, servo.stiffness, where=servo.stiffness > 0.0,
                         out=np.zeros(effort.size))

    def judged(self, stiffness: np.ndarray, damping: np.ndarray) -> Servo:
        """Return the Servo of given gains (joints,), with a complaint if they do not hold."""
        servo = self._servo(stiffness, damping)
        name = self.arm.description.name
        if not all(loop.carries(stiffness) for loop in self._loops):
            return self._servo(stiffness, damping, (
                f'{name} falls over: its weight is stiffer than its gains in some poses. Give a '
                f'bandwidth of {1.1 * math.sqrt(STEEPER) * self.fall / (2 * math.pi):.2g} Hz or '
                'more, or none'))
        if self.holds(servo, (1.0,)):
            return servo
        if any(loop.growth(stiffness, damping, is_sampled=False) > GROWTH for loop in self._loops):
            return self._servo(stiffness, damping, (
                f'{name} does not come to rest: its links give way under its weight, whatever '
                'the gains. Stiffen them'))
        return self._servo(stiffness, damping, self._too_light(damping))

    def _friction_stiffness(self, rate, ratio):
        """Stiffness (joints,) that moves joints of much friction at a rate [1/s]."""
        arrays = self.arm.arrays
        dry = (arrays.coulomb + arrays.stiction) / (DRY_SHARE * hold_tolerance(self.arm))
        return np.maximum(dry, arrays.viscous * rate / (2 * max(ratio, RATIO)))

    def _limited(self, frequency, ratio, share, meets_friction=False):
        """Gains of a frequency and a ratio, less where the sampling needs it."""
        rate, inertia = 2 * math.pi * frequency, self.inertia
        ratio = max(ratio, LEAST_RATIO)
        stiffness = inertia * rate**2
        if meets_friction:
            stiffness = np.maximum(stiffness, self._friction_stiffness(rate, ratio))
        damping = 2 * ratio * np.sqrt(stiffness * inertia)
        if self.sampling.period:
            most = share * (LATE if self.sampling.is_late else AT_ONCE)
            damping = np.minimum(damping, most * self._light / self.sampling.period)
            well, badly = ((damping / (2 * min(least, ratio)))**2 / inertia
                           for least in (LOW, LOWEST))
            soft = np.maximum(well, np.minimum(badly, inertia * (2 * math.pi * ENOUGH)**2))
            stiffness = np.minimum(stiffness, np.maximum(soft, self._upright))
        return self._servo(stiffness, damping)

    def _servo(self, stiffness, damping, complaint=''):
        with np.errstate(divide='ignore', invalid='ignore'):
            rate = math.sqrt(np.min(stiffness / self.inertia))
        return Servo(stiffness, damping, rate / (2 * math.pi), complaint)

    def _least_evil(self, frequency, ratio):
        """Gains for an arm that none hold: those with which it goes astray most slowly."""
        ideal = self._servo(*self._gains(frequency, ratio))
        tried = [self._limited(frequency, ratio, share) for share in SHARES]
        tried += [self._servo(0.0 * servo.stiffness, servo.damping) for servo in tried]
        servo = min(tried, key=lambda servo: max(
            loop.growth(servo.stiffness, servo.damping) for loop in self._loops))
        if not self.sampling.period or any(
                loop.growth(ideal.stiffness, ideal.damping, is_sampled=False) > GROWTH
                for loop in self._loops):
            return self.judged(servo.stiffness, servo.damping)
        return self._servo(servo.stiffness, servo.damping, self._too_light(ideal.damping))

    def _gains(self, frequency, ratio):
        rate = 2 * math.pi * frequency
        return self.inertia * rate**2, 2 * ratio * self.inertia * rate

    def _too_light(self, damping):
        """Line about drives that are too light to be held by so rare states."""
        arm, sampling = self.arm, self.sampling
        enough = damping * sampling.period / (LATE if sampling.is_late else AT_ONCE)
        gears = [arm.description.joint(name).gear_ratio for name in arm.joint_names]
        wanted = [f'{name} {_rounded_up(inertia / gear**2):g}' for name, gear, inertia, light
                  in zip(arm.joint_names, gears, enough, self._light) if light < inertia]
        remedies = [f'rotor_inertia to {", ".join(wanted)} [kg m2, kg]'] if wanted else []
        if arm.size > len(arm.joint_names) or not wanted:
            remedies.append('damping to what bends')
        return (f'no gains hold {arm.description.name} by states every '
                f'{1e3 * sampling.period:g} ms: drives too light for what they move shake. Give '
                f'{" and ".join(remedies)}, or shorter periods')


def _rounded_up(value):
    """Round a value up to one digit."""
    digit = 10.0**math.floor(math.log10(value))
    return math.ceil(value / digit) * digit


class _Loop:
    """An arm near a pose, from one state to the next."""

    def __init__(self, arm, pose, sampling, feedback):
        moves, drives, n = rigid_moves(arm), driven(arm), arm.size
        q, rest = moves @ pose, np.zeros(n)
        K = tangent(arm, make_loads(arm), q, rest, rest)[1]
        # friction holds at rest, and does not in motion
        M, D = mass_matrix(arm.arrays, q), spring_matrices(arm.arrays)[1]
        self.inertia = rigid_inertia(arm, pose)
        pull = moves.T @ K @ moves
        self.pull = (pull + pull.T) / 2
        push = np.eye(n)[:, drives]
        inverse = np.linalg.inv(M)
        self._A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ D]])
        self._B = np.vstack([np.zeros_like(push), inverse @ push])
        self._seen = np.arange(drives.size) if feedback == 'link' else drives
        self._sampling = sampling
        self._step = (zero_order_hold(self._A, self._B, sampling.period) if sampling.period
                      else None)
        self.light = 1.0 / np.diag(inverse)[drives]

    def carries(self, stiffness):
        """Whether an arm that does not bend stays up with a stiffness (joints,)."""
        return np.linalg.eigvalsh(self.pull + np.diag(stiffness))[0] > 0.0

    def growth(self, stiffness, damping, is_sampled=True, integral=None):
        """
        Rate [1/s] at which the motion grows that grows most, with gains (joints,) each.

        :param integral: rates of integral action (joints,), or None [1/s].
        """
        if integral is not None:
            return self._growth_with(stiffness, damping, integral)
        n, joints = self._B.shape
        F, rows = np.zeros((joints, n)), np.arange(joints)
        F[rows, self._seen], F[rows, n // 2 + self._seen] = stiffness, damping
        period = self._sampling.period
        if not (is_sampled and period):
            return np.linalg.eigvals(self._A - self._B @ F).real.max()
        A, B = self._step
        step = A - B @ F
        if self._sampling.is_late:
            step = np.block([[A, B], [-F, np.zeros((joints, joints))]])
        return math.log(np.abs(np.linalg.eigvals(step)).max()) / period


    def _growth_with(self, stiffness, damping, integral):
        """Likewise, with what is summed up as states v' = -s w K y."""
        n, joints = self._B.shape
        F, rows = np.zeros((joints, n)), np.arange(joints)
        F[rows, self._seen], F[rows, n // 2 + self._seen] = stiffness, damping
        summed = np.zeros((joints, n))
        summed[rows, self._seen] = integral * stiffness
        period, one = self._sampling.period, np.eye(joints)
        if not period:
            return np.linalg.eigvals(np.block([
                [self._A - self._B @ F, self._B],
                [-summed, np.zeros((joints, joints))]])).real.max()
        A, B = self._step
        summed *= period
        if self._sampling.is_late:
            step = np.block([[A, B, 0 * B], [-F - summed, 0 * one, one], [-summed, 0 * one, one]])
        else:
            step = np.block([[A - B @ (F + summed), B], [-summed, one]])
        return math.log(np.abs(np.linalg.eigvals(step)).max()) / period


def fitting_servo(arm: ArmModel, sampling: Sampling = ALWAYS, feedback: str = 'motor',
                  frequency: float = WISH, ratio: float = RATIO) -> Servo:
    """
    Return the Servo that holds an ArmModel in all its poses; see ServoFit.

    Without frequency and ratio, these are the default gains of all commands and nodes.
    """
    fit = ServoFit(arm, sampling, feedback)
    return fit.with_default_integral(fit.servo(frequency, ratio))


def servo_line(arm: ArmModel, servo: Servo, ratio: float = RATIO) -> str:
    """Return a line about default gains, for people."""
    arrays = arm.arrays
    friction = ' and friction' * bool((arrays.viscous + arrays.coulomb + arrays.stiction).any())
    line = (f'gains: {servo.frequency:.3g} Hz, damping ratio {ratio:g}, by joint-space inertia'
            f'{friction}')
    if servo.integral is None or not servo.integral.any():
        return line
    names = ', '.join(arm.joint_names[k] for k in np.flatnonzero(servo.integral))
    return f'{line}; integral action at {names}'
