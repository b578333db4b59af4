"""Whether the browser view can run here, and what to install where it cannot."""

import sys
from importlib.util import find_spec

from flex_robot_sim.util.exceptions import UsageError

REQUIREMENT = 'viser>=1.1.1,<1.2'       # as in setup.py


def has_view() -> bool:
    """Whether what draws in browsers is installed."""
    return find_spec('viser') is not None


def refuse_without_view() -> None:
    """Raise the UsageError that names the command to install it."""
    if not has_view():
        raise UsageError('the browser view needs viser, which is not installed. Install it by '
                         f'{sys.executable} -m pip install "{REQUIREMENT}" "pycollada>=0.7"')
