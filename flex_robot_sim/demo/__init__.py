"""Implementation of `flexsim demo` without the nodes."""
