"""`python -m flex_robot_sim` is `flexsim`."""

import sys
from importlib import import_module

from flex_robot_sim.interpreter import leave_current_folder

leave_current_folder()
sys.exit(import_module('flex_robot_sim.start').main())
