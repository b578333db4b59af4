"""Links and joints of a robot: plain values in SI units."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from flex_robot_sim.description.dc_motor import DcMotor
from flex_robot_sim.description.joint_types import FREE_COMPONENTS, JOINT_TYPES, JointType
from flex_robot_sim.description.sensors import Encoder, FlexSensor, Imu, StrainGauge
from flex_robot_sim.elastic.axis_curve import AxisCurve
from flex_robot_sim.elastic.section import STIFFNESS_OF, Section
from flex_robot_sim.elastic.section_matrices import SectionMatrices, matrices_of_section
from flex_robot_sim.elastic.section_profile import SectionProfile, slender_moments
from flex_robot_sim.elastic.spatial_beam import section_frames
from flex_robot_sim.reduction.reduced_beam import ReducedBeam


@dataclass(frozen=True, eq=False)
class Inertial:
    """Inertia of a rigid body."""

    mass: float  # [kg]
    centre: np.ndarray  # (3,)    centre of mass in the link frame                  [m]
    inertia: np.ndarray  # (3, 3)  about the centre of mass, in the link's axes      [kg m2]


@dataclass(frozen=True, eq=False)
class ElasticBeam:
    """Elastic beam of a flexible link, from the link origin to `end`."""

    end: np.ndarray  # (3,)    far end, in the link frame                    [m]
    axes: np.ndarray  # (3, 3)  beam frame in the link frame: x along the beam
    length: float  # [m]
    mass_per_length: float  # [kg/m]
    section_inertia: np.ndarray  # (3,)   about x, y, z per length                      [kg m]
    EIy: float  # resists bending_z; nan where the link is rigid        [N m2]
    EIz: float  # resists bending_y; nan where the link is rigid        [N m2]
    GJ: float  # nan where the link is rigid                           [N m2]
    EA: float  # nan where the link is rigid                           [N]
    coordinates: dict[str, int | Literal['all']]  # direction -> number of coordinates, or 'all'
    elements: int  # finite elements per segment; 0: assumed modes
    segments: int  # flexible bodies that the beam is cut into
    boundary: str  # 'static', 'free', 'mass' or 'inertia'; see words.py
    damping_ratio: float  # of every mode                                         [-]
    damping_time: float  # damping / stiffness (Kelvin-Voigt)                    [s]
    sensors: tuple[FlexSensor, ...] = ()
    gauges: tuple[StrainGauge, ...] = ()  # of a reduced link
    size: tuple[float, float] | None = None  # outer, along y and z; None: only stiffnesses [m]
    is_round: bool = False  # a rod or a tube
    kGAy: float = np.inf  # shear stiffness along y; inf: rigid in shear       [N]
    kGAz: float = np.inf  # shear stiffness along z                             [N]
    # factors of EIy, EIz, GJ, EA, kGAy and kGAz at the root, and of the mean mass; None: uniform
    profile: SectionProfile | None = None
    sizes: tuple[tuple[float, float, float], ...] = ()  # share of the length, and `size` there
    axis: AxisCurve | None = None  # of a spatial beam, whose `coordinates` have one direction
    matrices: SectionMatrices | None = None  # of its sections; None: by the stiffnesses above
    twist: tuple[tuple[float, float], ...] = ()  # share of the length, and pretwist there [rad]
    reduced: ReducedBeam | None = None  # of a reduced link, whose stations have numbers
    twist_coupling: bool = False  # whether bending of a straight beam couples with twist
    guide: str = ''  # joint by which the link slides out of its guide; '': it does not slide
    mouth: float = 0.0  # of the guide, from the frame of this joint along its axis    [m]

    def count(self, direction: str) -> int:
        """Number of elastic coordinates of a segment in one direction."""
        count = self.coordinates.get(direction, 0)
        per_element = 2 if direction.startswith('bending') else 1
        return self.elements * per_element if count == 'all' else count

    @property
    def freedom(self) -> int:
        """Number of elastic coordinates of a segment."""
        return sum(self.count(direction) for direction in self.coordinates)

    @property
    def stations(self) -> int:
        """Number of mass points of a segment, or a few more."""
        return 6 * self.elements or 10 + 4 * max(self.count(name) for name in self.coordinates)

    @property
    def overlap(self) -> int:
        """Number of shapes of one direction that overlap with a shape."""
        return max(7 if count == 'all' else count for count in self.coordinates.values())

    def stiffness(self, direction: str) -> float:
        """Stiffness that resists motion along `direction` [N m2; stretch: N]."""
        return getattr(self, STIFFNESS_OF[direction])

    @property
    def can_shear(self) -> bool:
        """Whether its sections shear."""
        return min(self.kGAy, self.kGAz) < np.inf

    def size_at(self, share: float) -> tuple[float, float] | None:
        """Outer size along y and z at a share of the length [m]; None: only stiffnesses."""
        if not self.sizes:
            return self.size
        at, y, z = np.array(self.sizes).T
        return float(np.interp(share, at, y)), float(np.interp(share, at, z))

    @property
    def section(self) -> Section:
        """Stiffness and mass of the section; a direction without stiffness is rigid."""
        return Section(
            self.mass_per_length,
            self.section_inertia,
            **{name: np.nan_to_num(getattr(self, name)) for name in STIFFNESS_OF.values()},
            kGAy=self.kGAy,
            kGAz=self.kGAz,
        )

    @cached_property
    def section_matrices(self) -> SectionMatrices:
        """Matrices of the sections of a spatial beam."""
        return self.matrices or matrices_of_section(self.section, self.profile, self.twist)

    def section_pose(self, along: float) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and position (3,) [m] of a section in the link frame, undeformed."""
        if self.reduced is not None:
            points = self.reduced.link.station_points
            return np.eye(3), points[min(round(along), len(points) - 1)]
        if self.axis is None:
            return self.axes, along * self.axes[:, 0]
        at = np.array([along])
        R = section_frames(self.axis, self.section_matrices, at)
        return R[0], self.axis.positions(at)[0]

    def slender_inertia(self, mass: float) -> float:
        """Inertia of its thin axis with this mass about its centre, across the beam [kg m2]."""
        return mass * self.length**2 / slender_moments(self.profile)[1]

    def station(self, point: np.ndarray) -> float:
        """Distance along the beam [m] of the station nearest to `point` (3,) [m, link frame]."""
        if self.reduced is not None:
            return float(self.reduced.nearest_station(point))
        if self.axis is not None:
            return self.axis.nearest(point)
        return float(self.axes[:, 0] @ point)


@dataclass(frozen=True, eq=False)
class Link:
    """One body of the robot."""

    name: str
    line: int  # of its element in the description
    inertial: Inertial | None = None  # None: a frame without mass
    beam: ElasticBeam | None = None  # None: rigid
    imus: tuple[Imu, ...] = ()


class JointFriction(NamedTuple):
    """
    Friction on the driven side of a joint; `model/friction.py` has the law.

    `flexsim check --json` prints these names.
    """

    viscous_friction: float = 0.0  # [N m s/rad or N s/m]
    coulomb_friction: float = 0.0  # dry friction in motion                  [N m or N]
    static_friction: float = 0.0  # dry friction at rest                    [N m or N]
    stribeck_rate: float = 0.01  # of its decay to coulomb_friction        [rad/s or m/s]
    presliding: float = 0.0  # displacement over which dry friction rises  [rad or m]
    creep_rate: float = 0.0  # at which dry friction reaches its level     [rad/s or m/s]

    @property
    def stiction(self) -> float:
        """Excess of dry friction at rest [N m or N]."""
        return self.static_friction - self.coulomb_friction

    def with_value(self, name: str, value: float) -> 'JointFriction':
        """Return this friction with a new value; `stiction` is independent of coulomb_friction."""
        changed = self._replace(**{name: value})
        if name == 'coulomb_friction':
            return changed._replace(static_friction=value + self.stiction)
        return changed


@dataclass(frozen=True, eq=False)
class Joint:
    """Joint between a link and its parent."""

    name: str
    line: int
    kind: str  # name of its type, see joint_types.py
    parent: str
    child: str
    rotation: np.ndarray  # (3, 3)  joint frame in the parent link's frame
    position: np.ndarray  # (3,)    origin in the parent link's frame   [m]
    axis: np.ndarray  # (3,)    unit vector in the joint frame
    lower: float = -np.inf  # [rad or m]
    upper: float = np.inf  # [rad or m]
    effort: float = np.inf  # largest effort of the motor                 [N m or N]
    velocity: float = np.inf  # largest speed                               [rad/s or m/s]
    acceleration: float = np.inf  # largest one                               [rad/s2 or m/s2]
    deceleration: float = np.inf  # inf: that of acceleration                 [rad/s2 or m/s2]
    jerk: float = np.inf  # largest one                                         [rad/s3 or m/s3]
    friction: JointFriction = JointFriction()
    mimics: str | None = None  # joint that it follows, unless it is held
    mimic_ratio: float = 1.0  # its position over that of this joint             [1, rad/m, m/rad]
    mimic_offset: float = 0.0  # its position where this joint is at zero       [rad or m]
    held_at: float | None = None  # position at which a mimic joint is held     [rad or m]
    stiffness: float = np.inf  # motor side to link side; inf: rigid         [N m/rad or N/m]
    damping: float = 0.0  # parallel to the stiffness                   [N m s/rad or N s/m]
    hysteresis: float = 0.0  # loss per cycle over the elastic energy
    further_stiffness: tuple[float, ...] = ()  # beyond each of `stiffness_torques`
    stiffness_torques: tuple[float, ...] = ()  # at which the stiffness changes  [N m or N]
    backlash: float = 0.0  # whole range of twist without force              [rad or m]
    # harmonics: amplitude [rad or m; N m of the motor; 1], cycles per turn of the motor, phase
    kinematic_error: tuple[tuple[float, float, float], ...] = ()  # of the twist
    cogging: tuple[tuple[float, float, float], ...] = ()  # torque of the motor
    torque_ripple: tuple[tuple[float, float, float], ...] = ()  # over the torque of the motor
    slip: tuple[tuple[float, float], ...] = ()  # stiffness and force of parallel springs that slip
    rotor_inertia: float = 0.0  # about the motor's own axis                  [kg m2]
    gear_ratio: float = 1.0  # motor speed over joint speed                [1 or rad/m]
    spring_stiffness: float = 0.0  # across the joint, parallel to the drive [N m/rad or N/m]
    spring_reference: float = 0.0  # position without force of this spring   [rad or m]
    encoder: Encoder | None = None  # None: exact measurements
    dc_motor: DcMotor | None = None  # None: the motor has no electrical limits
    part_of: str = ''  # universal, spherical or planar joint of which it is a coordinate
    pitch: float = 0.0  # of a screw joint, travel per turn                    [m]

    def __post_init__(self) -> None:
        assert self.kind in JOINT_TYPES, f'unknown joint type {self.kind!r}'

    @property
    def type(self) -> JointType:
        """Properties of the type of the joint."""
        return JOINT_TYPES[self.kind]

    @property
    def moves(self) -> bool:
        """Whether the joint has a coordinate."""
        return self.kind != 'fixed' and not self.is_base and self.held_at is None

    @property
    def is_base(self) -> bool:
        """Whether the joint leaves the base free."""
        return self.kind in FREE_COMPONENTS

    @property
    def turns(self) -> bool:
        """Whether the orientation of its child changes."""
        return self.is_base or (self.moves and self.type.rotates)

    @property
    def screw(self) -> np.ndarray:
        """Screw axis (omega, v) of the motion in the joint frame, (6,) [-]."""
        if self.type.rotates:
            return np.concatenate([self.axis, self.axis * self.travel_per_radian])
        return np.concatenate([np.zeros(3), self.axis * self.type.translates])

    @property
    def travel_per_radian(self) -> float:
        """Travel of a screw joint along its axis per angle [m/rad]; other joints have none."""
        return self.pitch / (2 * np.pi)

    @property
    def has_gear_law(self) -> bool:
        """Whether the gear is more than a spring and a damper."""
        laws = self.hysteresis, self.slip, self.further_stiffness, self.backlash
        return np.isfinite(self.stiffness) and any([*laws, self.kinematic_error])

    @property
    def has_motor_law(self) -> bool:
        """Whether the motor has cogging or torque ripple, or is a DC motor."""
        return bool(self.cogging or self.torque_ripple or self.dc_motor)

    @property
    def stall_effort(self) -> float:
        """Largest effort of a DC motor at rest, inf of other motors [N m or N]."""
        return np.inf if self.dc_motor is None else self.gear_ratio * self.dc_motor.stall_torque

    @property
    def no_load_rate(self) -> float:
        """Rate that a DC motor reaches without load, inf of other motors [rad/s or m/s]."""
        return np.inf if self.dc_motor is None else self.dc_motor.no_load_speed / self.gear_ratio

    @property
    def reflected_inertia(self) -> float:
        """Inertia of the rotor reflected to the joint [kg m2 or kg]."""
        return self.rotor_inertia * self.gear_ratio**2
