"""Recordings: MCAP files with ROS 2 messages, written and read without ROS."""
