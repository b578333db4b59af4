"""ROS 2 without nodes: topics, bytes of messages, parameters, network, start of programs."""
