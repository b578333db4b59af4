"""
Environments of Gymnasium for flexible arms; the import registers them.

    import gymnasium
    import flex_robot_sim.environments
    gymnasium.make('flex_robot_sim/RestToRest-v0', robot='two_link')
    gymnasium.make_vec('flex_robot_sim/RestToRest-v0', 64, scale={'arm.EIz': 'uniform:0.8,1.2'})
"""

import sys

from flex_robot_sim.environments.tasks import TASKS, ArmMeasurements, cost_of_tips
from flex_robot_sim.util.exceptions import UsageError

try:
    import gymnasium
except ImportError as error:
    raise UsageError(
        'environments need Gymnasium, which is not installed. Install it by '
        f'{sys.executable} -m pip install "gymnasium>=1.1"'
    ) from error

__all__ = ['IDS', 'ArmMeasurements', 'TASKS', 'cost_of_tips']

IDS = {task: f'flex_robot_sim/{task.title().replace("_", "")}-v0' for task in TASKS}

for _task, _id in IDS.items():
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point=f'{__name__}.gym:ArmEnv',
            kwargs={'task': _task},
            vector_entry_point=f'{__name__}.gym:ArmVectorEnv',
        )
