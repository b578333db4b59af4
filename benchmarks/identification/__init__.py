"""Plants with known parameters, and what `flexsim identify` finds in their logs."""
