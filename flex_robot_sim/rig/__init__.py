"""The bench: protocol, host link, emulated board, calibration, estimation, and conformance."""
