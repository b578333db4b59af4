"""Checks of arguments: a value of the wrong kind raises SettingError with a one-line message."""

from collections.abc import Collection, Container, Sequence
from math import isfinite, nan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.guide_range import refuse_outside_guides
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.settings import SimulationSettings

MAX_WHOLE = 2**53  # larger integers are not exact as a float


def expect_arm(arm: object, *, closed_loops: bool = False, free_base: bool = False) -> None:
    """
    Raise SettingError for anything but an ArmModel, such as the name of a robot.

    :param closed_loops: whether the caller can handle an arm with constraints; free_base: the
        same for a floating or planar base.
    """
    if not isinstance(arm, ArmModel):
        raise SettingError(
            f'{shortened(repr(arm), 60)} is no arm: load one by flex_robot_sim.load(robot)'
        )
    if not closed_loops:
        refuse_closed_loops(arm)
    if not free_base:
        refuse_free_base(arm)


def refuse_free_base(arm: ArmModel) -> None:
    """Raise SettingError for an arm with a free base, in everything that needs a fixed one."""
    base = arm.description.free_joint
    if base is not None:
        raise SettingError(
            f'"{arm.description.name}" has a free base, the {base.kind} joint "{base.name}", and '
            'this needs a fixed base. A table in docs/architecture.md lists what supports free '
            'bases, as Simulation does; or make the joint fixed'
        )


def refuse_moved_base(arm: ArmModel) -> None:
    """Raise SettingError for an arm whose description moves its base."""
    motion = arm.description.base_motion
    if motion is not None:
        raise SettingError(
            f'the base of "{arm.description.name}" follows "{motion.file}", and this needs '
            'a base at rest: use Simulation, or remove <base> from <flexibility>'
        )


def refuse_closed_loops(arm: ArmModel, alternative: str = 'Simulation') -> None:
    """
    Raise SettingError for an arm with constraints, in everything that needs a tree.

    :param alternative: what to use with such an arm.
    """
    if arm.closed_loops:
        name, loop = next(iter(arm.closed_loops.items()))
        what, remedy = f'the closed loop "{name}"', 'remove <constraint> from the robot'
        if loop.constraint.kind == 'mimic':
            what, remedy = f'the mimic joint "{name}"', 'write mimic="held" in <flexibility>'
        raise SettingError(
            f'"{arm.description.name}" has {what}, and this works on trees only: use '
            f'{alternative}, or {remedy}'
        )


def settings_or_default(settings: SimulationSettings | None) -> SimulationSettings:
    """Return the settings of a caller, or the defaults for None."""
    if settings is None:
        return SimulationSettings()
    if not isinstance(settings, SimulationSettings):
        raise SettingError(
            f'settings = {shortened(repr(settings), 60)} must be SimulationSettings(time_step=...)'
        )
    return settings


def whole(name: str, value: object) -> int:
    """Return a checked positive integer."""
    if (
        not isinstance(value, (int, np.integer))
        or isinstance(value, bool)
        or not 1 <= value < MAX_WHOLE
    ):
        raise SettingError(f'{name} = {shortened(repr(value), 60)} must be a whole number > 0')
    return int(value)


def checked_seed(seed: object) -> int:
    """Return a seed; SettingError for anything but a whole number >= 0."""
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise SettingError(
            f'seed = {shortened(repr(seed), 60)} must be a whole number >= 0: it determines the '
            'random numbers'
        )
    return int(seed)


def truth(name: str, value: object) -> bool:
    """Return a checked boolean."""
    if not isinstance(value, (bool, np.bool_)):
        raise SettingError(f'{name} = {shortened(repr(value), 60)} must be True or False')
    return bool(value)


def number_or_nan(value: object) -> float:
    """Return a real number as a float for further checks; anything else becomes NaN."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else nan
    except OverflowError:
        return nan


def expect_kind(name: str, value: object, kind: type | tuple[type, ...], remedy: str) -> None:
    """Raise SettingError unless a value is an instance of a class; the remedy makes one."""
    if not isinstance(value, kind):
        raise SettingError(f'{name} = {shortened(repr(value), 60)} must be {remedy}')


def expect_one_of(name: str, value: Any, known: Collection[str]) -> None:
    """Raise SettingError unless a value is one of some names."""
    if not is_known(value, known):
        raise SettingError(
            f'{name} = {shortened(repr(value), 60)} must be one of {", ".join(known)}'
        )


def array_or_nan(values: ArrayLike) -> np.ndarray:
    """Return a new array of numbers for further checks; anything else becomes a single NaN."""
    try:
        return np.array(values, float)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


def checked(name: str, values: ArrayLike, names: Sequence[str]) -> np.ndarray:
    """Return a new array of one finite number per name."""
    array = array_or_nan(values)
    # for a few numbers, a plain loop is faster than numpy
    if array.shape != (len(names),) or not all(map(isfinite, array.tolist())):
        raise _wrong_numbers(name, names)
    return array


def one_per_name(name: str, values: ArrayLike | None, names: Sequence[str]) -> np.ndarray:
    """Return a new array of one number per name, finite or not; None: zeros."""
    return np.zeros(len(names)) if values is None else sized(name, values, names)


def sized(name: str, values: ArrayLike, names: Sequence[str]) -> np.ndarray:
    """Return a new array of one number per name, finite or not."""
    array = array_or_nan(values)
    if array.shape != (len(names),):
        raise _wrong_numbers(name, names)
    return array


def _wrong_numbers(name, names):
    return SettingError(
        f'{name} must be {len(names)} finite numbers, in this order: {", ".join(names)}'
    )


def checked_coordinates(model: ArmModel, **values: ArrayLike | None) -> list[np.ndarray]:
    """
    Return new arrays of one finite number per coordinate of an ArmModel; None: zeros.

    SettingError for a `q` with a sliding link outside its guide.
    """
    expect_arm(model, closed_loops=True, free_base=True)
    arrays = {
        name: np.zeros(model.size)
        if array is None
        else checked(name, array, model.coordinate_names)
        for name, array in values.items()
    }
    if 'q' in arrays:
        refuse_outside_guides(model, 'q', arrays['q'])
    return [*arrays.values()]


def joints_or_coordinates(arm: ArmModel, name: str, values: ArrayLike) -> np.ndarray:
    """Return all coordinates, or rates, (n,) from them or from one finite number per joint."""
    array = array_or_nan(values)
    if array.shape == (arm.size,):
        result = checked(name, array, arm.coordinate_names)
    else:
        try:
            numbers = checked(name, array, arm.joint_names)
        except SettingError as error:
            raise SettingError(f'{error}; or all {arm.size} coordinates') from None
        result = np.zeros(arm.size)
        arm.set_joints(result, numbers)
    if name == 'q':
        refuse_outside_guides(arm, name, result)
    return result


def checked_states(arm: ArmModel, name: str, values: ArrayLike) -> np.ndarray:
    """Return an array of one finite number per coordinate, or of rows of them, (..., nq)."""
    expect_arm(arm, closed_loops=True, free_base=True)
    array = array_or_nan(values)
    if array.ndim not in (1, 2) or array.shape[-1] != arm.size or not np.isfinite(array).all():
        raise SettingError(
            f'{name} must be {arm.size} finite numbers or rows of them, in this '
            f'order: {", ".join(arm.coordinate_names)}'
        )
    refuse_outside_guides(arm, name, array)
    return array


def expect_motors(arm: ArmModel, name: str, values: np.ndarray) -> None:
    """Raise SettingError for values (..., joints) that are not zero at a joint without motor."""
    for row in np.flatnonzero(~arm.actuated):
        if values[..., row].any():
            raise SettingError(
                f'{name} of joint "{arm.joint_names[row]}" must be 0: it is passive'
            )


def gains_of_motors(
    arm: ArmModel, name: str, argument: ArrayLike, values: np.ndarray
) -> np.ndarray:
    """
    Return values (..., joints) of motors, zero at passive joints.

    :param argument: what the user passes: one number applies to all motors.
    """
    if np.ndim(argument) == 0:
        return np.where(arm.actuated, values, 0.0)
    expect_motors(arm, name, values)
    return values


def positive(name: str, values: ArrayLike, names: Sequence[str]) -> np.ndarray:
    """Return an array of one finite number >= 0 per name; a scalar applies to all."""
    array = array_or_nan(values)
    array = checked(name, array if array.ndim else np.full(len(names), array), names)
    if array.min(initial=0.0) < 0:
        raise SettingError(f'{name} must be >= 0')
    return array


def is_known(name: object, names: Container[str]) -> bool:
    """Whether a value is a string among some names; other types are not."""
    return isinstance(name, str) and name in names
