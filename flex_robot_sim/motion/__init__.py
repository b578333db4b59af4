"""Joint motion over time: trajectories, profiles, limits, references."""
