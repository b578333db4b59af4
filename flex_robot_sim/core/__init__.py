"""The numerical core: an arm as flat arrays, and its compiled equations of motion."""
