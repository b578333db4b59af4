"""Log of a simulation: samples of named quantities over time, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.model.arguments import expect_kind, is_known
from flex_robot_sim.simulation.quantities import (
    DEFAULT_QUANTITIES,
    labels_of,
    quantities_of,
    unit_of,
)
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.serialization import Serializable
from flex_robot_sim.util.summary import SummaryRows, counted, summarized

if TYPE_CHECKING:
    from flex_robot_sim.util.plots import Figure


@summarized
class SimulationLog(Serializable, Mapping):
    """
    Samples of a Simulation, or of a Batch, by the names of quantities: `log['q']` or `log.q`.

    Each is what the simulation returns under this name, with time as an additional first axis:
    `log.q` is (k, nq), `log.deflection['forearm']` is (k, 6), `log.energy.kinetic` is (k,). In the
    log of a Batch, the second axis is the member.

    Example::

        log = frs.rollout(frs.load('two_link'), duration=0.05, record=('q', 'deflection'))
        log.time, log.q, log.deflection['forearm']
        log.plot('deflection')
        assert log.q.shape == (51, log.arm.nq)
    """

    def __init__(
        self, simulation: Any, record: Any = DEFAULT_QUANTITIES, steps_per_sample: int = 1
    ) -> None:
        """
        Start an empty log.

        :param simulation: Simulation or Batch; record: see `rollout`.
        :param steps_per_sample: between two samples of `record`.
        """
        self.arm = simulation.arm
        self.is_recording = True  # see `stop`
        self._quantities = quantities_of(record)
        self._count = len(simulation) if hasattr(simulation, '__len__') else None
        self._times: list[float] = []
        self._rows: dict[str, list[Any]] = {name: [] for name in self._quantities}
        self._arrays: dict[str, Any] = {}  # of the rows so far, by name
        self.steps_per_sample = self.steps_to_sample = steps_per_sample

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), '_quantities': {}, '_arrays': {}, 'is_recording': False}

    @property
    def time(self) -> np.ndarray:
        """Times of the samples, (k,) [s]."""
        return np.array(self._times)

    def __getitem__(self, name: str) -> Any:
        if name not in self._rows:
            raise KeyError(self._unknown(name))
        rows = self._rows[name]
        if name not in self._arrays:
            try:
                self._arrays[name] = _stacked(rows)
            except ValueError as error:
                raise SettingError(
                    f'the samples of "{name}" have different shapes: a quantity '
                    'must keep its shape'
                ) from error
        return self._arrays[name]

    def __getattr__(self, name: str) -> Any:
        if name in vars(self).get('_rows', ()):
            return self[name]
        raise AttributeError(self._unknown(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def sample(self, simulation: Any) -> None:
        """Add a sample of the present state."""
        values = {
            name: self._numbers(name, quantity(simulation), simulation.time)
            for name, quantity in self._quantities.items()
        }
        self._times.append(simulation.time)  # all of a sample, or nothing
        for name, value in values.items():
            self._rows[name].append(value)
        self._arrays.clear()
        self.steps_to_sample = self.steps_per_sample

    def stop(self) -> None:
        """End the recording that `Simulation.record` started."""
        self.is_recording = False

    def columns(self) -> dict[str, np.ndarray]:
        """
        Return all samples as columns of numbers, (k,), by names such as 'elbow/position'.

        In the log of a Batch, they are (k, count).
        """
        return {label: column for name in self for label, column in self._columns_of(name)}

    def to_pandas(self) -> Any:
        """
        Return a pandas DataFrame: a row per sample, its index is the time [s].

        The index of the log of a Batch has two levels, time and member.
        """
        from flex_robot_sim.util.table_files import data_frame

        levels = {'time': self.time}
        if self._count is not None:
            levels['member'] = np.arange(self._count)
        return data_frame(
            {label: column.ravel() for label, column in self.columns().items()}, levels
        )

    def plot(self, *names: str, path: str | Path | None = None) -> Figure:
        """
        Draw quantities over time, a panel for each; return the matplotlib Figure.

        A notebook shows the figure.

        :param names: of recorded quantities; default: all.
        :param path: of a file .png, .pdf or .svg to write as well.
        """
        from flex_robot_sim.util.plots import Curve, Panel, draw_figure, write_figure

        if self._count is not None:
            raise SettingError(
                'the log of a Batch has no plot: draw the log of one member, log.member(0).plot()'
            )
        unknown = [name for name in names if not is_known(name, self)]
        if unknown:
            raise SettingError(self._unknown(shortened(unknown[0], 60)))
        if path is not None:
            expect_kind('path', path, (str, PathLike), 'the path of a file .png, .pdf or .svg')
        panels = []
        for name in names or self:
            unit = unit_of(name)
            panels.append(
                Panel(
                    name + (f' [{unit}]' if unit else ''),
                    [
                        Curve(label, self.time, column, colour=k, dashes=k // 7)
                        for k, (label, column) in enumerate(self._columns_of(name))
                    ],
                )
            )
        title = self.arm.description.name
        if path is not None:
            write_figure(path, title, panels)
        return draw_figure(title, panels)

    def member(self, k: int) -> SimulationLog:
        """Return the log of one member of a Batch, by its row."""
        if self._count is None or not -self._count <= k < self._count:
            raise SettingError(
                f'member = {k!r} must be a row of the log of a Batch'
                + ('' if self._count is None else f' of {self._count}')
            )
        log = SimulationLog.__new__(SimulationLog)
        vars(log).update(
            self.__getstate__(),
            _count=None,
            _rows={
                name: [_mapped(lambda array: array[k], row) for row in rows]
                for name, rows in self._rows.items()
            },
        )
        return log

    def _numbers(self, name, value, time):
        try:
            return _mapped(partial(np.array, dtype=float), value)
        except (TypeError, ValueError) as error:
            raise SettingError(
                f'record = "{name}" returned {shortened(repr(value), 60)} at '
                f'{time:.6g} s: it must return numbers'
            ) from error

    def _unknown(self, name):
        recorded = ', '.join(vars(self).get('_rows', ()))
        return f'the log has no "{name}". Recorded: {recorded}'

    def _columns_of(self, name):
        """Return labels and columns (k,) or (k, count) of a quantity."""
        if not self._times:
            return []
        values = self[name]
        parts = (
            values.items()
            if isinstance(values, Mapping)
            else values._asdict().items()
            if hasattr(values, '_asdict')
            else [('', values)]
        )
        axes = 1 if self._count is None else 2
        found: list[tuple[str, np.ndarray]] = []
        for part, array in parts:
            labels = labels_of(self.arm, name, array.shape[axes:], part)
            if name.partition(':')[0] == 'pose':  # a table of origins reads better
                array, labels = array[..., :3, 3], [f'{name}/{axis}' for axis in 'xyz']
            flat = array.reshape(*array.shape[:axes], -1)
            found += zip(labels, np.moveaxis(flat, -1, 0))
        return found

    def _summary(self) -> tuple[str, SummaryRows]:
        span = f', {self._times[0]:.6g} to {self._times[-1]:.6g} s' if self._times else ''
        return f'SimulationLog of {counted(len(self._times), "sample")}{span}', [
            (name, _described(self[name])) for name in self if self._times
        ]


def _mapped(function, value):
    """Apply a function to the arrays of a sample: an array, a mapping or a NamedTuple of them."""
    if isinstance(value, Mapping):
        return {name: function(part) for name, part in value.items()}
    if hasattr(value, '_fields'):
        return type(value)(*map(function, value))
    return function(value)


def _stacked(rows):
    """Return samples with time as the first axis."""
    if rows and isinstance(rows[0], Mapping):
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    if rows and hasattr(rows[0], '_fields'):
        return type(rows[0])(*map(np.stack, zip(*rows)))
    return np.stack(rows) if rows else np.zeros(0)


def _described(value):
    if isinstance(value, Mapping) or hasattr(value, '_fields'):
        names = value if isinstance(value, Mapping) else value._fields
        return f'of {", ".join(names)}'
    return f'array {value.shape}'
