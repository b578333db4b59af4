"""A reproducible experiment on the emulated bench, without threads and clocks."""

from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
from flex_robot_sim.rig.conformance.back_ends import Lockstep
from flex_robot_sim.rig.conformance.host import Host
from flex_robot_sim.rig.host.link_session import Reading
from flex_robot_sim.rig.wire.profile import chunks, profile_crc
from flex_robot_sim.rig.wire.protocol import Arm, Disarm, Joint, ProfileStart, Zero

START = (0.15, 0.0)  # of the bench [m, rad]
RATE = 500  # of telemetry [Hz]


class Lab:
    """A host in lockstep with the board, with the true state of the bench at each telemetry."""

    def __init__(self, arm=None, parts=None):
        """Power up, with the joints zeroed where they are."""
        self.bench = Bench(arm, parts)
        self.host = Host(Lockstep('emulator', EmulatedRig(self.bench)))
        self.host.wait(40)
        self.host.hello()
        parts = self.bench.parts
        self.host.accepted(Zero(Joint.SLIDE, round(START[0] * parts.counts_per_metre)))
        self.host.accepted(Zero(Joint.TURN, round(START[1] * parts.counts_per_radian)))
        self.host.stream(RATE)
        self.host.telemetry.clear()
        self.truth = []  # (coordinates, rates) just after each telemetry

    def play(self, segments, milliseconds, rest=100):
        """Execute a profile, and record for a while before and after it."""
        for chunk in chunks(segments):
            self.host.accepted(chunk)
        self.wait(rest)
        self.host.accepted(Arm())
        self.host.wait(5, self.host.alive())
        self.host.accepted(ProfileStart(profile_crc(segments)))
        for _ in range(milliseconds // 20):
            self.wait(20, self.host.alive())
        self.host.accepted(Disarm())
        self.wait(rest)

    def wait(self, milliseconds, data=b''):
        """Advance the time."""
        for _ in range(milliseconds):
            self.host.wait(1, data)
            data = b''

    @property
    def readings(self):
        """Return the telemetry so far in the form of the link."""
        return [
            Reading(message, message.time * 1e-6, message.time * 1e-6)
            for message in self.host.telemetry
        ]
