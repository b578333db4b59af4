"""
Input shapers: design for modes or for an arm, and shaped positions for any machine.

In short::

    shaper = frs.shaping.zvd(2.7, damping_ratios=0.006)
    times, positions = shaper.shape(times, positions)
"""

from flex_robot_sim.util.lazy_names import lazy_names

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.shaping.impulses import Shaper
    from flex_robot_sim.shaping.online_shaper import OnlineShaper
    from flex_robot_sim.shaping.path_accuracy import path_error
    from flex_robot_sim.shaping.recommendation import Recommendation, recommend
    from flex_robot_sim.shaping.sampled_positions import ShapedPositions
    from flex_robot_sim.shaping.shaped_samples import shaped_motion
    from flex_robot_sim.shaping.shaper_design import design_for_arm, design_for_pose
    from flex_robot_sim.shaping.shaper_source import shaper_for
    from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
    from flex_robot_sim.shaping.specified_insensitivity import Band, si
    from flex_robot_sim.shaping.textbook_shapers import ei, ei2, zv, zvd, zvdd

__all__ = [
    'Band',
    'OnlineShaper',
    'Recommendation',
    'ShapedPositions',
    'Shaper',
    'ShaperSpecification',
    'design_for_arm',
    'design_for_pose',
    'ei',
    'ei2',
    'path_error',
    'recommend',
    'shaped_motion',
    'shaper_for',
    'si',
    'zv',
    'zvd',
    'zvdd',
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'shaping.impulses': ('Shaper',),
            'shaping.online_shaper': ('OnlineShaper',),
            'shaping.path_accuracy': ('path_error',),
            'shaping.recommendation': ('Recommendation', 'recommend'),
            'shaping.sampled_positions': ('ShapedPositions',),
            'shaping.shaped_samples': ('shaped_motion',),
            'shaping.shaper_design': ('design_for_arm', 'design_for_pose'),
            'shaping.shaper_source': ('shaper_for',),
            'shaping.shaper_specification': ('ShaperSpecification',),
            'shaping.specified_insensitivity': ('Band', 'si'),
            'shaping.textbook_shapers': ('ei', 'ei2', 'zv', 'zvd', 'zvdd'),
        },
    )
