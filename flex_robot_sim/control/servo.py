"""
PD gains that hold an arm in all its poses with sampled, delayed states.

Near a pose the arm obeys M x'' + D x' + K x = S u (T50). K includes the weight: an upright pose
has negative stiffness. The effort u is constant from one state to the next and may be one period
late. The eigenvalues of the step matrix show whether the loop is stable:

    x[k+1] = A x[k] + B u[k],    u[k+1] = -F x[k]    or    u[k] = -F x[k]                    (C1)

Two things limit the gains. The stiffness must exceed that of the weight, or the arm falls over,
however slowly. The damping is limited by the inertia at the drive: a rotor before a stiff gear, or
the root of a beam without a rotor, is light. A late damper moves it too far, and it oscillates.

Friction may dominate inertia: a wrist with gear friction and a stiffness for 1 Hz by its inertia
alone takes minutes to reach its target. The stiffness is then raised. It has to reach the rate of
the frequency against viscous friction, and a small error at rest against dry friction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.control.free_base import actuated_arm
from flex_robot_sim.control.gains import Servo, carrying_efforts
from flex_robot_sim.control.sampled_pose import SampledPose
from flex_robot_sim.control.steady_state_error import friction_band, hold_tolerance
from flex_robot_sim.dynamics.mass_matrix import refuse_massless
from flex_robot_sim.model.arguments import expect_arm, expect_motors, number_or_nan
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import VISCOUS, has_friction, static_frictions
from flex_robot_sim.simulation.loop_timing import LoopTiming, checked_timing
from flex_robot_sim.util.eigenproblem import eigvalsh
from flex_robot_sim.util.exceptions import SettingError, shortened

# frequency [Hz] and damping ratio of a closed joint, alone and rigid
DEFAULT_FREQUENCY, DEFAULT_RATIO = 1.0, 0.7
MIN_FREQUENCY = 0.08  # lowest useful frequency of a closed joint                     [Hz]
STIFFNESS_RESERVE = 2.0  # stiffness over what the weight needs: for a payload
FREQUENCY_RESERVE = 1.2  # factor on the frequency that must stay stable
SLOW_JOINT_FREQUENCY = 0.5  # lower limit of slowing a joint for its damping [Hz]
MIN_RATIO, MIN_RATIO_SLOW = 0.3, 0.1  # damping ratio with sampling, above and below this frequency
SMALLEST_RATIO = 1e-9  # replaces 0, to divide by it
# over the damping that stops a drive within a period,
# if efforts are a period late, and if they are not
MAX_DAMPING_LATE, MAX_DAMPING_PROMPT = 0.35, 0.7
FREQUENCY_STEP_RATIO = 0.8  # ratio of successive trial frequencies
DAMPING_SHARES = (1.0, 0.5, 0.25)  # of that damping, in trial order
INTEGRAL_FACTORS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.1)  # on integral rates, in trial order
INTEGRAL_RESERVE = 1.5  # factor on them that must stay stable
PAYLOAD_RESERVE = 1.7  # factor on weight and inertia of the arm
MAX_GROWTH = 1e-2  # growth within rounding errors, which counts as stable [1/s]
DEFAULT_INTEGRAL_SHARE = 0.2  # share of the joint rate, for default integral action
MAX_OFFSET_SHARE = 0.1  # offset at rest that triggers it, over hold_tolerance
MAX_DRY_SHARE = 0.2  # the same, for the stiffness of default gains without integral action


CONTINUOUS = LoopTiming(0.0, 0.0)


class ServoFit:
    """Linear models of an arm at several poses, and gains that stabilise all of them."""

    def __init__(
        self,
        arm: ArmModel,
        sampling: LoopTiming,
        feedback: str = 'motor',
        poses: np.ndarray | None = None,
    ) -> None:
        """
        Linearise the arm at its poses.

        :param sampling: LoopTiming of the controller, with a delay of 0 or one period.
        :param feedback: side of the drives that is measured, 'motor' or 'link'.
        :param poses: (poses, joints) [rad, m]; default: samples of the joint range.
        """
        arm = actuated_arm(arm)
        refuse_massless(arm)
        self.arm, self.sampling = arm, sampling
        self._loops = [
            SampledPose(arm, pose, sampling, feedback)
            for pose in (poses_within(arm) if poses is None else poses)
        ]
        # of passive joints, it is zero, as are their gains
        self.inertia = np.max([np.diag(loop.inertia) for loop in self._loops], axis=0)
        self._driven = driven = np.flatnonzero(self.inertia)
        if not driven.size:
            raise SettingError(f'"{arm.description.name}" has no motor to control')
        block, inertia = np.ix_(driven, driven), np.diag(self.inertia[driven])
        # fall rate of the rigid arm; stiffness over inertia must exceed its square
        self.fall_rate = math.sqrt(
            max(
                0.0, *(eigvalsh(-loop.joint_stiffness[block], inertia)[-1] for loop in self._loops)
            )
        )
        # a diagonally dominant matrix is positive definite
        self._min_stiffness = np.minimum(
            STIFFNESS_RESERVE * self.fall_rate**2 * self.inertia,
            STIFFNESS_RESERVE
            * np.max([np.abs(loop.joint_stiffness).sum(axis=1) for loop in self._loops], axis=0),
        )
        self._drive_inertia = np.min([loop.light for loop in self._loops], axis=0)
        self.has_friction = has_friction(arm.arrays.friction)

    def servo(self, frequency: float = DEFAULT_FREQUENCY, ratio: float = DEFAULT_RATIO) -> Servo:
        """
        Return the Servo nearest to a frequency [Hz] and a damping ratio.

        The frequency is higher if the weight needs it, and lower if the state period is too long
        for it, down to MIN_FREQUENCY.
        """
        required = math.sqrt(STIFFNESS_RESERVE) * self.fall_rate / (2 * math.pi)
        wanted = max(frequency, required)
        lowest = min(MIN_FREQUENCY, wanted)
        while wanted >= max(lowest, required):
            for meets_friction in (True, False) if self.has_friction else (False,):
                for share in DAMPING_SHARES if self.sampling.period else DAMPING_SHARES[:1]:
                    servo = self._limited(wanted, ratio, share, meets_friction)
                    if servo.frequency >= lowest and self.holds(servo):
                        return servo
            if wanted == required:
                break
            wanted = max(FREQUENCY_STEP_RATIO * wanted, required)
        return self._slowest_divergence(max(frequency, required), ratio)

    def holds(self, servo: Servo, reserves: Iterable[float] = (1.0, FREQUENCY_RESERVE)) -> bool:
        """Whether the loop is stable in all poses, also with gains scaled by each reserve."""
        for i, loop in enumerate(self._loops):
            if any(
                loop.growth(factor**2 * servo.stiffness, factor * servo.damping) > MAX_GROWTH
                for factor in reserves
            ):
                # the pose that fails is checked first next time
                self._loops.insert(0, self._loops.pop(i))
                return False
        return True

    def with_integral(self, servo: Servo, share: float) -> Servo:
        """
        Return a Servo with integral action (C29), at most a share of the rate of each joint.

        The rates are reduced until every pose is stable with INTEGRAL_RESERVE and with the weight
        of PAYLOAD_RESERVE. If even the smallest factor is unstable, there is no integral action.
        """
        if share == 0.0 or not self.holds(servo, (1.0,)):
            return servo
        rates = share * np.sqrt(self._over_inertia(servo.stiffness))
        # lower gains are equivalent to a heavier arm
        cases = [(1.0, INTEGRAL_RESERVE)] + [(1 / PAYLOAD_RESERVE, 1.0)] * self.holds(
            servo, (PAYLOAD_RESERVE**-0.5,)
        )
        for part in INTEGRAL_FACTORS:
            if all(
                loop.growth(
                    factor * servo.stiffness,
                    factor * servo.damping,
                    integral=reserve * part * rates,
                )
                <= MAX_GROWTH
                for factor, reserve in cases
                for loop in self._loops
            ):
                return replace(servo, integral=part * rates)
        return replace(
            servo,
            warning=servo.warning
            or (
                f'{self.arm.description.name} does not bear integral action with these gains: '
                'give more damping, or shorter periods'
            ),
        )

    def with_default_integral(self, servo: Servo, feeds_weight: bool = True) -> Servo:
        """Servo with integral action for joints that would rest away from their targets."""
        allowed = MAX_OFFSET_SHARE * hold_tolerance(self.arm)
        needed = self.offsets(servo, feeds_weight) > allowed
        if not needed.any() or servo.warning:
            return servo
        candidate = self.with_integral(servo, DEFAULT_INTEGRAL_SHARE)
        if candidate.integral is None:
            return servo
        return replace(candidate, integral=np.where(needed, candidate.integral, 0.0))

    def offsets(self, servo: Servo, feeds_weight: bool = True) -> np.ndarray:
        """Largest distances (joints,) from targets at rest without integral action [rad, m]."""
        effort = static_frictions(self.arm.arrays.friction)
        if not feeds_weight:
            effort = effort + np.max(
                np.abs([carrying_efforts(self.arm, pose) for pose in poses_within(self.arm)]),
                axis=0,
            )
        return np.divide(
            effort, servo.stiffness, where=servo.stiffness > 0.0, out=np.zeros(effort.size)
        )

    def evaluate(self, stiffness: np.ndarray, damping: np.ndarray) -> Servo:
        """Return the Servo with these gains (joints,), and a warning if it is unstable."""
        expect_motors(self.arm, 'position_gain', stiffness)
        expect_motors(self.arm, 'velocity_gain', damping)
        servo = self._servo(stiffness, damping)
        name = self.arm.description.name
        if not all(loop.holds_weight(stiffness) for loop in self._loops):
            return self._servo(
                stiffness,
                damping,
                (
                    f'{name} falls over: gravity exceeds its position gains in some poses. Give '
                    'a bandwidth of '
                    f'{1.1 * math.sqrt(STIFFNESS_RESERVE) * self.fall_rate / (2 * math.pi):.2g} '
                    'Hz or more, or none'
                ),
            )
        if self.holds(servo, (1.0,)):
            return servo
        if any(
            loop.growth(stiffness, damping, is_sampled=False) > MAX_GROWTH for loop in self._loops
        ):
            return self._servo(
                stiffness,
                damping,
                (
                    f'{name} does not come to rest: its links give way under its weight, whatever '
                    'the gains. Stiffen them'
                ),
            )
        return self._servo(stiffness, damping, self._light_drives(damping))

    def _friction_stiffness(self, rate, ratio):
        """Stiffness (joints,) that joints with high friction need for a rate [1/s]."""
        arrays = self.arm.arrays
        dry = static_frictions(arrays.friction) / (MAX_DRY_SHARE * hold_tolerance(self.arm))
        viscous = arrays.friction[:, VISCOUS]
        stiffness = np.maximum(dry, viscous * rate / (2 * max(ratio, DEFAULT_RATIO)))
        return np.where(self.inertia > 0.0, stiffness, 0.0)

    def _limited(self, frequency, ratio, share, meets_friction=False):
        """Gains for a frequency and a ratio, reduced where the sampling requires it."""
        rate, inertia = 2 * math.pi * frequency, self.inertia
        ratio = max(ratio, SMALLEST_RATIO)
        stiffness = inertia * rate**2
        if meets_friction:
            stiffness = np.maximum(stiffness, self._friction_stiffness(rate, ratio))
        damping = 2 * ratio * np.sqrt(stiffness * inertia)
        if self.sampling.period:
            max_share = share * (MAX_DAMPING_LATE if self.sampling.delay else MAX_DAMPING_PROMPT)
            damping = np.minimum(damping, max_share * self._drive_inertia / self.sampling.period)
            preferred, fallback = (
                self._over_inertia((damping / (2 * min(min_ratio, ratio))) ** 2)
                for min_ratio in (MIN_RATIO, MIN_RATIO_SLOW)
            )
            highest = np.maximum(
                preferred,
                np.minimum(fallback, inertia * (2 * math.pi * SLOW_JOINT_FREQUENCY) ** 2),
            )
            stiffness = np.minimum(stiffness, np.maximum(highest, self._min_stiffness))
        return self._servo(stiffness, damping)

    def _servo(self, stiffness, damping, warning=''):
        rate = math.sqrt(np.min(self._over_inertia(stiffness)[self._driven]))
        return Servo(stiffness, damping, rate / (2 * math.pi), warning)

    def _over_inertia(self, values):
        """Return values (joints,) over the inertia, 0 at passive joints."""
        return np.divide(values, self.inertia, where=self.inertia > 0.0, out=0.0 * values)

    def _slowest_divergence(self, frequency, ratio):
        """Gains for an arm that no gains stabilise: those with the slowest divergence."""
        rate = 2 * math.pi * frequency
        ideal = self._servo(self.inertia * rate**2, 2 * ratio * self.inertia * rate)
        candidates = [self._limited(frequency, ratio, share) for share in DAMPING_SHARES]
        candidates += [self._servo(0.0 * servo.stiffness, servo.damping) for servo in candidates]
        servo = min(
            candidates,
            key=lambda servo: max(
                loop.growth(servo.stiffness, servo.damping) for loop in self._loops
            ),
        )
        if not self.sampling.period or any(
            loop.growth(ideal.stiffness, ideal.damping, is_sampled=False) > MAX_GROWTH
            for loop in self._loops
        ):
            return self.evaluate(servo.stiffness, servo.damping)
        return self._servo(servo.stiffness, servo.damping, self._light_drives(ideal.damping))

    def _light_drives(self, damping):
        """Line about drives whose inertia is too small for the state period."""
        arm, sampling = self.arm, self.sampling
        needed = (
            damping
            * sampling.period
            / (MAX_DAMPING_LATE if sampling.delay else MAX_DAMPING_PROMPT)
        )
        gears = [arm.description.joint(name).gear_ratio for name in arm.joint_names]
        wanted = [
            f'{name} {_rounded_up(inertia / gear**2):g}'
            for name, gear, inertia, light in zip(
                arm.joint_names, gears, needed, self._drive_inertia
            )
            if light < inertia
        ]
        remedies = [f'rotor_inertia to {", ".join(wanted)} [kg m2, kg]'] if wanted else []
        if arm.size > len(arm.joint_names) or not wanted:
            remedies.append('damping to the flexible parts')
        return (
            f'no gains hold {arm.description.name} by states every '
            f'{1e3 * sampling.period:g} ms: drives with too little inertia become unstable. Give '
            f'{" and ".join(remedies)}, or shorter periods'
        )


def _rounded_up(value):
    """Round a value up to one significant digit."""
    digit = 10.0 ** math.floor(math.log10(value))
    return math.ceil(value / digit) * digit


def design_servo(
    arm: ArmModel,
    *,
    frequency: float = DEFAULT_FREQUENCY,
    damping_ratio: float = DEFAULT_RATIO,
    period: float = 0.0,
    delay: float = 0.0,
) -> Servo:
    """
    Design PD gains of the joints that hold an arm in all its poses.

    Without arguments, these are the default gains of all commands and nodes.

    :param frequency: of the closed loop of a joint, alone on a rigid arm [Hz]. It is higher if
        gravity requires it, and lower if the period is too long.
    :param damping_ratio: of this loop.
    :param period: between two samples; 0: continuous [s]. delay: 0 or one period [s].

    Example::

        arm = frs.load('two_link')
        servo = frs.control.design_servo(arm, frequency=2.0)
        servo.stiffness, servo.damping, servo.warning
        modes = frs.modes(arm, [0.0, 0.5, -0.8], gains=servo.gains)
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    for name, value in (('frequency', frequency), ('damping_ratio', damping_ratio)):
        if not 0.0 < number_or_nan(value) < math.inf:
            raise SettingError(f'{name} = {shortened(repr(value), 60)} must be above 0 and finite')
    is_continuous = number_or_nan(period) == 0.0 == number_or_nan(delay)
    timing = CONTINUOUS if is_continuous else checked_timing(LoopTiming(period, delay))
    if timing.delay not in (0.0, timing.period):
        raise SettingError(f'delay = {delay!r} must be 0 or the period of {timing.period:g} s')
    fit = ServoFit(arm, timing)
    return fit.with_default_integral(fit.servo(frequency, damping_ratio))


def servo_line(arm: ArmModel, servo: Servo, ratio: float = DEFAULT_RATIO) -> str:
    """Return a line that describes default gains."""
    friction = ' and friction' * has_friction(arm.arrays.friction)
    line = (
        f'gains: {servo.frequency:.3g} Hz, damping ratio {ratio:g}, by joint-space inertia'
        f'{friction}'
    )
    if servo.integral is not None and servo.integral.any():
        names = ', '.join(arm.joint_names[k] for k in np.flatnonzero(servo.integral))
        line += f'; integral action at {names}'
    return '; '.join(filter(None, (line, friction_band(arm, servo))))
