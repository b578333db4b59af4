"""Display data of flexible arms for rviz and similar programs, as text and arrays without ROS."""
