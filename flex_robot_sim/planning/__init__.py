"""
Planning with the nonlinear model: time-optimal rest-to-rest moves, and iterative learning.

In short::

    plan = frs.planning.plan_move(arm, start, goal)
    plan.motion.sample(0.3)                 # positions, velocities, accelerations of the drives
"""

from flex_robot_sim.util.lazy_names import lazy_names

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk_motion
    from flex_robot_sim.planning.iterative_learning import RepeatedMove
    from flex_robot_sim.planning.plan import Plan, PlanLimits
    from flex_robot_sim.planning.reference_limits import ReferenceLimits
    from flex_robot_sim.planning.rest_to_rest import plan_move
    from flex_robot_sim.planning.simulated_trials import SimulatedTrials

__all__ = [
    'Motion',
    'Plan',
    'PlanLimits',
    'ReferenceLimits',
    'RepeatedMove',
    'SimulatedTrials',
    'minimum_jerk_motion',
    'plan_move',
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'motion.joint_motion': ('Motion', 'minimum_jerk_motion'),
            'planning.iterative_learning': ('RepeatedMove',),
            'planning.reference_limits': ('ReferenceLimits',),
            'planning.plan': ('Plan', 'PlanLimits'),
            'planning.rest_to_rest': ('plan_move',),
            'planning.simulated_trials': ('SimulatedTrials',),
        },
    )
