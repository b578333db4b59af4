"""
Motion of the motors during a calibration, as the log of an experiment.

The constants are known only at the end. Until then telemetry goes to a separate `.part` file next
to the log, with constants from data sheets. A calibration that is resumed later appends to it.
"""

import contextlib
import os
import secrets
from pathlib import Path

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import ExperimentLog, read_experiment
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.host.link_session import Reading
from flex_robot_sim.util.exceptions import UsageError


class CalibrationLog:
    """Telemetry of motor motion while nothing else touches the arm."""

    def __init__(self, path: str | Path, arm: ArmModel) -> None:
        """Begin, or resume the log of an earlier session; UsageError if that is unusable."""
        self.path, self._arm = Path(path), arm
        self.part = self.path.with_name(f'{self.path.stem}.part{self.path.suffix}')
        self._origin: np.ndarray | None = None
        self.readings: list[Reading] = self._read_part()
        self._log = self._write_log(self.part, calibration_of(BridgeSettings(), arm))

    def _read_part(self):
        if not self.part.exists():
            return []
        try:
            return read_experiment(self.part).readings
        except UsageError as error:
            raise UsageError(
                f'{str(error).rstrip(".")}. Delete it, or give another --log.'
            ) from error

    def _write_log(self, path, calibration, is_complete=False):
        """Return a log with all readings so far, which replaces an older one."""
        draft = path.with_name(f'.{secrets.token_hex(8)}{path.suffix}')  # same format
        try:
            log = ExperimentLog(draft, self._arm, calibration)
            log.put_all(self.readings)
            if is_complete or log.failure:
                log.close()
            if log.failure:
                raise UsageError(log.failure)
            os.replace(draft, path)
            return log
        except UsageError as error:  # an older log stays
            draft.unlink(missing_ok=True)
            raise UsageError(
                f'{str(error).replace(str(draft), str(path)).rstrip(".")}.'
            ) from error

    def record(self, origin: np.ndarray | None) -> None:
        """Record readings from now on, with counts relative to `origin` (2,); None: stop."""
        self._origin = origin

    def take(self, reading: Reading) -> None:
        """Add a Reading while recording; called in the reader thread of the port."""
        origin = self._origin
        if origin is None:
            return
        message = reading.message
        slide, turn = (
            round(float(counts - begin))
            for counts, begin in zip((message.slide_counts, message.turn_counts), origin)
        )
        reading = reading._replace(message=message._replace(slide_counts=slide, turn_counts=turn))
        self.readings.append(reading)
        self._log.put(reading)

    def finish(self, calibration: Calibration) -> int:
        """Write the log with the calibrated constants; return its number of readings."""
        self.close()
        if len(self.readings) > 1:
            try:
                self._write_log(self.path, calibration, is_complete=True)
            except UsageError as error:
                raise UsageError(
                    f'{str(error).rstrip(".")}. What was logged is in {self.part}.'
                ) from error
        with contextlib.suppress(OSError):
            self.part.unlink(missing_ok=True)
        return len(self.readings)

    def close(self) -> None:
        """Stop logging and delete an empty part file; may be called twice."""
        self._origin = None
        self._log.close()
        if not self.readings:
            self.part.unlink(missing_ok=True)
