"""Environments of Gymnasium: one arm, or many in parallel on all processors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from flex_robot_sim.environments.episodes import MAX_OBSERVATION, Episodes, settings_of
from flex_robot_sim.environments.tasks import Observation, Reward, Task
from flex_robot_sim.model.arguments import array_or_nan, whole
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.serialization import Serializable


class ArmEnv(Serializable, gymnasium.Env[np.ndarray, np.ndarray]):
    """One arm at a task; numbers that vary are drawn for every episode."""

    metadata: dict[str, Any] = {'render_modes': []}

    def __init__(
        self,
        task: str | Task = 'rest_to_rest',
        robot: str | Path = 'single_link',
        vary: Mapping[str, str] | None = None,
        scale: Mapping[str, str] | None = None,
        reward: Reward | None = None,
        observation: Observation | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """
        Make the environment.

        :param task: a name of TASKS, or a Task; robot: as of `load`.
        :param vary: laws of numbers of the URDF and of `payload`, see `Laws`; scale: factors.
        :param reward: function of ArmMeasurements, (c,) per second.
        :param observation: function of ArmMeasurements, (c, numbers).
        :param settings: fields of EpisodeSettings.
        """
        self.episodes = Episodes(
            robot, task, 1, settings_of(settings), vary, scale, reward, observation, threads=1
        )
        self.render_mode, self._has_begun = render_mode, False
        self.observation_space, self.action_space = _spaces(self.episodes)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.episodes.begin([self.np_random], [0])
        self._has_begun = True
        return self.episodes.observe()[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action for a period."""
        _expect_reset(self._has_begun)
        rewards, lost, finished = self.episodes.step(array_or_nan(action)[None])
        return (
            self.episodes.observe()[0],
            float(rewards[0]),
            bool(lost[0]),
            bool(finished[0] and not lost[0]),
            {},
        )


class ArmVectorEnv(Serializable, VectorEnv):
    """
    Many arms at a task, on all processors.

    A finished episode restarts in the next step, which ignores its action. Numbers that vary are
    drawn for every episode.
    """

    metadata: dict[str, Any] = {'render_modes': [], 'autoreset_mode': AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        task: str | Task = 'rest_to_rest',
        robot: str | Path = 'single_link',
        vary: Mapping[str, str] | None = None,
        scale: Mapping[str, str] | None = None,
        reward: Reward | None = None,
        observation: Observation | None = None,
        threads: int | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """Make the environments; arguments are those of ArmEnv, and `threads` of a Batch."""
        self.num_envs, self.render_mode = whole('num_envs', num_envs), render_mode
        self.episodes = Episodes(
            robot, task, num_envs, settings_of(settings), vary, scale, reward, observation, threads
        )
        self.single_observation_space, self.single_action_space = _spaces(self.episodes)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs: list[np.random.Generator] = []
        self._over = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes; with one seed, arm k draws like an ArmEnv of seed + k."""
        seeds = _seeds(seed, self.num_envs)
        if not self._rngs:
            self._rngs = [gymnasium.utils.seeding.np_random(None)[0] for _ in seeds]
        for k, arm_seed in enumerate(seeds):
            if arm_seed is not None:
                self._rngs[k] = gymnasium.utils.seeding.np_random(arm_seed)[0]
        self.episodes.begin(self._rngs, np.arange(self.num_envs))
        self._over[:] = False
        return self.episodes.observe(), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply actions (num_envs, joints) for a period."""
        _expect_reset(self._rngs)
        rewards, lost, finished = self.episodes.step(actions)
        restarts = self._over
        self.episodes.begin(self._rngs, np.flatnonzero(restarts))
        rewards, lost = np.where(restarts, 0.0, rewards), lost & ~restarts
        finished = finished & ~lost & ~restarts
        self._over = lost | finished
        return self.episodes.observe(), rewards, lost, finished, {}


def _expect_reset(is_there):
    if not is_there:
        raise UsageError('a reset comes before the first step.')


def _seeds(seed, count):
    """Return one seed per arm; None continues the generator."""
    if isinstance(seed, (list, tuple, np.ndarray)):
        seeds = [*seed]
    else:
        seeds = [
            None if seed is None else seed + k if _is_seed(seed) else seed for k in range(count)
        ]
    if len(seeds) != count or not all(
        arm_seed is None or _is_seed(arm_seed) for arm_seed in seeds
    ):
        raise UsageError(
            f'seed = {seed!r:.100} must be a whole number >= 0, or a list with one '
            f'for each of {count} arms.'
        )
    return [None if arm_seed is None else int(arm_seed) for arm_seed in seeds]


def _is_seed(number):
    return isinstance(number, (int, np.integer)) and number >= 0


def _spaces(episodes):
    """Observation and action space of one arm."""
    size = episodes.observe().shape[1]
    joints = episodes.action_size
    return (
        spaces.Box(-MAX_OBSERVATION, MAX_OBSERVATION, (size,), np.float64),
        spaces.Box(-1.0, 1.0, (joints,), np.float64),
    )
