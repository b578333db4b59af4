"""What rviz and its like draw of an arm that bends, as text and arrays; nothing here knows ROS."""
