"""`twist_coupling` of a flexible link: whether bending of a straight beam couples with twist."""

from collections.abc import Mapping

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import ElasticBeam
from flex_robot_sim.elastic.coupled_beam import MAX_COUPLED_COORDINATES

MIN_STIFFNESS_RATIO = 4.0 * (1 + 1e-9)  # of bending in the two planes, above which they couple
# default shapes of one segment, 0.6 % off in the load of Prandtl, and of several, at most 1.3 %
WEAK_BENDING, TORSION, TORSION_OF_SEGMENTS = 4, 3, 2
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
        return not missing and not is_large and _is_strip(beam.EIy, beam.EIz)
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


def coupled_defaults(
    choice: str | None,
    coordinates: Mapping[str, int],
    stiffness: Mapping[str, float],
    segments: int,
) -> dict[str, int]:
    """
    Return default coordinates of assumed modes with which a strip buckles at the right load.

    :param choice: as for `read_twist_coupling`.
    :param coordinates: direction -> coordinates of a segment, without these defaults.
    :param stiffness: EIy and EIz [N m2].
    """
    EIy, EIz = stiffness['EIy'], stiffness['EIz']
    if choice == 'off' or not _is_strip(EIy, EIz) or not all(coordinates[d] for d in _COUPLED):
        return {}
    if segments > 1:
        return {'torsion': TORSION_OF_SEGMENTS}
    return {'bending_y' if EIz < EIy else 'bending_z': WEAK_BENDING, 'torsion': TORSION}


def _is_strip(EIy, EIz):
    """Whether a beam is so much stiffer in one plane that it may buckle sideways."""
    low, high = sorted((EIy, EIz))
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
