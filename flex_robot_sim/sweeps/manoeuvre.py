"""
Manoeuvre, the default run of a sweep: a PD move to a pose, and the residual vibration.

The controller is designed for the nominal robot with the payload of the Manoeuvre: its gains, its
gravity feed-forward and its shaper. The simulated arm has the numbers of the run. So a sweep shows
the robustness of a controller against model errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_translations
from flex_robot_sim.analysis.loop_poses import full_pose, pose_of_drives
from flex_robot_sim.analysis.mode_table import loaded
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.batch.batch import Batch
from flex_robot_sim.control.closed_loop_move import sample_period
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.model.start_pose import start_position
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk, rest
from flex_robot_sim.shaping.impulses import KINDS, NO_SHAPER, NONE, Shaper
from flex_robot_sim.shaping.shaped_samples import shaped_motion
from flex_robot_sim.shaping.shaper_design import design_for_pose
from flex_robot_sim.util.exceptions import SettingError, UsageError
from flex_robot_sim.util.settings import Settings, SimulationSettings, setting

JOINT_FIELDS = ('to', 'start', 'servo_stiffness', 'servo_damping')
RUN_FIELDS = ('within', 'payload', 'servo')
SHAPERS = (NO_SHAPER, *KINDS)
MAX_STEPS = 1e7  # in one run


@dataclass(frozen=True)
class Manoeuvre(Settings):
    """
    A PD move from one pose to another, and its observation time: the default run of a sweep.

    Example::

        move = frs.sweeps.Manoeuvre(to=(0.3,), within=0.3, seconds=0.6)
    """

    to: tuple = setting((), 'final pose; empty: the default pose at the start', 'rad, m')
    start: tuple = setting(
        (), 'pose at the start; empty: zero, or the nearest pose within limits', 'rad, m'
    )
    within: float = setting(
        0.0, 'duration of the minimum-jerk motion; 0: a step', 's', at_least=0.0
    )
    seconds: float = setting(5.0, 'duration of a run', 's', above=0.0)
    payload: float = setting(0.0, 'fixed to the tool', 'kg', at_least=0.0)
    at_rest: bool = setting(
        True, 'whether the arm starts in equilibrium, where links sag; or with straight links'
    )
    shaper: str = setting(
        'none', 'input shaper of the set points, for the final pose', choices=SHAPERS
    )
    stiffness: tuple = setting(
        (), 'of the PD servo, one or by joint; empty: designed for the arm', 'N m/rad'
    )
    damping: tuple = setting(
        (), 'of the PD servo, one or by joint; empty: designed for the arm', 'N m s/rad'
    )
    time_step: float = setting(1e-3, 'integration step', 's', above=0.0)
    rate: float = setting(100.0, 'samples of the tips per second', 'Hz', above=0.0)


class ManoeuvreController(NamedTuple):
    """Controller of a Manoeuvre for an arm."""

    to: np.ndarray  # (joints,)                                         [rad, m]
    start: np.ndarray  # (joints,)                                         [rad, m]
    stiffness: np.ndarray  # (joints,)                                         [N m/rad, N/m]
    damping: np.ndarray  # (joints,)
    shaper: Shaper


def words_of(joint_names: Sequence[str]) -> list[str]:
    """Names of the numbers of a Manoeuvre that can vary: `elbow.to`, `payload`."""
    return [*RUN_FIELDS, *(f'{joint}.{word}' for joint in joint_names for word in JOINT_FIELDS)]


def controller_of(arm: ArmModel, manoeuvre: Manoeuvre) -> ManoeuvreController:
    """Return the ManoeuvreController for the nominal arm; it takes up to a few seconds."""
    if manoeuvre.seconds > MAX_STEPS * manoeuvre.time_step:
        raise UsageError(
            f'seconds hold more than {MAX_STEPS:g} steps of time_step. Take fewer or longer ones.'
        )
    if manoeuvre.seconds < manoeuvre.time_step:
        raise UsageError('seconds must be at least one time_step.')
    nominal = _with_payload(arm, manoeuvre.payload)
    stiffness, damping = (_by_joint(arm, manoeuvre, name) for name in ('stiffness', 'damping'))
    if stiffness is None or damping is None:
        servo = design_servo(nominal)
        stiffness = servo.stiffness if stiffness is None else stiffness
        damping = servo.damping if damping is None else damping
    if min(stiffness.min(initial=0.0), damping.min(initial=0.0)) < 0.0:
        raise UsageError('stiffness and damping of the servos must be >= 0.')
    to, start = (
        pose_of_drives(arm, start_position(arm)) if values is None else values
        for values in (_pose(arm, manoeuvre, name) for name in ('to', 'start'))
    )
    shaper = NONE
    if manoeuvre.shaper != NO_SHAPER:
        shaper = design_for_pose(nominal, to, kind=manoeuvre.shaper, gains=(stiffness, damping))
    return ManoeuvreController(to, start, stiffness, damping, shaper)


def nominal_value(
    word: str, joint_names: Sequence[str], manoeuvre: Manoeuvre, controller: ManoeuvreController
) -> float:
    """Nominal value of one of `words_of`; 1 for the factor `servo`."""
    if word in RUN_FIELDS:
        return 1.0 if word == 'servo' else getattr(manoeuvre, word)
    joint, _, field = word.rpartition('.')
    return float(getattr(controller, field.removeprefix('servo_'))[[*joint_names].index(joint)])


def run_manoeuvres(
    nominal: ArmModel,
    arms: Sequence[ArmModel],
    manoeuvre: Manoeuvre,
    controller: ManoeuvreController,
    values: Sequence[Mapping[str, float]],
) -> list[dict[str, float | str]]:
    """Results of each run by name, with `note`; arms[k] is simulated with values[k]."""
    joints = nominal.joint_names
    setups = [_run_setup(controller, manoeuvre, joints, row) for row in values]
    nominal = _with_payload(nominal, manoeuvre.payload)
    members = [_with_payload(arm, setup['payload']) for arm, setup in zip(arms, setups)]
    batch = Batch(members, settings=SimulationSettings(time_step=manoeuvre.time_step), threads=1)
    if manoeuvre.at_rest:
        batch.set_state(
            q=[
                equilibrium(without_free_fall(arm), setup['start']).q
                for arm, setup in zip(members, setups)
            ]
        )
    else:
        batch.set_state(q=[setup['start'] for setup in setups])
    batch.hold(
        [setup['start'] for setup in setups],
        [setup['stiffness'] for setup in setups],
        [setup['damping'] for setup in setups],
    )
    batch.effort[:] = [carrying_efforts(nominal, setup['to']) for setup in setups]
    motions = [_motion(setup, controller.shaper) for setup in setups]
    states, times = _simulate(batch, motions, manoeuvre)
    return [
        _figures(batch, k, states[:, k], times, motions[k].end, setup['to'])
        for k, setup in enumerate(setups)
    ]


def _motion(setup, shaper):
    start, to, within = setup['start'], setup['to'], setup['within']
    if not within > 0.0:
        return shaped_motion(shaper, Motion([0.0], [rest(start), rest(to)]))
    return shaped_motion(
        shaper, Motion([0.0, within], [rest(start), minimum_jerk(start, to), rest(to)])
    )


def _simulate(batch, motions, manoeuvre):
    """Simulate a batch along set points: coordinates (samples, count, n), times (samples,)."""
    h, total = manoeuvre.time_step, round(manoeuvre.seconds / manoeuvre.time_step)
    control_steps = round(sample_period(h) / h)
    sample_steps = max(1, round(1 / manoeuvre.rate / h))
    motion_steps = min(total, round(max(motion.end for motion in motions) / h) + control_steps)
    done, states, times = 0, [batch.q], [0.0]
    has_stopped = False
    while done < total:
        if not has_stopped:
            rows = np.array([motion.sample(done * h)[:2] for motion in motions])
            batch.target[:], batch.target_rate[:] = rows[:, 0], rows[:, 1]
            has_stopped = done >= motion_steps
        steps = min(total - done, sample_steps - done % sample_steps)
        if not has_stopped:
            steps = min(steps, control_steps - done % control_steps)
        batch.step(steps)
        done += steps
        if done % sample_steps == 0 or done == total:
            states.append(batch.q)
            times.append(done * h)
    return np.array(states), np.array(times)


def _figures(batch, k, states, times, arrival, to):
    """Results of run k of a batch, from its states (samples, n)."""
    arm, lost = batch.arms[k], bool(batch.is_lost[k])
    out: dict[str, float | str] = {}
    rows = zip(arm.joint_names, batch.position[k], to, arm.actuated)
    for joint, position, goal, is_driven in rows:
        if is_driven:
            out[f'{joint}.error'] = np.nan if lost else float(position - goal)
    after = times >= arrival - 1e-9
    for link in arm.tips:
        tips = tip_translations(arm, link, states)
        out[f'{link}.max_deflection'] = (
            np.nan if lost else float(np.linalg.norm(tips, axis=1).max())
        )
        out[f'{link}.residual_vibration'] = (
            np.nan
            if lost or after.sum() < 2
            else float(np.linalg.norm(np.ptp(tips[after], axis=0))) / 2
        )
    out['arrival'] = float(arrival)
    out['note'] = '; '.join(line for row, line in batch.reports if row == k)
    return out


def _run_setup(controller, manoeuvre, joints, values):
    """Settings of a run, by name."""
    out = {
        'within': values.get('within', manoeuvre.within),
        'payload': values.get('payload', manoeuvre.payload),
    }
    for word in ('to', 'start'):
        out[word] = np.array(
            [
                values.get(f'{joint}.{word}', fixed)
                for joint, fixed in zip(joints, getattr(controller, word))
            ]
        )
    factor = values.get('servo', 1.0)
    for word, power in (('stiffness', 2), ('damping', 1)):
        out[word] = np.array(
            [
                values.get(f'{joint}.servo_{word}', factor**power * fixed)
                for joint, fixed in zip(joints, getattr(controller, word))
            ]
        )
    return out


def _with_payload(arm, mass):
    return loaded(arm, (arm.tool, mass) if mass else None)


def _pose(arm, manoeuvre, name):
    """Position (joints,) of a field of a Manoeuvre; None if it is empty."""
    values = getattr(manoeuvre, name)
    try:
        return full_pose(arm, name, values) if values else None
    except SettingError as error:
        raise UsageError(f'{error}.') from None


def _by_joint(arm, manoeuvre, name):
    """Array (joints,) of a field of a Manoeuvre; None if it is empty."""
    values, n = getattr(manoeuvre, name), len(arm.joint_names)
    if not values:
        return None
    if len(values) not in (1, n):
        raise UsageError(
            f'{name} takes {"1 or " if n > 1 else ""}{n} '
            f'numbers for {", ".join(arm.joint_names)}, not {len(values)}.'
        )
    by_joint = np.broadcast_to(np.array(values, float), n)
    return by_joint * arm.actuated if len(values) == 1 else by_joint
