"""Diagnostics of a bridge: a level, a line, and figures since the last call."""

from flex_robot_sim.rig.bridge.bridge import RigBridge
from flex_robot_sim.rig.host.command_channel import describe_faults, state_name
from flex_robot_sim.rig.host.link import LinkState
from flex_robot_sim.rig.wire.vocabulary import MOVING, Fault, Input

MS_PER_S = 1e3
MIN_TELEMETRY_SHARE = 0.9  # share of the requested telemetry rate


class BridgeReport:
    """Figures of a RigBridge."""

    def __init__(self, bridge: RigBridge, now: float) -> None:
        """Start the first interval at `now` [s]."""
        self._bridge = bridge
        self._last = now, 0, 0
        self._clipped = list(bridge.drives.clipped)

    def figures(self, now: float) -> tuple[str, str, dict[str, object]]:
        """Return level, line and {figure: value} for the interval since the last call."""
        bridge, status = self._bridge, self._bridge.link.status()
        last_time, readings, setpoints = self._last
        self._last = now, bridge.readings, status.setpoints
        span = max(now - last_time, 1e-9)
        rate = (bridge.readings - readings) / span
        message = status.reading.message if status.reading else None
        values = {
            'port': bridge.link.name,
            'link': status.condition,
            'board': 'unknown' if message is None else state_name(message.state),
            'faults': 'none'
            if message is None or not message.faults
            else ' '.join(str(fault.name) for fault in Fault if fault & message.faults),
            'inputs': ''
            if message is None
            else ' '.join(str(word.name).lower() for word in Input if word & message.inputs),
            'telemetry [Hz]': rate,
            'set points [Hz]': (status.setpoints - setpoints) / span,
            'age of the newest reading [ms]': MS_PER_S * status.reading.age
            if status.reading
            else 'none',
            'dealing with a reading, longest [ms]': MS_PER_S * bridge.work.take_peak(),
            'frames lost': status.gaps,
            'readings whose stamp did not advance': status.backward_stamps,
            'CRC errors': status.frames.crc_errors,
            'frames of wrong length or kind': status.frames.length_errors
            + status.frames.unknown_ids,
            'commands repeated': status.repeated,
            'port opened again': status.port.reconnects,
            'bytes not taken by the port': status.port.stuck_writes + status.port.lost_writes,
            'boots of the board': status.boots,
            'round trip [ms]': _or_none(status.round_trip, MS_PER_S),
            'clock offset [s]': _or_none(status.clock_offset),
            'clock drift [ppm]': 1e6 * status.clock_drift,
            'clock spread [ms]': _or_none(status.clock_spread, MS_PER_S),
            'session': status.session,
            'commands accepted': bridge.commands.accepted,
            'commands refused': bridge.commands.refused,
            'commands cut to an effort limit': bridge.commands.limited,
            'commands timed out': bridge.commands.timeouts,
            **{
                f'{name}: set points beyond its motor': count
                for name, count in zip(bridge.arm.joint_names, bridge.drives.clipped)
            },
            **_health(status.health),
        }
        return *self._verdict(status, message, rate), values

    def _verdict(self, status, message, rate):
        clipped, self._clipped = self._clipped, list(self._bridge.drives.clipped)
        if status.state != LinkState.READY:
            return 'error', status.condition
        if message is None:  # telemetry_rate = 0, or a boot at this moment
            return 'error', 'connected, but there is no telemetry yet: no states, no set points'
        if message.faults:
            return 'error', describe_faults(message.faults)
        requested_rate = self._bridge.link.settings.telemetry_rate
        if rate < MIN_TELEMETRY_SHARE * requested_rate:
            return 'warning', f'telemetry comes at {rate:.0f} Hz instead of {requested_rate} Hz'
        unhomed_joints = self._bridge.unhomed_joints
        if message.state not in MOVING:
            return 'ok', (
                'disarmed and not homed: call zero, then enable to arm'
                if unhomed_joints
                else 'disarmed: call enable to arm'
            )
        for name, before, after in zip(self._bridge.arm.joint_names, clipped, self._clipped):
            if after > before:
                return 'warning', f'"{name}" cannot do what is commanded: see docs/rig_bridge.md'
        if self._bridge.commands.is_stale:
            return 'warning', 'commands have stopped: efforts are zero'
        if unhomed_joints:
            return 'warning', (
                f'{state_name(message.state).lower()}, not homed: '
                f'{" and ".join(unhomed_joints)}. Disarm and call zero'
            )
        return 'ok', state_name(message.state).lower()


def _or_none(value, scale=1.0):
    return 'unknown' if value is None else scale * value


def _health(health):
    if health is None:
        return {}
    return {
        'board: up since [s]': health.uptime / 1000,
        'board: CRC errors': health.crc_errors,
        'board: bytes overrun': health.overruns,
        'board: set points refused': health.refused,
        'board: late steps': health.late_steps,
        'board: longest step [ms]': health.longest_step / 1000,
        'board: frames not sent': health.dropped_frames,
    }
