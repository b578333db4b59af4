"""`twist_coupling` of a flexible link: whether bending of a straight beam couples with twist."""

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import ElasticBeam
from flex_robot_sim.elastic.coupled_beam import MAX_COUPLED_COORDINATES

MIN_STIFFNESS_RATIO = 4.0  # of bending in the two planes, above which they couple by default
_COUPLED = ('bending_y', 'bending_z', 'torsion')


def read_twist_coupling(
    document: Document, element: XmlElement, choice: str | None, link: str, beam: ElasticBeam
) -> bool:
    """
    Return whether bending of a straight `beam` couples with twist.

    :param choice: `twist_coupling` of its <link> `element`, 'on' or 'off'; None: by rule.
    """
    missing = [direction for direction in _COUPLED if not beam.count(direction)]
    is_large = beam.freedom > MAX_COUPLED_COORDINATES
    if choice is None:
        return not missing and not is_large and is_strip(beam)
    if choice == 'on' and missing:
        raise document.error(
            element,
            f'flexible link "{link}" has twist_coupling="on", but no coordinates of {missing[0]}',
            f'Give it {missing[0]}="2" in <modes>, or remove twist_coupling',
        )
    if choice == 'on' and is_large:
        raise document.error(
            element,
            f'a segment of flexible link "{link}" has {beam.freedom} elastic coordinates, and '
            f'bending and twist of at most {MAX_COUPLED_COORDINATES} can be coupled',
            'Give it more segments of fewer coordinates, or twist_coupling="off"',
        )
    return choice == 'on'


def is_strip(beam: ElasticBeam) -> bool:
    """Whether a beam is so much stiffer in one plane that it may buckle sideways."""
    low, high = sorted((beam.EIy, beam.EIz))
    return high > MIN_STIFFNESS_RATIO * low  # not if one is nan


def refuse_uncoupled(
    document: Document, element: XmlElement, choice: str | None, link: str
) -> None:
    """Raise DescriptionError if twist_coupling="off" is asked of a spatial beam."""
    if choice == 'off':
        raise document.error(
            element,
            f'flexible link "{link}" has twist_coupling="off", but its bending always couples '
            'with twist',
            'Remove twist_coupling',
        )
