"""`python -m flex_robot_sim` is `flexsim`."""

import sys

from flex_robot_sim.cli import main

sys.exit(main())
