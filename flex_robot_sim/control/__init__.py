"""What drives an arm: efforts over time, and gains that fit it."""
