"""Services of the bridge node: enable, zero, clear, and effort profiles."""

from rclpy.node import Node

from flex_robot_sim.nodes.bridge_settings import AccessSettings
from flex_robot_sim.rig.bridge.bridge import RigBridge
from flex_robot_sim.ros import services, topics
from flex_robot_sim.ros.endpoints import offer, subscribe
from flex_robot_sim.ros.network_exposure import callers_of
from flex_robot_sim.ros.node_settings import MessageSettings
from flex_robot_sim.ros.security import enclave_of, missing_security
from flex_robot_sim.ros.trajectory_messages import read_effort_profile
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError


class BridgeServices:
    """`~/enable`, `~/zero`, `~/clear`, the topic `~/profile` and `~/start_profile`."""

    def __init__(
        self, node: Node, bridge: RigBridge, settings: AccessSettings, limits: MessageSettings
    ) -> None:
        self._node, self._bridge, self._limits = node, bridge, limits
        self._profile: tuple[int, str] | None = None  # its CRC, and its description
        self._allows_remote_enable = settings.enable_from_network
        self._requires_security = settings.arm_only_if_secure
        offer(node, services.ENABLE, self._switch)
        offer(node, services.ZERO, bridge.zero)
        offer(node, services.CLEAR, bridge.clear)
        offer(node, services.START_PROFILE, self._start)
        subscribe(node, topics.PROFILE.private, self._on_profile, raw=True)

    def _switch(self, is_on):
        if is_on:
            callers = callers_of(self._node, services.ENABLE.private.name)
            self._check_security(callers)
            self._check_callers(callers)
        return self._bridge.enable(is_on)

    def _check_security(self, callers):
        """Raise CommandError if `arm_only_if_secure` is set and ROS security is not enforced."""
        if not self._requires_security:
            return
        reason = missing_security(enclave_of(self._node))
        if reason:
            self._node.get_logger().warning(
                f'refused: enable is called by {_names(callers)} without ROS security'
            )
            raise CommandError(
                f'the bench is not armed without ROS security: {reason}. Start the '
                'bridge as docs/security.md shows, or without arm_only_if_secure'
            )

    def _check_callers(self, callers):
        """Raise CommandError if the request to arm may come from another machine."""
        names = _names(callers)
        if self._allows_remote_enable or callers and all(caller.is_local for caller in callers):
            self._node.get_logger().info(f'enable is called by {names}')
            return
        remote = _names([caller for caller in callers if not caller.is_local] or callers)
        self._node.get_logger().warning(
            f'refused: enable is called by {remote}, not on this machine'
        )
        raise CommandError(
            'the bench is not armed from another machine. Call enable on its own, '
            'or start the bridge with enable_from_network'
        )

    def _start(self):
        if self._profile is None:
            raise CommandError('there is no profile. Send one to ~/profile first')
        # a profile that was just sent may not have arrived yet, so the answer names the profile
        crc, description = self._profile
        return f'{self._bridge.start_profile(crc)}. It is of {description}'

    def _on_profile(self, data):
        log = self._node.get_logger()
        self._profile = None
        try:
            times, efforts = read_effort_profile(data, self._limits, self._bridge.arm.joint_names)
            segments, beyond = self._bridge.plan_profile(times, efforts)
            description = f'{times[-1]:g} s in {len(segments)} segments'
            self._profile = self._bridge.load_profile(segments), description
        except FlexRobotSimError as error:
            log.warning(f'profile refused: {error}')
        else:
            log.info(f'the board holds a profile of {description}')
            for name, count in zip(self._bridge.arm.joint_names, beyond):
                if count:
                    log.warning(
                        f'"{name}" cannot do what the profile asks for, in {count} of its '
                        'segments: see docs/rig_bridge.md'
                    )


def _names(callers):
    """Return names for the log; rclpy does not report which client has sent the request."""
    names = ', '.join(caller.name for caller in callers)
    return f'one of {names}' if len(callers) > 1 else names or 'an unknown client'
