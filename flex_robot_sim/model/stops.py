"""Stiffness and damping of what stops an arm: the limits of its joints, and contacts."""

STOP_FREQUENCY = 40.0  # of the moving links against the stop of their joint   [Hz]
STOP_DEPTH = 1e-3  # penetration that raises the damping of a stop to full  [rad, m]
