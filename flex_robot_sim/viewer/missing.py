"""Check for the packages of the browser view."""

import sys
from importlib.util import find_spec

from flex_robot_sim.util.exceptions import UsageError

REQUIREMENT = 'viser>=1.1.1,<1.2'  # as in setup.py


def refuse_without_view() -> None:
    """Raise a UsageError with the installation command if viser is missing."""
    if find_spec('viser') is None:
        raise UsageError(
            'the browser view needs viser, which is not installed. Install it by '
            f'{sys.executable} -m pip install "{REQUIREMENT}" "pycollada>=0.7"'
        )
