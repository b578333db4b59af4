"""Robot arms whose links bend and twist and whose joints give, from one URDF."""

from flex_robot_sim.description import RobotDescription, read_description
from flex_robot_sim.exceptions import DescriptionError, FlexRobotSimError

__version__ = '0.1.0'

__all__ = ['DescriptionError', 'FlexRobotSimError', 'RobotDescription', 'read_description']
