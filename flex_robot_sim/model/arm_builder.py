"""An arm from code: links, joints, gears and sensors, without XML."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from numpy.typing import ArrayLike

from flex_robot_sim.description.argument_errors import read_built
from flex_robot_sim.description.attribute_text import name_text, vector, vector_text
from flex_robot_sim.description.gravity import GRAVITY
from flex_robot_sim.description.urdf_elements import link_element, renamed, robot_text
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.constraint_builder import ZERO
from flex_robot_sim.model.contact_builder import ContactBuilder
from flex_robot_sim.model.joint_builder import JointBuilder
from flex_robot_sim.model.joint_part_builder import JointPartBuilder
from flex_robot_sim.model.screw_bodies import bodies_of_screws
from flex_robot_sim.model.sensor_builder import SensorBuilder
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import SummaryRows, counted, listed, summarized

if TYPE_CHECKING:
    from flex_robot_sim.description.robot import RobotDescription
    from flex_robot_sim.model.arm_model import ArmModel


@summarized
class ArmBuilder(JointBuilder, JointPartBuilder, SensorBuilder, ContactBuilder):
    """
    Builder of an arm, link by link and joint by joint.

    The arm is a tree of links on the fixed link `base`, which exists from the start. Each other
    link needs one joint, by `add_joint` or `attach`; `add_constraint` closes loops. Every method
    returns the builder. Units are SI; frames are those of URDF. A call that raises an error
    changes nothing.

    Example::

        builder = frs.ArmBuilder('lamp')
        builder.add_beam('pole', length=0.5, section=frs.Tube(0.03, 0.002), material='aluminium')
        builder.add_joint('shoulder', parent='base', child='pole', axis='y')
        builder.add_gear('shoulder', gear_ratio=50, rotor_inertia=1e-5, stiffness=900)
        frs.frequencies(builder.build(), [0.0])
    """

    def __init__(self, name: str = 'arm', *, base: str = 'base') -> None:
        """
        Start with the fixed base.

        :param name: of the arm.
        :param base: name of its fixed link.
        """
        self._name, self._base = name_text('name', name), name_text('base', base)
        self._links: dict[str, Element] = {}
        self._beams: dict[str, Element] = {}  # of the flexible ones, in <flexibility>
        self._imus: dict[str, Element] = {}  # of rigid ones with IMUs, in <flexibility>
        self._joints: dict[str, Element] = {}
        self._gears: dict[str, Element] = {}  # of joints that <flexibility> describes
        self._constraints: dict[str, Element] = {}
        self._contacts: dict[str, Element] = {}
        self._ground: Element | None = None
        self._obstacles: dict[str, Element] = {}
        self._parents: dict[str, str] = {}  # link -> parent
        self._links[base] = link_element(base, ())

    @classmethod
    def from_screws(
        cls,
        screws: ArrayLike,
        poses: ArrayLike,
        *,
        parents: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        mass: ArrayLike = 1.0,
        centre: ArrayLike = ZERO,
        inertia: ArrayLike = (0.01, 0.01, 0.01),
        name: str = 'arm',
    ) -> ArmBuilder:
        """
        Return the builder of a rigid arm from the screws of its joints, in one pose.

        Its bodies are called `body_1`, ..., and its joints `joint_1`, .... `flexsim screws`
        prints screws and poses of any arm.

        :param screws: axes of the joints in the base frame (n, 6), angular part first: a unit
            vector and its moment, plus the pitch [m/rad] times this vector; or zero and a
            direction of translation.
        :param poses: of the bodies in the base frame where all joints are at zero, (n, 4, 4).
        :param parents: index of the parent body of each, -1 for the base, (n,); default: a chain.
        :param lower, upper: limits of the joints, (n,) [rad or m]; translations need both.
        :param mass, centre, inertia: of the bodies in their frames, one or (n,), (n, 3) and
            (n, 3) or (n, 3, 3) [kg, m, kg m2]. Kinematics do not depend on them.
        :param name: of the arm.

        Example::

            screws = [(0, 0, 1, 0, 0, 0), (0, 0, 1, 0, -0.4, 0)]
            poses = np.tile(np.eye(4), (2, 1, 1))
            poses[:, 0, 3] = 0.2, 0.6
            arm = frs.ArmBuilder.from_screws(screws, poses).build()
            assert np.allclose(frs.pose(arm, np.zeros(2), link='body_2'), poses[1])
        """
        builder = cls(name)
        for body in bodies_of_screws(screws, poses, parents, lower, upper, mass, centre, inertia):
            builder.add_rigid(body.carrier, **({} if body.frame else body.inertial))
            builder.add_joint(body.joint_name, **body.joint)
            if body.frame:
                builder.add_rigid(body.name, **body.inertial)
                builder.attach(body.name, parent=body.carrier, **body.frame)
        return builder

    def attach(
        self,
        child: str | ArmBuilder,
        *,
        parent: str,
        xyz: ArrayLike | None = None,
        rpy: ArrayLike = ZERO,
        station: float | None = None,
        name: str | None = None,
        prefix: str = '',
    ) -> ArmBuilder:
        """
        Fix a link to another one, or another arm by its base.

        :param child: name of a link of this arm, or an ArmBuilder, which is copied.
        :param parent: name of a link of this arm.
        :param xyz, rpy, station: place on the parent, as for `add_joint`.
        :param name: of the fixed joint; default: that of the child with `_mount`.
        :param prefix: before all names of links and joints of the other arm.

        Example::

            finger = frs.ArmBuilder('finger', base='knuckle').add_rigid('nail', mass=0.1)
            finger.add_joint('bend', parent='knuckle', child='nail', xyz=(0.05, 0, 0))
            hand = frs.ArmBuilder('hand')
            hand.attach(finger, parent='base', prefix='left_')
        """
        if not isinstance(child, ArmBuilder):
            return self.add_joint(
                f'{child}_mount' if name is None else name,
                parent=parent,
                child=child,
                type='fixed',
                xyz=xyz,
                rpy=rpy,
                station=station,
            )
        joined = deepcopy(self)
        joined._include(child, prefix)
        link = f'{prefix}{child._base}'
        joined.attach(link, parent=parent, xyz=xyz, rpy=rpy, station=station, name=name)
        self.__dict__.update(joined.__dict__)
        return self

    def build(
        self, *, coupling: str = 'shortening', gravity: ArrayLike = GRAVITY, tool: str = ''
    ) -> ArmModel:
        """
        Return the ArmModel.

        :param coupling: 'shortening' of bending beams, or 'zero_order' to omit it.
        :param gravity: in the base frame, (3,) [m/s2].
        :param tool: tool link; '': found by name and position, as `frs.load` does.

        Example::

            builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
            builder.add_joint('hinge', parent='base', child='arm', axis='y')
            sim = frs.Simulation(builder.build(gravity=(0, 0, -1.62)))
        """
        return build_arm(self._description(tool), coupling, gravity)

    def to_urdf(self, *, gravity: ArrayLike = GRAVITY) -> str:
        """
        Return the arm as the text of a URDF with `<flexibility>`.

        `frs.load` reads the same arm from it; other URDF tools read it with rigid links.

        :param gravity: as of `build`, (3,) [m/s2]; the text has `<gravity>` if it is another one.

        Example::

            builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
            builder.add_joint('hinge', parent='base', child='arm', axis='y')
            arm = frs.load(builder.to_urdf())
        """
        xyz = FLEXIBILITY['gravity'].attributes['xyz']
        values = vector(f'ArmBuilder("{self._name}")', 'gravity', gravity, xyz.unit)
        is_usual = tuple(values) == GRAVITY
        elements = [] if is_usual else [Element('gravity', xyz=vector_text(values))]
        return self._description('', elements).text

    def _description(self, tool: str, elements: Sequence[Element] = ()) -> RobotDescription:
        """Return the description; `elements`: more ones in <flexibility>."""
        text = robot_text(
            self._name,
            [*self._links.values(), *self._joints.values(), *self._constraints.values()],
            [
                *self._beams.values(),
                *self._imus.values(),
                *self._gears.values(),
                *self._contact_elements(),
                *elements,
            ],
        )
        return read_built(text, f'ArmBuilder("{self._name}")', tool)

    def _include(self, other, prefix):
        """Copy links and joints of another builder, with a prefix to their names."""
        if not isinstance(prefix, str):
            raise SettingError(f'prefix = {shortened(repr(prefix), 60)} must be a text')
        for name in other._links:
            self._expect_new('link', f'{prefix}{name}', self._links)
        for name in other._joints:
            self._expect_new('joint', f'{prefix}{name}', self._joints)
        if other._contacts or other._obstacles or other._ground is not None:
            raise SettingError(
                'the attached arm has contacts: add contacts, ground and obstacles to the whole '
                'arm'
            )
        for name in other._constraints:
            self._expect_new('constraint', f'{prefix}{name}', self._constraints)
        for table in ('_links', '_joints', '_beams', '_imus', '_gears', '_constraints'):
            for name, element in getattr(other, table).items():
                getattr(self, table)[f'{prefix}{name}'] = renamed(element, prefix)
        self._parents.update(
            {f'{prefix}{link}': f'{prefix}{parent}' for link, parent in other._parents.items()}
        )

    def _summary(self) -> tuple[str, SummaryRows]:
        rows = [
            ('links', [name for name in self._links if name not in self._beams]),
            ('flexible links', list(self._beams)),
            ('joints', list(self._joints)),
            ('constraints', list(self._constraints)),
            ('contacts', list(self._contacts)),
            ('IMUs', self._imu_names()),
        ]
        heading = (
            f'ArmBuilder of "{self._name}": {counted(len(self._links), "link")}, '
            f'{counted(len(self._joints), "joint")}'
        )
        return heading, [(label, listed(names)) for label, names in rows if names]
