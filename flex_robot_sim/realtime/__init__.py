"""A simulation in step with the clock: commands in, states out, without ROS."""
