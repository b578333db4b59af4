"""An arm in a web browser: what rviz draws, with sliders and buttons beside it."""
