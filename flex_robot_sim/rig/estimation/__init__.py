"""State estimation: from encoder counts and flex sensors to the state of the arm."""
