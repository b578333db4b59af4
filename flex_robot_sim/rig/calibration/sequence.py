"""All steps of a calibration, in order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.calibration.by_hand import EncoderStep, SensorStep
from flex_robot_sim.rig.calibration.by_motor import MotorStep, StepperStep

if TYPE_CHECKING:
    from flex_robot_sim.rig.calibration.step import Desk, Step

RULER = 3e-4                # deviation of a position read from a ruler                 [m]
PROTRACTOR = 4e-3           # of an angle read from a protractor                        [rad]

COLUMNS = {name: kind.columns for name, kind in (
    ('slide', EncoderStep), ('turn', EncoderStep), ('stepper', StepperStep),
    ('motor', MotorStep), ('sensors', SensorStep))}


def steps_of(desk: Desk) -> tuple[Step, ...]:
    """All steps, in order: each may use what those before have found."""
    parts = desk.parts
    return (EncoderStep(desk, 'slide', SLIDE, {'mm': 1e-3, 'cm': 1e-2}, RULER,
                        parts.counts_per_metre),
            EncoderStep(desk, 'turn', TURN, {'degrees': math.pi / 180, 'rad': 1.0}, PROTRACTOR,
                        parts.counts_per_radian),
            StepperStep(desk), MotorStep(desk), SensorStep(desk))
