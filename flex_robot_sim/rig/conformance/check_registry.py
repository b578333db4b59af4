"""Registry of the conformance checks, and the requirements of each."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

AnyCheck = TypeVar('AnyCheck', bound=Callable[..., object])


class Check(NamedTuple):
    """One check; its name states a fact about the board."""

    name: str
    run: Callable[[Any], object]  # function(host)
    moves: bool  # switches the motors on
    bench: str  # required ability of a controllable bench, or ''
    reboot: bool  # resets the board


CHECKS: list[Check] = []


def check(
    moves: bool = False, bench: str = '', reboot: bool = False
) -> Callable[[AnyCheck], AnyCheck]:
    """Register a function as a check; its name states the fact."""

    def register(function: AnyCheck) -> AnyCheck:
        CHECKS.append(Check(function.__name__, function, moves or bool(bench), bench, reboot))
        return function

    return register
