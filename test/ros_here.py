"""Whether ROS is here; importing this keeps it to this process and what that starts."""

import os

from parallel import WORKER

from flex_robot_sim.ros.network import choose_domain, prepare_network

# ROS of other people in the same network, or of another test run on this machine, stays outside.
prepare_network()
if WORKER:  # each process of a run hears its own nodes only
    os.environ.pop('ROS_DOMAIN_ID', None)
choose_domain()

try:
    import rclpy  # noqa: F401

    NO_ROS = ''
except ImportError as error:
    NO_ROS = f'rclpy cannot be imported: {error}'

try:
    import launch_pytest  # noqa: F401
    from ament_index_python.packages import get_package_prefix

    get_package_prefix('flex_robot_sim')
    NO_LAUNCH = NO_ROS
except (ImportError, LookupError, OSError) as error:
    NO_LAUNCH = f'launch tests need launch_pytest and an installation by colcon: {error}'
