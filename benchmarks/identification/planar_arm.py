"""
Planar arms with known parameters, as the description of a fit.

All joints turn about the vertical. `mujoco_plant.py` has the same arm as a chain of rigid pieces.
"""

from dataclasses import dataclass
from typing import NamedTuple

import flex_robot_sim as frs

GAUGE_LENGTH_RATIO = 0.02  # of a gauge, over that of the link


class Drive(NamedTuple):
    """Parameters of a joint."""

    rotor: float  # inertia of the rotor, at the joint                               [kg m2]
    stiffness: float  # of the gear                                              [N m/rad]
    damping: float  # of the gear                                               [N m s/rad]
    coulomb: float  # dry friction                                                    [N m]
    viscous: float  # viscous friction                                          [N m s/rad]
    hysteresis: float = 0.0  # energy lost per cycle, over the elastic energy
    effort: float = 10.0  # largest                                                  [N m]


class Link(NamedTuple):
    """Parameters of a flexible link with a mass at its end."""

    length: float  # [m]
    EI: float  # [N m2]
    density: float  # per length                                                      [kg/m]
    damping_time: float  # damping over stiffness                                        [s]
    tip_mass: float  # [kg]


@dataclass(frozen=True)
class PlanarArm:
    """Drives and links of a planar arm, in series."""

    drives: tuple[Drive, ...]
    links: tuple[Link, ...]
    delay: float = 0.0  # of all measurements [s]

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by their paths in a fit."""
        values = {'delay': self.delay}
        for k, (drive, link) in enumerate(zip(self.drives, self.links), start=1):
            values |= {
                f'link{k}.EIz': link.EI,
                f'link{k}.damping_time': link.damping_time,
                f'joint{k}.gear_stiffness': drive.stiffness,
                f'joint{k}.gear_damping': drive.damping,
                f'joint{k}.coulomb': drive.coulomb,
                f'joint{k}.viscous': drive.viscous,
                f'tip{k}.mass': link.tip_mass,
            }
        return values

    def model(
        self, *, pieces=24, friction=True, presliding=None, creep_rate=None, modes=2, gauges=True
    ):
        """Return the arm for a fit; `pieces` of a plant give the places of its gauges."""
        builder, parent = frs.ArmBuilder('planar'), 'base'
        for k, (drive, link) in enumerate(zip(self.drives, self.links), start=1):
            builder.add_beam(
                f'link{k}',
                length=link.length,
                section=frs.SectionStiffness(EIy=1e3 * link.EI, EIz=link.EI, GJ=1e3 * link.EI),
                mass=link.density * link.length,
                bending_y=modes,
                bending_z=0,
                torsion=0,
                damping_time=link.damping_time,
            )
            builder.add_joint(
                f'joint{k}',
                parent=parent,
                child=f'link{k}',
                effort=drive.effort,
                viscous_friction=drive.viscous if friction else 0.0,
                coulomb_friction=drive.coulomb if friction else 0.0,
                presliding=presliding if friction and drive.coulomb else None,
                creep_rate=creep_rate if friction and drive.coulomb else None,
            )
            builder.add_gear(
                f'joint{k}',
                rotor_inertia=drive.rotor,
                stiffness=drive.stiffness,
                damping=drive.damping,
                hysteresis=drive.hysteresis,
            )
            if gauges:
                half = 0.5 * GAUGE_LENGTH_RATIO * link.length
                for name, place in zip(('root', 'middle'), gauge_stations(link, pieces)):
                    builder.add_flex_sensor(
                        f'link{k}', name, start=place - half, end=place + half, plane='xy'
                    )
            tip = f'tip{k}'
            builder.add_rigid(tip, mass=link.tip_mass)
            builder.attach(tip, parent=f'link{k}')
            parent = tip
        return builder.build()


def gauge_stations(link, pieces):
    """Return the stations of its gauges: joints of the chain at the root and in the middle."""
    width = link.length / pieces
    return 0.5 * width, (pieces // 2 + 0.5) * width
