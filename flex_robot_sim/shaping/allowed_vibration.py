"""
Allowed vibration: a distance [m], or a percentage of the vibration that unshaped moves leave.

The percentage is one of the mean of all simulated moves: single moves may happen to cause none.
"""

from __future__ import annotations

import numpy as np

from flex_robot_sim.model.arguments import number_or_nan
from flex_robot_sim.util.exceptions import SettingError, shortened

MIN_DISTANCE_M = 1e-9  # of a percentage of nothing


def allowed_share(allowed: float | str) -> float | None:
    """Return the share of a percentage such as '5%'; None: a distance. SettingError if invalid."""
    text = f'allowed_vibration = {shortened(repr(allowed), 60)} must be'
    if not isinstance(allowed, str):
        if not 0.0 < number_or_nan(allowed) < np.inf:
            raise SettingError(f'{text} > 0 and finite [m], or a percentage such as "5%"')
        return None
    number = allowed.strip()
    try:
        share = float(number.removesuffix('%')) / 100 if number.endswith('%') else np.nan
    except ValueError:
        share = np.nan
    if not 0.0 < share < 1.0:
        raise SettingError(
            f'{text} a number [m], or a percentage between 0 and 100 such as "5%" of the unshaped '
            'vibration'
        )
    return share


def allowed_distance(allowed: float | str, unshaped: float) -> float:
    """
    Return the allowed distance of the tool from its goal [m].

    :param unshaped: mean vibration that the unshaped moves leave [m].
    """
    share = allowed_share(allowed)
    return float(allowed) if share is None else max(share * unshaped, MIN_DISTANCE_M)
