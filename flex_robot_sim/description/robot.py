"""A robot as its description says it: plain values in SI units, base to tip."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Inertial:
    """Inertia of a rigid body."""

    mass: float             # [kg]
    centre: np.ndarray      # (3,)    centre of mass in the link frame                  [m]
    inertia: np.ndarray     # (3, 3)  about the centre of mass, in the link's axes      [kg m2]


@dataclass(frozen=True)
class FlexSensor:
    """A sensor that measures the mean curvature of a beam between two stations."""

    name: str
    start: float            # station where it begins, from the link origin             [m]
    end: float              # station where it ends                                     [m]
    plane: str              # 'xy' or 'xz'


@dataclass(frozen=True, eq=False)
class ElasticBeam:
    """What makes a link flexible: a uniform beam from the link origin to `end`."""

    end: np.ndarray             # (3,)    far end, in the link frame                    [m]
    axes: np.ndarray            # (3, 3)  beam frame in the link frame: x along the beam
    length: float               # [m]
    mass_per_length: float      # [kg/m]
    section_inertia: np.ndarray  # (3,)   about x, y, z per length                      [kg m]
    EIy: float                  # resists bending_z; nan where the link is rigid        [N m2]
    EIz: float                  # resists bending_y; nan where the link is rigid        [N m2]
    GJ: float                   # nan where the link is rigid                           [N m2]
    EA: float                   # nan where the link is rigid                           [N]
    coordinates: dict           # direction -> number of coordinates, or 'all'
    elements: int               # finite elements per segment; 0: assumed modes
    segments: int               # flexible bodies that the beam is cut into
    boundary: str               # 'static', 'free', 'mass' or 'inertia'; see words.py
    damping_ratio: float        # of every mode                                         [-]
    damping_time: float         # damping / stiffness (Kelvin-Voigt)                    [s]
    sensors: tuple = ()         # FlexSensor
    size: tuple = None          # outer size along y and z; None: only stiffnesses  [m]
    is_round: bool = False      # a rod or a tube

    def stiffness(self, direction):
        """Stiffness that resists motion along `direction` [N m2; stretch: N]."""
        return {'bending_y': self.EIz, 'bending_z': self.EIy,
                'torsion': self.GJ, 'stretch': self.EA}[direction]

    def station(self, point):
        """Distance along the beam [m] of the station nearest to `point` (3,) [m, link frame]."""
        return float(self.axes[:, 0] @ point)


@dataclass(frozen=True, eq=False)
class Link:
    """One body of the robot."""

    name: str
    line: int                   # where the description says it
    inertial: Inertial = None   # None: a frame without mass
    beam: ElasticBeam = None    # None: rigid


@dataclass(frozen=True, eq=False)
class Joint:
    """What connects a link to the one before it."""

    name: str
    line: int
    kind: str                   # 'revolute', 'continuous', 'prismatic' or 'fixed'
    parent: str
    child: str
    rotation: np.ndarray        # (3, 3)  joint frame in the parent link's frame
    position: np.ndarray        # (3,)    likewise                            [m]
    axis: np.ndarray            # (3,)    unit vector in the joint frame
    lower: float = -np.inf      # [rad or m]
    upper: float = np.inf       # [rad or m]
    effort: float = np.inf      # largest effort of the motor                 [N m or N]
    velocity: float = np.inf    # largest speed                               [rad/s or m/s]
    viscous_friction: float = 0.0   # [N m s/rad or N s/m]
    coulomb_friction: float = 0.0   # [N m or N]
    mimics: str = None          # joint that it would follow; it is held instead
    held_at: float = None       # position at which a mimic joint is held     [rad or m]
    stiffness: float = np.inf   # motor side to link side; inf: rigid         [N m/rad or N/m]
    damping: float = 0.0        # beside the stiffness                        [N m s/rad or N s/m]
    rotor_inertia: float = 0.0  # about the motor's own axis                  [kg m2]
    gear_ratio: float = 1.0     # motor speed over joint speed                [1 or rad/m]

    @property
    def moves(self):
        """Whether the joint has a coordinate."""
        return self.kind != 'fixed' and self.held_at is None

    @property
    def reflected_inertia(self):
        """Inertia of the rotor as the joint feels it [kg m2 or kg]."""
        return self.rotor_inertia * self.gear_ratio**2


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """A robot: a tree of links, each after the one that carries it."""

    name: str
    source: str                 # file, as given by the user, or '<text>'
    links: tuple                # Link; the first is the fixed base
    joints: tuple               # Joint; joints[i] carries links[i + 1]
    warnings: tuple = field(default=())     # lines `file:line: what. what to do.`
    text: str = field(default='', repr=False)   # the URDF that was read, xacro expanded

    @property
    def joint_names(self):
        """Names of the joints that move, base to tip."""
        return [joint.name for joint in self.joints if joint.moves]

    def link(self, name):
        """Return the link called `name`; KeyError if there is none."""
        return {link.name: link for link in self.links}[name]

    def joint(self, name):
        """Return the joint called `name`; KeyError if there is none."""
        return {joint.name: joint for joint in self.joints}[name]

    def children(self, link_name):
        """Joints that `link_name` carries."""
        return [joint for joint in self.joints if joint.parent == link_name]
