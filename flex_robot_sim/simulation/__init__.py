"""A simulated arm: state, time, prescribed drives, queries."""
