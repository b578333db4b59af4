"""ROS 2 nodes: messages in, one call into the library, messages out."""
