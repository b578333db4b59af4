"""Benchmarks: scripts that print one table each; `flexsim benchmark` runs all of them."""
