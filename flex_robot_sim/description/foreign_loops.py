"""Closed loops and joints in elements of other programs, which are passed over."""

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.screw_joint import SCREW
from flex_robot_sim.description.urdf_words import CONSTRAINT_TYPES
from flex_robot_sim.description.words import FLEXIBILITY

LOOPS = {  # name of the element -> what to write instead
    'loop_joint': '<constraint>',
    'ball_constraint': '<constraint type="spherical">',
    'weld_constraint': '<constraint type="fixed">',
    'distance_constraint': '<constraint type="distance">',
    'linear_bushing_rpy': '<constraint type="fixed"> with <compliance>',
}
TYPES = {'ball': 'spherical', 'revolute2': 'universal', 'continuous': 'revolute', 'weld': 'fixed'}


def warn_of_foreign_loops(document: Document) -> None:
    """Warn of closed loops in elements of other programs, which are passed over."""
    for element in document.root.iterchildren('*'):
        name = local_name(element)
        instead = LOOPS.get(name)
        if name == 'loop_joint':
            instead = _constraint_of(element)
        if name == 'gazebo' and element.find('joint/child') is not None:
            instead = _constraint_of(element.find('joint'))
        if instead is not None:
            document.warn(
                document.line(element),
                f'<{name}> describes a closed loop, which is passed over',
                f'Write it as {instead}',
            )


def refuse_foreign_joint(document: Document, element: XmlElement) -> None:
    """Raise DescriptionError for a joint of a type that only other programs have."""
    kind = (element.get('type') or '').strip()
    kind = TYPES.get(kind, kind)
    if kind in FLEXIBILITY['joint'].attributes['type'].choices:
        name = element.get('name')
        known, pitch = ('continuous', ' pitch="..."') if kind == SCREW else ('fixed', '')
        raise document.error(
            element,
            f'joint "{name}" is {kind}, which URDF does not know',
            f'Write type="{known}" here, and <joint name="{name}" type="{kind}"{pitch}/> in '
            '<flexibility>',
        )


def refuse_foreign_joints(document: Document) -> None:
    """Raise DescriptionError for joints in elements of Drake, without which links are loose."""
    for element in document.root.iterchildren('*'):
        if element.tag != 'joint' and local_name(element) == 'joint':
            refuse_foreign_joint(document, element)


def local_name(element: XmlElement) -> str:
    """Name of an element without its namespace or prefix."""
    return str(element.tag).rpartition('}')[2].rpartition(':')[2]


def _constraint_of(joint):
    """Return the <constraint> in place of a joint."""
    kind = (joint.get('type') or '').strip()
    kind = TYPES.get(kind, kind)
    return f'<constraint type="{kind}">' if kind in CONSTRAINT_TYPES else '<constraint>'
