"""
Session of `flexsim tune`: measures vibration, designs a shaper, and measures again.

Each finished step is a file in the folder of the session, complete or absent. A session that was
interrupted continues after the last file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.shaping.shaper_design import ShaperSpecification
from flex_robot_sim.shaping.shaper_file import write_shaper
from flex_robot_sim.shaping.tuning.driver import Driver, await_state, follow
from flex_robot_sim.shaping.tuning.log_vibration import LogVibration, log_vibration
from flex_robot_sim.shaping.tuning.measured_table import MeasuredTable, measured_table
from flex_robot_sim.shaping.tuning.pose_log import PoseLog, read_pose_log
from flex_robot_sim.shaping.tuning.table_file import read_table, write_table
from flex_robot_sim.shaping.tuning.tune_plan import PERIOD_S, Move, TunePlan
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import checksum, open_atomic

PLAN_FILE, TABLE_FILE, SHAPER_FILE = 'plan.json', 'modes.json', 'shaper.json'
SETTLE_S = 2.0  # before a log                                                         [s]
SETTLE_DECAYS = 4.0  # before the first log with a shaper, in time constants of the decay
MAX_SETTLE_S = 60.0
MAX_MORE_POSES = 3  # where frequencies are too uncertain
QUIET_S = 1.0  # of a log before its move                                              [s]


class PoseResult(NamedTuple):
    """Vibration in one pose."""

    log: PoseLog
    before: LogVibration
    after: LogVibration
    left: float  # vibration with the shaper, over that without it


class TuneResult(NamedTuple):
    """Result of a session."""

    table: MeasuredTable
    shaper: ShaperSpecification
    band: float  # half width of the widest band, relative
    poses: tuple[PoseResult, ...]

    @property
    def added(self) -> float:
        """Time that the shaper adds to a move, at most [s]."""
        return self.shaper.online(len(self.table.joints), PERIOD_S).duration


class TuneSession:
    """Steps of one session, in its folder."""

    def __init__(
        self,
        folder: str | Path,
        plan: TunePlan,
        driver: Driver,
        say: Callable[[str], object] = lambda line: None,
        columns: Sequence[str] = (),
        rate: float | None = None,
    ) -> None:
        """
        Begin, or continue, the session in a folder.

        :param say: prints a line about progress.
        :param columns: of the sensor; rate: of its samples [Hz], as of `read_pose_log`.
        """
        self.folder, self._plan, self._driver = Path(folder), plan, driver
        self._say, self._columns, self._rate = say, columns, rate
        self._settle = SETTLE_S
        # of the last move: vibration and sag do not belong to the next set points
        self._set_point: np.ndarray | None = None
        self._use_folder()

    def run(self) -> TuneResult:
        """Make all steps that are not finished; return the result."""
        table = self._measured()
        logs, count = table.logs, len(self._plan.poses)
        write_table(self.folder / TABLE_FILE, table)
        shaper, band = table.shaper()
        write_shaper(self.folder / SHAPER_FILE, shaper, '', self._plan.joints)
        label = f'after_{_label(shaper)}'
        moves = [self._shaped(shaper, self._plan.short_move(row)) for row in range(count)]
        self._settle = _decay_time(logs)  # unshaped moves came before, perhaps just now
        for row in range(count):
            self._record(row, label, moves[row])
        before = [
            self._vibration(row, 'before', log, self._plan.short_move(row))
            for row, log in enumerate(logs)
        ]
        after = [self._vibration(row, label, log, moves[row]) for row, log in enumerate(logs)]
        return TuneResult(table, shaper, band, _results(logs, before, after))

    def _measured(self):
        """Return the MeasuredTable of all poses, and of more where it is too uncertain."""
        known, planned = self._known_logs(), len(self._plan.poses)
        logs: list[PoseLog] = []
        while True:
            for row in range(len(logs), len(self._plan.poses)):
                self._record(row, 'before', self._plan.short_move(row))
                # at once: a log without vibration ends the session before further moves
                logs.append(known.get(self._path(row, 'before').name) or self._read(row))
            table = measured_table(self._plan.joints, logs)
            pose = table.pose_to_measure()
            if pose is None or len(logs) == planned + MAX_MORE_POSES:
                return table
            self._say('a frequency is too uncertain between these poses: one more pose follows')
            self._plan = self._plan.with_pose(pose)

    def _use_folder(self):
        """Make the folder, or check that it belongs to this plan."""
        tree = {
            'joints': list(self._plan.joints),
            'speed': self._plan.settings.speed,
            'acceleration': self._plan.settings.acceleration,
            'poses': np.round(self._plan.poses, 9).tolist(),
            'starts': np.round(self._plan.starts, 9).tolist(),
        }
        path = self.folder / PLAN_FILE
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if path.exists():
                _refuse_other_plan(path, tree)
            with open_atomic(path, 'w', encoding='utf-8') as file:
                json.dump(tree, file)
        except OSError as error:
            raise UsageError(f'{self.folder}: cannot be used: {error.strerror}.') from error

    def _path(self, row, label):
        return self.folder / f'{label}_{row + 1}.csv'

    def _record(self, row, label, move):
        """Move to the start of a short move, make it, and write its log, unless it exists."""
        path = self._path(row, label)
        if path.exists():
            return
        count, driver = len(self._plan.poses), self._driver
        self._say(f'pose {row + 1} of {count}, {label.partition("_")[0]} shaping')
        start = self._set_point
        transfer = self._plan.transfer(
            await_state(driver).position if start is None else start, row
        )
        follow(driver, transfer.times, transfer.positions, self._settle)
        self._settle = SETTLE_S
        driver.begin_log()
        quiet = Move(np.array([0.0, QUIET_S]), np.repeat(move.positions[:1], 2, axis=0))
        follow(driver, quiet.times, quiet.positions)
        follow(driver, move.times, move.positions, self._plan.settings.ring)
        self._set_point = move.positions[-1]
        driver.write_log(path)

    def _known_logs(self):
        """Return the PoseLogs of an earlier table, by file, if they are newer than their logs."""
        path = self.folder / TABLE_FILE
        paths = [self._path(row, 'before') for row in range(len(self._plan.poses))]
        if self._columns or self._rate or not path.is_file():
            return {}
        written = path.stat().st_mtime
        known = {log.source: log for log in read_table(path).logs}
        return {
            p.name: known[p.name]
            for p in paths
            if p.name in known and p.is_file() and p.stat().st_mtime < written
        }

    def _read(self, row):
        pose = self._plan.poses[row]
        path = self._path(row, 'before')
        log = read_pose_log(path, self._plan.joints, pose, self._columns, self._rate)
        return log._replace(source=path.name)

    def _vibration(self, row, label, log, move):
        return log_vibration(
            self._path(row, label),
            self._plan.joints,
            log.modes,
            float(move.times[-1]),
            self._columns,
            self._rate,
        )

    def _shaped(self, shaper, move):
        positions = shaper.online(len(self._plan.joints), PERIOD_S).run(move.positions)
        return Move(PERIOD_S * np.arange(len(positions)), positions)


def _decay_time(logs):
    """Return the time in which the vibration of unshaped moves decays [s]."""
    rates = [2 * np.pi * log.modes[0].frequency * log.modes[0].ratio for log in logs]
    return float(np.clip(SETTLE_DECAYS / np.median(rates), SETTLE_S, MAX_SETTLE_S))


def _results(logs, before, after):
    """
    Return the PoseResults.

    The duration of a move may happen to cancel its vibration. In such a pose, the median of all
    poses is the reference.
    """
    median = float(np.median([one.amplitude for one in before]))
    return tuple(
        PoseResult(log, first, second, second.amplitude / max(first.amplitude, median, 1e-300))
        for log, first, second in zip(logs, before, after)
    )


def _refuse_other_plan(path, tree):
    """Raise UsageError if a plan is not the begin of `tree`: more poses may follow."""
    try:
        old = json.loads(path.read_text(encoding='utf-8'))
        count = min(len(old['poses']), len(tree['poses']))
        is_same = all(
            old[key][:count] == tree[key][:count]
            if key in ('poses', 'starts')
            else old[key] == tree[key]
            for key in tree
        )
    except (KeyError, TypeError, ValueError):
        is_same = False
    if not is_same:
        raise UsageError(
            f'{path.parent}: holds another session. Repeat its command, or name another folder.'
        )


def _label(shaper):
    """Return a checksum of a shaper, for the names of its logs."""
    return checksum([[array.tolist() for array in stage] for stage in shaper.stages])
