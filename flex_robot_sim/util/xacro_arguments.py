"""Arguments NAME:=VALUE, as of xacro and `ros2 launch`."""

from collections.abc import Iterable

from flex_robot_sim.util.exceptions import SettingError

SIGN = ':='


def xacro_arguments(words: Iterable[str]) -> dict[str, str]:
    """Return {name: value} of words NAME:=VALUE."""
    for word in words:
        if SIGN not in word:
            raise SettingError(f'"{word}" is no argument for xacro. Write NAME:=VALUE.')
    return dict(word.split(SIGN, 1) for word in words)
