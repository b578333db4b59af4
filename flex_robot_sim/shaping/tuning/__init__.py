"""Tuning without a model: from logs at several poses to a shaper whose delays follow the pose."""
