"""
Tasks for learning: targets of the arm, observations, and rewards.

A task has no state; its targets are drawn for each episode, a row per arm. Rewards are minus a
cost per second: a perfect episode has the reward zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

PUSH_DURATION_S = 0.1  # of a push in the task `disturbance`                          [s]
UNIT_TIP_SPEED = 0.1  # speed of a tip relative to its link, of cost 1           [m/s]
MAX_TIP_SPEED = 1e3  # above it the cost of a tip saturates, and the arm is lost [m/s]
UNIT_ERROR = 0.05  # position error of a joint, of cost 1         [rad, m]


class ArmMeasurements(NamedTuple):
    """Measurements of c arms, for custom rewards and observations."""

    time: np.ndarray  # (c,)          since the episode began                     [s]
    target: np.ndarray  # (c, joints)   target position now                         [rad]
    target_rate: np.ndarray  # (c, joints)
    position: np.ndarray  # (c, joints)   motor side                                  [rad]
    velocity: np.ndarray  # (c, joints)
    curvature: np.ndarray  # (c, sensors)  of the flex sensors                         [1/m]
    tip: np.ndarray  # (c, links, 3)  deflection of flexible links              [m]
    tip_rate: np.ndarray  # (c, links, 3)                                             [m/s]
    reach: np.ndarray  # (c, links)    lengths of the flexible links               [m]
    action: np.ndarray  # (c, joints)   from -1 to 1


class EpisodeTargets(NamedTuple):
    """Targets and disturbances of an episode, a row per arm."""

    start: np.ndarray  # (joints,)     [rad, m]
    goal: np.ndarray  # (joints,)
    rate: np.ndarray  # (joints,)     of a swing                                  [Hz]
    push: np.ndarray  # (3,)          on the tool                                 [N]
    pushed_at: float | np.ndarray  # ()        [s]


Reward = Callable[[ArmMeasurements], np.ndarray]  # (c,) per second
Observation = Callable[[ArmMeasurements], np.ndarray]  # (c, numbers)


@dataclass(frozen=True)
class Task:
    """A task; `reward` and `observation` may be replaced."""

    name: str
    draw: Callable[[np.random.Generator, Task, int], EpisodeTargets]
    reward: Reward
    span: float = 0.5  # of poses, on either side of zero                     [rad, m]
    within: float = 0.4  # of a motion from rest to rest                             [s]
    force: float = 0.0  # of a push, maximum                                        [N]


def bench_observation(measured: ArmMeasurements) -> np.ndarray:
    """Tracking errors of the encoders, and flex sensors, as on a real bench."""
    return np.concatenate(
        [
            measured.position - measured.target,
            measured.velocity - measured.target_rate,
            measured.curvature,
        ],
        axis=1,
    )


def cost_of_tips(measured: ArmMeasurements) -> np.ndarray:
    """Minus the cost of joint errors and of tip motion."""
    errors = ((measured.position - measured.target) / UNIT_ERROR) ** 2
    swing = (np.minimum(np.abs(measured.tip_rate), MAX_TIP_SPEED) / UNIT_TIP_SPEED) ** 2
    return -(errors.mean(axis=1) + _mean_of_links(swing))


def cost_of_the_way(measured: ArmMeasurements) -> np.ndarray:
    """Minus the cost of joint errors and of tip deflection."""
    errors = ((measured.position - measured.target) / UNIT_ERROR) ** 2
    deflections = ((measured.tip / measured.reach[..., None])[..., 1:] / UNIT_ERROR) ** 2
    return -(errors.mean(axis=1) + _mean_of_links(deflections))


def _mean_of_links(costs):
    """Mean over flexible links of the sums of costs (c, links, ways); 0 without links."""
    return costs.sum(axis=(1, 2)) / max(costs.shape[1], 1)


def _draw_move(rng, task, joints):
    start, goal = rng.uniform(-task.span, task.span, (2, joints))
    return EpisodeTargets(start, goal, np.zeros(joints), np.zeros(3), np.inf)


def _draw_swing(rng, task, joints):
    start = np.zeros(joints)
    goal = rng.uniform(0.3, 1.0, joints) * task.span
    return EpisodeTargets(start, goal, rng.uniform(0.2, 0.6, joints), np.zeros(3), np.inf)


def _draw_push(rng, task, joints):
    position = rng.uniform(-task.span, task.span, joints)
    direction = rng.normal(size=3)
    force = rng.uniform(0.3, 1.0) * task.force * direction / np.linalg.norm(direction)
    return EpisodeTargets(position, position, np.zeros(joints), force, rng.uniform(0.1, 0.5))


TASKS = {
    task.name: task
    for task in (
        Task('rest_to_rest', _draw_move, cost_of_tips),
        Task('tracking', _draw_swing, cost_of_the_way),
        Task('disturbance', _draw_push, cost_of_tips, force=2.0),
    )
}
"""Rest to rest without vibration; tracking a swing; holding against a push."""


def reference(
    targets: EpisodeTargets, within: float, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Target positions at times (c,) of an episode, and their rates, (c, joints) each.

    :param targets: of all arms, arrays with rows; a minimum-jerk motion, or a sine if its rate is
        not 0.
    :param within: duration of the minimum-jerk motion [s].
    """
    t = times[:, None]
    u = np.clip(t / within, 0.0, 1.0)
    travel, moves = targets.goal - targets.start, (u < 1.0)
    position = targets.start + travel * u**3 * (10 - 15 * u + 6 * u**2)
    rate = travel / within * 30 * u**2 * (1 - u) ** 2 * moves
    omega = 2 * np.pi * targets.rate
    is_swing = targets.rate > 0.0
    # fade in from rest, without an impact
    envelope, is_rising = np.minimum(t, 1.0), t < 1.0
    sine, cosine = np.sin(omega * t), np.cos(omega * t)
    position = np.where(
        is_swing, targets.start + targets.goal * envelope**2 * (3 - 2 * envelope) * sine, position
    )
    rate = np.where(
        is_swing,
        targets.goal
        * (envelope**2 * (3 - 2 * envelope) * omega * cosine + is_rising * 6 * t * (1 - t) * sine),
        rate,
    )
    return position, rate
