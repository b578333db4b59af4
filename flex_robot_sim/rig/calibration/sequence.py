"""All steps of a calibration, in order."""

import math

from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.calibration.by_hand import EncoderStep, SensorStep
from flex_robot_sim.rig.calibration.by_motor import MotorStep, StepperStep
from flex_robot_sim.rig.calibration.step import CalibrationContext, Step

RULER_DEVIATION = 3e-4  # of a position read from a ruler                       [m]
PROTRACTOR_DEVIATION = 4e-3  # of an angle read from a protractor                    [rad]

COLUMNS = {
    name: kind.columns
    for name, kind in (
        ('slide', EncoderStep),
        ('turn', EncoderStep),
        ('stepper', StepperStep),
        ('motor', MotorStep),
        ('sensors', SensorStep),
    )
}


def steps_of(context: CalibrationContext) -> tuple[Step, ...]:
    """Return all steps in order: each may use the results of those before."""
    parts = context.parts
    return (
        EncoderStep(
            context,
            'slide',
            SLIDE,
            {'mm': 1e-3, 'cm': 1e-2},
            RULER_DEVIATION,
            parts.counts_per_metre,
        ),
        EncoderStep(
            context,
            'turn',
            TURN,
            {'degrees': math.pi / 180, 'rad': 1.0},
            PROTRACTOR_DEVIATION,
            parts.counts_per_radian,
        ),
        StepperStep(context),
        MotorStep(context),
        SensorStep(context),
    )
