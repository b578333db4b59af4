"""What moves on the board: the ramp of the step rate, and a profile that plays."""

from flex_robot_sim.rig.profile import profile_crc


class StepRamp:
    """Pulses of the stepper at a rate that changes no faster than the acceleration."""

    def __init__(self):
        self.rate = 0.0             # now                                       [steps/s]
        self._place = 0.0           # of the ramp, whole steps are pulses       [steps]

    @property
    def steps(self):
        """Pulses sent since boot, with their sign."""
        return int(self._place // 1)

    def advance(self, target, acceleration, duration):
        """
        Let time go on.

        :param target: rate to reach [steps/s]; acceleration: [steps/s2]; duration: [s].
        """
        change = acceleration * duration
        before = self.rate
        self.rate = min(max(target, before - change), before + change)
        reached = abs(self.rate - before) / acceleration
        # on the ramp for a while, then at the rate that it has reached
        self._place += 0.5 * (before + self.rate) * reached + self.rate * (duration - reached)

    def stop(self):
        """Send no further pulse."""
        self.rate = 0.0


class ProfileStore:
    """A profile while it is loaded in chunks, and afterwards."""

    def __init__(self):
        self._segments, self._total, self._crc = [], 0, None

    @property
    def held(self):
        """Number of segments that are there."""
        return len(self._segments)

    @property
    def crc(self):
        """CRC-32 of the profile, or None while there is no whole one."""
        return self._crc if self._total and self.held == self._total else None

    def load(self, chunk, rows):
        """
        Take the rows of a ProfileLoad; return whether they fit what is held.

        What does not fit throws everything away.
        """
        if chunk.first == 0:
            self._segments, self._total, self._crc = [], chunk.total, chunk.crc
        fits = (chunk.first == self.held and chunk.total == self._total
                and chunk.crc == self._crc)
        if fits:
            self._segments += rows
            fits = self.held < self._total or profile_crc(self._segments) == self._crc
        if not fits:
            self.clear()
        return fits

    def clear(self):
        """Forget the profile."""
        self._segments, self._total, self._crc = [], 0, None

    def at(self, elapsed):
        """Segment at a time [us] since the start, or None after its end."""
        end = 0
        for segment in self._segments:
            end += segment.duration
            if elapsed < end:
                return segment
        return None
