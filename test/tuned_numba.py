"""Marker of tests about what only the private interfaces of Numba give."""

import numba
import pytest

from flex_robot_sim.jit.numba_support import USES_PLAIN_NUMBA

needs_tuned_numba = pytest.mark.skipif(
    numba.config.DISABLE_JIT or USES_PLAIN_NUMBA, reason='about private interfaces of Numba'
)
