"""
Parts of the bench that are not in the robot description: motors, drivers, sensors.

`urdf/rig.urdf` has masses, lengths, gear, friction and the stations of the flex sensors. Sources:
[S] data sheet of the part, [P] Chu and others, section 4, [C] chosen, because no source gives it;
measure it on your bench.
"""

import math
from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting

SLIDE, TURN = 0, 1  # indices of the joints, their encoders and their motors


@dataclass(frozen=True)
class BenchParts(Settings):
    """Motors, drivers and sensors of the bench."""

    # GB37-3530 with its screw. Rated for 12 V [P]. 6000 turns per minute without load and 0.04 N m
    # at stall, at the motor's shaft, make the constants [C, as in urdf/rig.urdf].
    supply: float = setting(12.0, 'motor supply', 'V', above=0.0)
    back_emf: float = setting(0.0191, 'back-EMF and torque constant', 'V s/rad', above=0.0)
    resistance: float = setting(5.73, 'armature and bridge', 'ohm', above=0.0)
    motor_turn_per_metre: float = setting(
        10 * 2 * math.pi / 0.008, 'gearbox 1:10 on a screw of 8 mm lead', 'rad/m', above=0.0
    )
    efficiency: float = setting(0.3, 'of screw and gearbox when the motor drives', above=0.0)
    drive_rate: float = setting(
        1e-3, 'speed of the slide over which driving becomes braking', 'm/s', above=0.0
    )

    # NEMA 17: 200 steps per turn [P]; torque and damping [C]; microsteps of the driver [C].
    full_steps: int = setting(200, 'steps of a turn', above=0)
    microsteps: int = setting(16, 'of the driver, in a step', above=0)
    holding_torque: float = setting(0.4, 'of the stepper', 'N m', above=0.0)
    stepper_damping: float = setting(
        0.02,
        'of the rotor about the commanded place, by eddy currents and driver',
        'N m s/rad',
        at_least=0.0,
    )
    corner_rate: float = setting(
        1000.0,
        'full steps per second beyond which the torque falls with the rate',
        '1/s',
        above=0.0,
    )

    # LPD3806-600BM: 600 pulses per turn, four counts each [S]; one on the screw, one on the axle.
    encoder_counts: int = setting(2400, 'counts of a turn', above=0)
    screw_lead: float = setting(0.008, 'of the slide in a turn of its encoder', 'm', above=0.0)

    # FSL0095-103-ST: 10 kohm when flat [S], 110 kohm at most [P], here at half a turn. The data
    # sheet specifies one direction of bending; the response to the other one is [C].
    flat_resistance: float = setting(10e3, 'of a flex sensor', 'ohm', above=0.0)
    bend_gain: float = setting(
        10.0 / math.pi, 'rise of the resistance over the flat one', '1/rad', above=0.0
    )
    bend_curve: float = setting(0.8, 'growth of the gain with the bend, halved', '1/rad2')
    divider_resistance: float = setting(10e3, 'from the sensor to the reference', 'ohm', above=0.0)
    adc_bits: int = setting(12, 'of the converter', above=0, at_most=24)
    adc_noise: float = setting(1.5, 'standard deviation of one conversion', 'counts', at_least=0.0)

    # Switches close this far before the stops of the URDF [C].
    switch_margin: float = setting(0.002, 'of the slide', 'm', at_least=0.0)
    turn_switch: float = setting(
        1.5, 'of the turning joint, to both sides of zero', 'rad', above=0.0
    )

    @property
    def steps_per_turn(self) -> int:
        """Microsteps of a turn of the stepper."""
        return self.full_steps * self.microsteps

    @property
    def adc_full(self) -> int:
        """Largest result of one ADC conversion."""
        return (1 << self.adc_bits) - 1

    @property
    def counts_per_metre(self) -> float:
        """Encoder counts per metre of the slide."""
        return self.encoder_counts / self.screw_lead

    @property
    def counts_per_radian(self) -> float:
        """Encoder counts per radian of the turning joint."""
        return self.encoder_counts / (2 * math.pi)
