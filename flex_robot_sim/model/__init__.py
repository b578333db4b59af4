"""The arm as flat arrays: assembly, composite inertia, damping, start pose."""
