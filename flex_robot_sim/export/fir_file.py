"""FIR coefficients of a shaper as a CSV file."""

from __future__ import annotations

from flex_robot_sim.shaping.shaper_specification import ShaperSpecification


def fir_text(specification: ShaperSpecification, period: float) -> str:
    """Return the lines: delay in samples of a period [s], and weight."""
    delays, weights = specification.fir(period)
    rows = (f'{delay},{weight!r}' for delay, weight in zip(delays.tolist(), weights.tolist()))
    return '\n'.join(['delay,weight', *rows, ''])
