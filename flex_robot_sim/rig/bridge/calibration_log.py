"""
What moved while a bench was calibrated, as the log of an experiment.

The constants are known at the end only. Until then telemetry goes to a file of its own beside the
log, with constants of data sheets, and a calibration that goes on another day goes on with it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import ExperimentLog, read_experiment
from flex_robot_sim.util.exceptions import UsageError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.rig.calibration.calibration import Calibration
    from flex_robot_sim.rig.host.session import Reading


class CalibrationLog:
    """Telemetry of what the motors move while nothing else is at the arm."""

    def __init__(self, path: str | Path, arm: ArmModel) -> None:
        """Begin, or go on with what another session has left; UsageError says what is wrong."""
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
            raise UsageError(f'{str(error).rstrip(".")}. Delete it, or give another '
                             '--log.') from error

    def _write_log(self, path, calibration, is_complete=False):
        """Return a log with all readings so far, in the place of an older one."""
        draft = path.with_name(f'.{secrets.token_hex(8)}{path.suffix}')     # its kind: its suffix
        try:
            log = ExperimentLog(draft, self._arm, calibration)
            log.put_all(self.readings)
            if is_complete or log.failure:
                log.close()
            if log.failure:
                raise UsageError(log.failure)
            os.replace(draft, path)
            return log
        except UsageError as error:         # an older log stays
            draft.unlink(missing_ok=True)
            raise UsageError(f'{str(error).replace(str(draft), str(path)).rstrip(".")}.'
                             ) from error

    def record(self, origin: np.ndarray | None) -> None:
        """Take readings from now on, whose counts have an origin (2,); None: leave them out."""
        self._origin = origin

    def take(self, reading: Reading) -> None:
        """Take a Reading; called by the thread that reads the port."""
        origin = self._origin
        if origin is None:
            return
        message = reading.message
        slide, turn = (round(float(counts - begin)) for counts, begin in zip(
            (message.slide_counts, message.turn_counts), origin))
        reading = reading._replace(message=message._replace(slide_counts=slide, turn_counts=turn))
        self.readings.append(reading)
        self._log.put(reading)

    def finish(self, calibration: Calibration) -> int:
        """Write the log with the constants that were found; return how many readings it has."""
        self.close()
        if len(self.readings) > 1:
            try:
                self._write_log(self.path, calibration, is_complete=True)
            except UsageError as error:
                raise UsageError(f'{str(error).rstrip(".")}. What was logged is in {self.part}.'
                                 ) from error
        with contextlib.suppress(OSError):
            self.part.unlink(missing_ok=True)
        return len(self.readings)

    def close(self) -> None:
        """Stop logging; may be called twice. What has no readings is taken away."""
        self._origin = None
        self._log.close()
        if not self.readings:
            self.part.unlink(missing_ok=True)
