"""Settings of the bridge node: outputs, access, and the list of all its settings classes."""

from dataclasses import dataclass

from flex_robot_sim.rig.bench.drives import DriveSettings
from flex_robot_sim.rig.bridge.bridge import BridgeSettings
from flex_robot_sim.rig.bridge.twin import TwinSettings
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.shape_filter import FilterSettings
from flex_robot_sim.rig.host.link import LinkSettings
from flex_robot_sim.ros.node_settings import MessageSettings, NodeSettings, RobotSettings
from flex_robot_sim.util.settings import Settings, setting


@dataclass(frozen=True)
class BridgeOutputSettings(Settings):
    """Outputs in addition to joint_states, which are published with every reading."""

    flex_rate: float = setting(
        100.0, 'rate of flex_states, strain, tip deflections and tool_pose', 'Hz', above=0.0
    )
    display_rate: float = setting(
        30.0,
        'rate of bending_markers and display_joint_states',
        'Hz',
        at_least=0.01,
        at_most=1000.0,
        live=True,
    )
    strain_scale: float = setting(
        0.0,
        'surface strain at full colour of bending_markers; 0: the strain at a '
        'deflection of a tenth of the length',
        at_least=0.0,
        live=True,
    )


@dataclass(frozen=True)
class AccessSettings(Settings):
    """Conditions for arming the bench."""

    enable_from_network: bool = setting(
        False, 'allow other machines to arm the bench, if the ROS network settings admit them'
    )
    arm_only_if_secure: bool = setting(
        False, 'reject enable unless ROS security is enforced for this process'
    )


BRIDGE_SETTINGS = (
    RobotSettings,
    BridgeSettings,
    AccessSettings,
    LinkSettings,
    DriveSettings,
    EstimatorSettings,
    FilterSettings,
    TwinSettings,
    BridgeOutputSettings,
    MessageSettings,
    NodeSettings,
)
"""The parameters of the bridge."""
