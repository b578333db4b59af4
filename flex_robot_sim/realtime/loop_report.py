"""Status of a simulation loop since the last report: a level, a line and figures."""

import numpy as np

from flex_robot_sim.dynamics.monitors import make_watch
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.body_kinds import deflection_rows
from flex_robot_sim.realtime.loop import FAILED, SimulationLoop
from flex_robot_sim.util.settings import SimulationSettings

WATCH_RATE_HZ = 100.0  # at which deflections are sampled
MS_PER_S = 1e3


class Bending:
    """Largest tip deflection of each flexible link, relative to the limit of the model."""

    def __init__(self, arm: ArmModel, settings: SimulationSettings) -> None:
        """Prepare for an ArmModel; the value of a link is that of its worst segment."""
        watch = make_watch(arm, settings)
        self._limits = watch.bend
        # of each segment's tip, across a beam and in any direction of a spatial one
        tips = [deflection_rows(arm.arrays, body, tip) for body, tip in zip(watch.body, watch.tip)]
        self._rows = np.array(tips).reshape(-1, 3, arm.size).transpose(1, 0, 2)
        self._links = [link for link, bodies in arm.segments.items() for _ in bodies]
        self.largest = np.zeros(len(watch.body))

    def note(self, q: np.ndarray) -> None:
        """Sample the coordinates (n,)."""
        distance = np.sqrt(((self._rows @ q) ** 2).sum(axis=0))
        np.maximum(self.largest, distance / self._limits, out=self.largest)

    def take(self) -> dict[str, float]:
        """Return {link: largest deflection over the limit} since the last call."""
        shares: dict[str, float] = {}
        for link, share in zip(self._links, self.largest.tolist()):
            shares[link] = max(share, shares.get(link, 0.0))
        self.largest[:] = 0.0
        return shares


class LoopReport:
    """Figures of a SimulationLoop; read them in its thread."""

    def __init__(self, loop: SimulationLoop, now: float) -> None:
        """Start at `now` [s]."""
        self._loop = loop
        self._last = now, loop.simulation.time, loop.pacer.dropped
        self._last_delays = loop.round_trip.delays.counts.copy()
        self.bending = Bending(loop.simulation.arm, loop.simulation.settings)
        loop.add_output(WATCH_RATE_HZ, lambda simulation, _: self.bending.note(simulation.q))

    def figures(self, now: float) -> tuple[str, str, dict[str, object]]:
        """Return level, line and {figure: value} of the time since the last call."""
        loop, commands, simulation = self._loop, self._loop.commands, self._loop.simulation
        wall, sim, dropped = self._last
        self._last = now, simulation.time, loop.pacer.dropped
        energy, shares = simulation.energy(), self.bending.take()
        delays, before = loop.round_trip.delays, self._last_delays
        self._last_delays = delays.counts.copy()
        values = {
            'state': loop.state,
            'simulated time [s]': simulation.time,
            'wall time [s]': loop.wall_time,
            'steps': loop.steps,
            'real-time factor': (simulation.time - sim) / max(now - wall, 1e-9),
            'step time, median [ms]': MS_PER_S * loop.step_times.quantile(0.5),
            'step time, 99 % [ms]': MS_PER_S * loop.step_times.quantile(0.99),
            'step time, longest [ms]': MS_PER_S * loop.step_times.longest,
            'overruns': loop.overruns,
            'deadlines missed by 5 ms': loop.deadline_misses,
            'lateness, longest [ms]': MS_PER_S * loop.lateness.take_peak(),
            'lateness since the start, longest [ms]': MS_PER_S * loop.lateness.longest,
            'time dropped [s]': loop.pacer.dropped,
            'commands accepted': commands.accepted,
            'commands refused': commands.refused,
            'commands cut to an effort limit': commands.limited,
            'commands timed out': commands.timeouts,
            'state to command, median [ms]': MS_PER_S * delays.quantile(0.5, before),
            'state to command, 99 % [ms]': MS_PER_S * delays.quantile(0.99, before),
            'state to command since the start, median [ms]': MS_PER_S * delays.quantile(0.5),
            'state to command since the start, 99 % [ms]': MS_PER_S * delays.quantile(0.99),
            'energy [J]': energy.kinetic + energy.strain + energy.gravity,
            'energy balance [J]': energy.balance,
            **{
                f'{link}: bending over its limit of validity': share
                for link, share in shares.items()
            },
        }
        return *self._verdict(loop.pacer.dropped - dropped, shares), values

    def _verdict(self, lost, shares):
        loop = self._loop
        if loop.state == FAILED:
            return 'error', 'the state is no longer finite: call reset'
        if lost > 0.0:
            return 'warning', f'too slow for real time: {lost:.3g} s were dropped'
        bent = [link for link, share in shares.items() if share > 1.0]
        if bent:
            return 'warning', f'"{bent[0]}" bends beyond where the model holds'
        if loop.commands.is_stale:
            return 'warning', 'commands have stopped: efforts are zero'
        return 'ok', loop.state
