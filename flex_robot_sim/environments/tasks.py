"""
What an agent is asked for: where the arm shall be, what the agent sees, and what that is worth.

A task has no state; what it is about is drawn for an episode, a row for each arm. Rewards are
minus a cost per second, so that an episode of zero would be perfect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

PUSH_SECONDS = 0.1          # how long a push of the task `disturbance` lasts                [s]
CALM = 0.1                  # speed of a tip against its link that costs as much as WRONG  [m/s]
FASTEST = 1e3               # tip that costs more the faster it is: beyond, an arm is lost    [m/s]
WRONG = 0.05                # angle of a joint beside its target, of cost 1         [rad, m]


class Look(NamedTuple):
    """What there is to be seen of c arms, for rewards and observations of one's own."""

    time: np.ndarray            # (c,)          since the episode began                     [s]
    target: np.ndarray          # (c, joints)   where the arm shall be now                  [rad]
    target_rate: np.ndarray     # (c, joints)
    position: np.ndarray        # (c, joints)   motor side                                  [rad]
    velocity: np.ndarray        # (c, joints)
    curvature: np.ndarray       # (c, sensors)  of the flex sensors                         [1/m]
    tip: np.ndarray             # (c, links, 3)  of flexible links, against straight ones   [m]
    tip_rate: np.ndarray        # (c, links, 3)                                             [m/s]
    reach: np.ndarray           # (c, links)    lengths of the flexible links               [m]
    action: np.ndarray          # (c, joints)   from -1 to 1


class Drawn(NamedTuple):
    """What an episode is about, a row for each arm."""

    start: np.ndarray           # (joints,)     [rad, m]
    goal: np.ndarray            # (joints,)
    rate: np.ndarray            # (joints,)     of a swing                                  [Hz]
    push: np.ndarray            # (3,)          on the tool                                 [N]
    pushed_at: float | np.ndarray   # ()        [s]


Reward = Callable[[Look], np.ndarray]           # (c,) per second
Observation = Callable[[Look], np.ndarray]      # (c, numbers)


@dataclass(frozen=True)
class Task:
    """A task; `reward` and `observation` may be replaced."""

    name: str
    draw: Callable[[np.random.Generator, Task, int], Drawn]
    reward: Reward
    span: float = 0.5           # of poses, to either side of zero                     [rad, m]
    within: float = 0.4         # of a motion from rest to rest                             [s]
    force: float = 0.0          # of a push, at most                                        [N]


def what_a_bench_sees(look: Look) -> np.ndarray:
    """Encoders against the target, and flex sensors: what a real controller has."""
    return np.concatenate([look.position - look.target, look.velocity - look.target_rate,
                           look.curvature], axis=1)


def cost_of_tips(look: Look) -> np.ndarray:
    """Minus what it costs that joints are beside their targets and that tips move."""
    beside = ((look.position - look.target) / WRONG)**2
    swing = (np.minimum(np.abs(look.tip_rate), FASTEST) / CALM)**2
    return -(beside.mean(axis=1) + _mean_of_links(swing))


def cost_of_the_way(look: Look) -> np.ndarray:
    """Minus what it costs that tips are beside the way, joints and bending together."""
    beside = ((look.position - look.target) / WRONG)**2
    bent = ((look.tip / look.reach[..., None])[..., 1:] / WRONG)**2
    return -(beside.mean(axis=1) + _mean_of_links(bent))


def _mean_of_links(costs):
    """Mean over flexible links of the sums of costs (c, links, ways); none cost nothing."""
    return costs.sum(axis=(1, 2)) / max(costs.shape[1], 1)


def _draw_move(rng, task, joints):
    start, goal = rng.uniform(-task.span, task.span, (2, joints))
    return Drawn(start, goal, np.zeros(joints), np.zeros(3), np.inf)


def _draw_swing(rng, task, joints):
    start = np.zeros(joints)
    goal = rng.uniform(0.3, 1.0, joints) * task.span
    return Drawn(start, goal, rng.uniform(0.2, 0.6, joints), np.zeros(3), np.inf)


def _draw_push(rng, task, joints):
    place = rng.uniform(-task.span, task.span, joints)
    way = rng.normal(size=3)
    force = rng.uniform(0.3, 1.0) * task.force * way / np.linalg.norm(way)
    return Drawn(place, place, np.zeros(joints), force, rng.uniform(0.1, 0.5))


TASKS = {task.name: task for task in (
    Task('rest_to_rest', _draw_move, cost_of_tips),
    Task('tracking', _draw_swing, cost_of_the_way),
    Task('disturbance', _draw_push, cost_of_tips, force=2.0),
)}
"""From rest to rest without ringing; along a swing; still, though it is pushed."""


def reference(drawn: Drawn, within: float, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Where the arm shall be at times (c,) of an episode, and its rate, (c, joints) each.

    :param drawn: of all arms, arrays with rows; a minimum-jerk motion [s], or a sine where there
        is a rate.
    """
    t = times[:, None]
    u = np.clip(t / within, 0.0, 1.0)
    way, moves = drawn.goal - drawn.start, (u < 1.0)
    place = drawn.start + way * u**3 * (10 - 15 * u + 6 * u**2)
    rate = way / within * 30 * u**2 * (1 - u)**2 * moves
    turn = 2 * np.pi * drawn.rate
    swings = drawn.rate > 0.0
    # from rest, so that its beginning is no blow
    grown, growing = np.minimum(t, 1.0), t < 1.0
    sine, cosine = np.sin(turn * t), np.cos(turn * t)
    place = np.where(swings, drawn.start + drawn.goal * grown**2 * (3 - 2 * grown) * sine, place)
    rate = np.where(swings, drawn.goal * (
        grown**2 * (3 - 2 * grown) * turn * cosine + growing * 6 * t * (1 - t) * sine), rate)
    return place, rate
