"""The shipped robots without closed loops, on bases at rest: controllers and gains need both."""

import flex_robot_sim as frs


def shipped_trees() -> list[str]:
    """Names of these robots."""
    robots = {name: frs.read_description(name) for name in frs.robots()}
    return [name for name, robot in robots.items() if not (robot.constraints or robot.base_motion)]
