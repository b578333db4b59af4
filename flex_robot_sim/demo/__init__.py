"""The arm in motion in ROS 2: what `flexsim demo` needs beside the nodes."""
