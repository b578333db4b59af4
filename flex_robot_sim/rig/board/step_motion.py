"""Motion generation on the board: ramp of the step rate, and stored profile."""

from collections.abc import Sequence

from flex_robot_sim.rig.wire.profile import profile_crc
from flex_robot_sim.rig.wire.protocol import ProfileLoad, Segment


class StepRamp:
    """Pulse generator of the stepper with limited acceleration."""

    def __init__(self) -> None:
        self.rate = 0.0  # now                                       [steps/s]
        self._ramp_position = 0.0  # of the ramp, whole steps are pulses       [steps]

    @property
    def steps(self) -> int:
        """Pulses sent since boot, with their sign."""
        return int(self._ramp_position // 1)

    def advance(self, target: float, acceleration: float, duration: float) -> None:
        """
        Advance by one time step.

        :param target: rate to reach [steps/s]; acceleration: [steps/s2]; duration: [s].
        """
        change = acceleration * duration
        before = self.rate
        self.rate = min(max(target, before - change), before + change)
        reached = abs(self.rate - before) / acceleration
        # on the ramp until `reached`, then at constant rate
        self._ramp_position += 0.5 * (before + self.rate) * reached + self.rate * (
            duration - reached
        )

    def stop(self) -> None:
        """Send no further pulse."""
        self.rate = 0.0


class ProfileStore:
    """A profile, loaded in chunks."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._total = 0
        self._crc: int | None = None

    @property
    def segment_count(self) -> int:
        """Number of segments loaded so far."""
        return len(self._segments)

    @property
    def crc(self) -> int | None:
        """CRC-32 of the profile; None unless it is complete."""
        return self._crc if self._total and self.segment_count == self._total else None

    def load(self, chunk: ProfileLoad, rows: Sequence[Segment]) -> bool:
        """
        Append the rows of a ProfileLoad; return whether they continue the profile.

        Rows that do not continue it clear the profile.
        """
        if chunk.first == 0:
            self._segments, self._total, self._crc = [], chunk.total, chunk.crc
        is_consistent = (
            chunk.first == self.segment_count
            and chunk.total == self._total
            and chunk.crc == self._crc
        )
        if is_consistent:
            self._segments += rows
            is_consistent = (
                self.segment_count < self._total or profile_crc(self._segments) == self._crc
            )
        if not is_consistent:
            self.clear()
        return is_consistent

    def clear(self) -> None:
        """Remove the profile."""
        self._segments, self._total, self._crc = [], 0, None

    def at(self, elapsed: int) -> Segment | None:
        """Segment at a time [us] since the start, or None after its end."""
        end = 0
        for segment in self._segments:
            end += segment.duration
            if elapsed < end:
                return segment
        return None
