"""
Numba versions that this package is tested with, and the choice between its two ways to use Numba.

The tuned way uses private modules of Numba: it starts fast and takes the shortest steps. The plain
way uses documented interfaces only: it compiles longer, and takes longer steps. It is chosen by
FLEXSIM_PLAIN_NUMBA=1, and for versions of Numba that are newer than the newest tested one;
FLEXSIM_PLAIN_NUMBA=0 chooses the tuned way for any version.
"""

from __future__ import annotations

import logging
import os
import re
import sys

try:
    import numba
except ImportError as error:
    from flex_robot_sim.util.exceptions import SettingError

    raise SettingError(
        'numba, which compiles the equations of motion, is not installed. Install '
        f'it by {sys.executable} -m pip install numba'
    ) from error

OLDEST_TESTED_NUMBA, NEWEST_TESTED_NUMBA = (0, 55), (0, 68)
PLAIN_VARIABLE = 'FLEXSIM_PLAIN_NUMBA'

log = logging.getLogger(__name__)


def needs_plain_numba(version: str) -> bool:
    """Return whether a version of Numba is used through its documented interfaces only."""
    choice = os.environ.get(PLAIN_VARIABLE, '')
    if choice:
        return choice != '0'
    numbers = tuple(map(int, re.findall(r'\d+', version)[:2]))
    if numbers <= NEWEST_TESTED_NUMBA:
        return False
    log.warning(
        'Numba %s is newer than %d.%d, the newest tested version: compilation takes longer, and '
        'so do steps. %s=0 tries the usual way',
        version,
        *NEWEST_TESTED_NUMBA,
        PLAIN_VARIABLE,
    )
    return True


USES_PLAIN_NUMBA = needs_plain_numba(numba.__version__)
