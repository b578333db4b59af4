"""
Read the bench: the bending of its link while you push it.

    python examples/read_bench.py picture.png /dev/ttyUSB0

Without a port it is an emulated bench, whose gauges have hum.
"""

import contextlib
import sys
import time

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.rig import (
    BridgeSettings,
    EmulatorProcess,
    RigBridge,
    ShapeTracker,
    calibration_of,
)

SECONDS = 2.0

arm = frs.load('rig')
calibration = calibration_of(BridgeSettings(), arm)  # or of a file of `rig calibrate`
shapes = ShapeTracker(arm, calibration)
times: list[float] = []
curvatures: list[np.ndarray] = []


def take(state):
    """Store a state of the bench; the bridge calls it 500 times a second, so it must be fast."""
    shapes.take(state)
    times.append(state.reading.stamp)
    curvatures.append(shapes.link_state.curvature)


with contextlib.ExitStack() as ends:
    if len(sys.argv) > 2:
        port = sys.argv[2]
    else:
        emulator = EmulatorProcess()
        ends.callback(emulator.close)
        port = emulator.port
    bridge = RigBridge(arm, calibration, port, on_state=take)
    ends.callback(bridge.close)
    time.sleep(SECONDS)  # its motors stay off until `bridge.enable(True)`

print(
    f'{len(times)} states in {times[-1] - times[0]:.2f} s; '
    f'noise of the gauges: {np.std(curvatures, axis=0).round(4)} 1/m'
)
plt.plot(np.array(times) - times[0], curvatures, label=list(shapes.sensors))
plt.xlabel('time [s]')
plt.ylabel('curvature [1/m]')
plt.legend()
plt.grid(True)
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else 'read_bench.png', dpi=120)
