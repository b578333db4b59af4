"""Input shaping: shapers, their design for an arm, and shaped references."""
