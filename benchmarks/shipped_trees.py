"""The shipped robots without closed loops."""

import flex_robot_sim as frs


def shipped_trees() -> list[str]:
    """Names of these robots."""
    return [name for name in frs.robots() if not frs.read_description(name).constraints]
