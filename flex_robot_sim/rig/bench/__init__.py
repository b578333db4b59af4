"""The bench, simulated: its parts, its motors, the arm on them, efforts as drives take them."""
