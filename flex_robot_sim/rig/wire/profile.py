"""Profiles: piecewise constant inputs, which the board plays by its own clock."""

import zlib
from collections.abc import Iterable

from flex_robot_sim.rig.wire.binary_layout import layout_of
from flex_robot_sim.rig.wire.protocol import ProfileLoad, Segment
from flex_robot_sim.rig.wire.vocabulary import CONSTANTS
from flex_robot_sim.util.exceptions import UsageError

SEGMENTS_PER_CHUNK = CONSTANTS['SEGMENTS_PER_CHUNK'][0]
PROFILE_CAPACITY = CONSTANTS['PROFILE_CAPACITY'][0]
MIN_SEGMENT_US, MAX_SEGMENT_US = CONSTANTS['SEGMENT_MIN_US'][0], CONSTANTS['SEGMENT_MAX_US'][0]


def segment(duration: float, duty: float, step_rate: float) -> Segment:
    """
    Return a segment.

    :param duration: [s]; duty: of the DC motor, -1 to 1; step_rate: of the stepper [steps/s].
    """
    ticks = round(duration * 1e6)
    if not MIN_SEGMENT_US <= ticks <= MAX_SEGMENT_US:
        raise UsageError(
            f'duration = {duration!r} s must be {MIN_SEGMENT_US * 1e-6:g} to '
            f'{MAX_SEGMENT_US * 1e-6:g}: of a segment of a profile.'
        )
    return Segment(ticks, duty, step_rate)


def profile_crc(segments: Iterable[Segment]) -> int:
    """CRC-32 over the bytes of the segments, which identifies a profile on the board."""
    return zlib.crc32(b''.join(layout_of(Segment).pack(piece) for piece in segments))


def chunks(segments: Iterable[Segment]) -> list[ProfileLoad]:
    """Return the frames that carry a profile to the board, in their order."""
    segments = list(segments)
    if not 0 < len(segments) <= PROFILE_CAPACITY:
        raise UsageError(
            f'a profile has 1 to {PROFILE_CAPACITY} segments; this one has {len(segments)}.'
        )
    crc = profile_crc(segments)
    return [
        ProfileLoad(first, len(segments), crc, tuple(segments[first : first + SEGMENTS_PER_CHUNK]))
        for first in range(0, len(segments), SEGMENTS_PER_CHUNK)
    ]
