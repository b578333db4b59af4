"""
The bench: protocol, host link, emulated board, calibration, estimation, and conformance.

In short::

    from flex_robot_sim.rig import EmulatorProcess, RigBridge
"""

from flex_robot_sim.util.lazy_names import lazy_names

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.rig.board.emulator_process import EmulatorProcess
    from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigBridge, calibration_of
    from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker

__all__ = ['BridgeSettings', 'EmulatorProcess', 'RigBridge', 'ShapeTracker', 'calibration_of']

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'rig.board.emulator_process': ('EmulatorProcess',),
            'rig.bridge.bridge': ('BridgeSettings', 'RigBridge', 'calibration_of'),
            'rig.estimation.shape_tracker': ('ShapeTracker',),
        },
    )
