"""Equations of motion, compiled: kinematics, forces, recursion, integrators, energy."""
