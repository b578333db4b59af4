"""The list of checks, and what each of them needs."""

from typing import NamedTuple

CHECKS = []


class Check(NamedTuple):
    """One sentence about the board."""

    name: str
    run: object             # function(host)
    moves: bool             # switches the motors on
    bench: str              # what it needs of a bench that does it when told to, or ''
    reboot: bool            # resets the board


def check(moves=False, bench='', reboot=False):
    """Register a function as a check; its name is the sentence."""
    def register(function):
        CHECKS.append(Check(function.__name__, function, moves or bool(bench), bench, reboot))
        return function
    return register
