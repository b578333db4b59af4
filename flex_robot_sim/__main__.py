"""`python -m flex_robot_sim` is `flexsim`."""

import sys

from flex_robot_sim.start import main

sys.exit(main(leaves_folder=True))
