"""What shapers cannot take is one line that says what, where and what to do."""

import numpy as np
import pytest

from flex_robot_sim.shaping.impulses import of_kind
from flex_robot_sim.shaping.shaped_samples import shaped_motion, shaped_samples
from flex_robot_sim.shaping.specified_insensitivity import Band, for_modes, si
from flex_robot_sim.util.exceptions import SettingError

ZVD = of_kind('zvd', 2.7, 0.006)
SAMPLES = np.zeros((5, 2))


@pytest.mark.parametrize(
    'act, line',
    [
        *(
            (
                lambda period=period: shaped_samples(ZVD, SAMPLES, period),
                f'period = {period!r} of set points must be above 0 and finite [s]',
            )
            for period in (0, -1e-3, np.nan, '1')
        ),
        (lambda: si([]), 'bands = [] must name what is to be kept still: give [Band(low, high)]'),
        (
            lambda: si(Band(2.0, 3.0)),
            'bands = Band(low=2.0, high=3.0, ratio=0.0, tolerance=0.05) must be a list of Bands: '
            'write [Band(2.5, 3.3)] for one',
        ),
        (
            lambda: for_modes('zv', (2.7, 0.006)),
            'modes = (2.7, 0.006) must be pairs of a frequency [Hz] and a damping ratio: write '
            '[(2.7, 0.006)] for one',
        ),
        (
            lambda: of_kind('zvd', '2.7', 0.006),
            "frequency = '2.7' of a mode must be a number: give the frequency [Hz] and the "
            'damping '
            'ratio',
        ),
        (
            lambda: shaped_motion(ZVD, np.zeros(2)),
            'array([0., 0.]) is no Motion: set points in an array are shaped by '
            'shaper.shape(times, positions)',
        ),
    ],
)
def test_what_shapers_cannot_take_is_one_line(act, line):
    with pytest.raises(SettingError) as told:
        act()
    assert str(told.value) == line
