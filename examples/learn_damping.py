"""Learn a linear law within a minute that damps a flexible arm in addition to PD."""

import sys
from typing import Any

import gymnasium
import matplotlib.pyplot as plt
import numpy as np

from flex_robot_sim.environments import cost_of_tips

POPULATION, EPISODES, BEST, GENERATIONS, STEPS = 16, 3, 4, 7, 150
TRAINING_SEED, TEST_SEED = 0, 10_000  # the second one is for validation


def calm_after_the_move(look):
    """Return a custom reward; that of the environment also counts the move."""
    return cost_of_tips(look) * (look.time > 0.4)


envs: Any = gymnasium.make_vec(
    'flex_robot_sim/RestToRest-v0',
    POPULATION * EPISODES,
    seconds=1.5,
    robot='single_link',
    vary={'payload': 'uniform:0,0.05'},
    reward=calm_after_the_move,
)


def episodes(laws, seed):
    """Rewards of linear laws (POPULATION, actions, observations), and all observations."""
    each, total = np.repeat(laws, EPISODES, axis=0), np.zeros(POPULATION * EPISODES)
    # all laws get the same episodes; otherwise chance would decide
    seeds = [seed + k for k in range(EPISODES)] * POPULATION
    seen = [envs.reset(seed=seeds)[0]]
    for _ in range(STEPS):
        now, rewards, *_ = envs.step(np.einsum('kan,kn->ka', each, seen[-1]))
        total = total + rewards
        seen.append(now)
    return total.reshape(POPULATION, EPISODES).mean(axis=1), np.array(seen)


def same_for_all(law):
    """Return a population of equal laws."""
    return np.repeat(law[None], POPULATION, axis=0)


rng = np.random.default_rng(0)
nothing = np.zeros((envs.single_action_space.shape[0], envs.single_observation_space.shape[0]))
unit = 1.0 / episodes(same_for_all(nothing), TRAINING_SEED)[1].std(axis=(0, 1))
mean, spread = nothing, nothing + 0.3
for generation in range(GENERATIONS):  # cross-entropy: draw, keep the best, draw around them
    laws = rng.normal(mean, spread, (POPULATION, *mean.shape))
    rewards, _ = episodes(unit * laws, TRAINING_SEED)
    best = laws[np.argsort(rewards)[-BEST:]]
    mean, spread = best.mean(axis=0), best.std(axis=0) + 0.15 * 0.8**generation

for label, law in (('PD', nothing), ('learned', unit * mean)):
    rewards, seen = episodes(same_for_all(law), TEST_SEED)
    strain = seen[:, :, -2]  # of the gauge at the root
    print(
        f'{label}: reward {rewards.mean():.2f}, and the root of the arm bends by '
        f'{np.ptp(strain[STEPS // 2 :], axis=0).mean() / 2:.4f} /m after the move'
    )
    plt.plot(0.01 * np.arange(STEPS + 1), strain[:, 0], label=label)

plt.xlabel('time [s]')
plt.ylabel('curvature at the root [1/m]')
plt.legend()
plt.grid(True)
plt.tight_layout()
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else 'learn_damping.png', dpi=120)
