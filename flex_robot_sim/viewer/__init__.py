"""An arm in a web browser: the display of rviz, with sliders and buttons."""
