"""Robot description: plain values in SI units, base to tip."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flex_robot_sim.description.base_motion import BaseMotionTable
from flex_robot_sim.description.constraint import Constraint
from flex_robot_sim.description.contact import Contact, ContactShape
from flex_robot_sim.description.gravity import GRAVITY
from flex_robot_sim.description.links import ElasticBeam, Joint, Link
from flex_robot_sim.description.tool import ToolChoice, choose_tool
from flex_robot_sim.util.read_only import make_read_only
from flex_robot_sim.util.serialization import Serializable
from flex_robot_sim.util.summary import SummaryRows, counted, listed, summarized


@summarized
@dataclass(frozen=True, eq=False)
class RobotDescription(Serializable):
    """
    Description of a robot: a tree of links, each after its parent; its arrays are read-only.

    Example::

        description = frs.read_description('two_link')
        assert description.joint_names == ['waist', 'shoulder', 'elbow']
        arm = frs.load(description)
    """

    name: str
    source: str  # file, as given by the user, or '<text>'
    links: tuple[Link, ...]  # the first is the fixed base
    joints: tuple[Joint, ...]  # joints[i] is the parent joint of links[i + 1]
    warnings: tuple[str, ...] = field(default=())  # lines `file:line: what. what to do.`
    text: str = field(default='', repr=False)  # the URDF that was read, xacro expanded
    requested_tool: str = ''  # link that you choose as the tool; '': see tool.py
    constraints: tuple[Constraint, ...] = ()  # closed loops
    contacts: tuple[Contact, ...] = ()
    world: tuple[ContactShape, ...] = ()  # ground and obstacles
    base_motion: BaseMotionTable | None = None  # None: the base is fixed or free
    gravity: tuple[float, float, float] = GRAVITY  # unless a program chooses another one

    def __post_init__(self) -> None:
        parts = self.links, self.joints, self.constraints, self.contacts, self.world
        make_read_only((*parts, self.base_motion))

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.__post_init__()

    @property
    def free_joint(self) -> Joint | None:
        """The floating or planar joint of a free base; None: the base is fixed."""
        return next((joint for joint in self.joints if joint.is_base), None)

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints that move, base to tip."""
        return [joint.name for joint in self.joints if joint.moves]

    @property
    def urdf_joint_names(self) -> list[str]:
        """Names of the moving joints without coordinates of joints that have several."""
        return [joint.name for joint in self.joints if joint.moves and not joint.part_of]

    @property
    def actuated_joint_names(self) -> list[str]:
        """
        Names of the moving joints that a motor drives, base to tip.

        Mimic, universal, spherical and planar joints are passive. With closed loops, so are joints
        with `effort="0"` in their <limit>.
        """
        return [
            joint.name
            for joint in self.joints
            if joint.moves
            and joint.mimics is None
            and not joint.part_of
            and not (self.constraints and joint.effort == 0.0)
        ]

    @cached_property
    def tool(self) -> ToolChoice:
        """The link at the end of the arm that payloads, pushes and poses refer to."""
        return choose_tool(self.name, self.links, self.joints, self.requested_tool)

    def link(self, name: str) -> Link:
        """Return the link called `name`; KeyError if there is none."""
        return {link.name: link for link in self.links}[name]

    def joint(self, name: str) -> Joint:
        """Return the joint called `name`; KeyError if there is none."""
        return {joint.name: joint for joint in self.joints}[name]

    def contact(self, name: str) -> Contact:
        """Return the contact called `name`; KeyError if there is none."""
        return {contact.name: contact for contact in self.contacts}[name]

    def beam(self, link_name: str) -> ElasticBeam:
        """Return the beam of a flexible link."""
        beam = self.link(link_name).beam
        assert beam is not None, f'{link_name} is rigid'
        return beam

    def children(self, link_name: str) -> list[Joint]:
        """Joints whose parent is `link_name`."""
        return [joint for joint in self.joints if joint.parent == link_name]

    def _summary(self) -> tuple[str, SummaryRows]:
        moving = [f'{joint.name} ({joint.kind})' for joint in self.joints if joint.moves]
        held = [joint.name for joint in self.joints if joint.held_at is not None]
        rows = [
            ('moving joints', moving),
            ('held joints', held),
            ('closed loops', [one.name for one in self.constraints]),
            ('contacts', [one.name for one in self.contacts]),
            ('base motion', [self.base_motion.file] if self.base_motion else []),
            ('flexible links', [link.name for link in self.links if link.beam is not None]),
            ('links', [link.name for link in self.links]),
        ]
        heading = (
            f'RobotDescription of "{self.name}": {counted(len(self.links), "link")}, '
            f'{counted(len(self.joints), "joint")}'
        )
        return heading, [
            *((label, listed(words)) for label, words in rows if words),
            ('source', self.source),
            *(('warning', line) for line in self.warnings),
        ]
