"""Analysis of an arm at a state: equilibrium, modes, linear models, Jacobians, sensors."""
