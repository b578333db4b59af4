"""Process configuration shared by the launch files and the demo."""
