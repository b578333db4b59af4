"""How the tips of a recorded arm ring: spectra, what is in them, and what was to be expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import excited_modes
from flex_robot_sim.analysis.recorded_vibration import Resonance, resonances
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.settings import ControllerSettings
from flex_robot_sim.reports.series import Series
from flex_robot_sim.util.exceptions import FlexRobotSimError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.reports.recorded_run import RecordedRun

STANDS = 1e-4               # share of the way of a target within which it stands
SHORTEST = 0.5              # rest that counts                                              [s]
FEWEST = 64                 # samples that make a spectrum
MOST_MODES = 4              # that are named
SEEN = 1e-2                 # size of a mode over that of the largest below which it is left out


class Rest(NamedTuple):
    """A time in which nobody asks the arm to move."""

    begin: float            # [s]
    end: float              # [s]


class Ringing(NamedTuple):
    """What rings, in the longest rest or in the whole run."""

    span: Rest
    is_rest: bool
    frequencies: np.ndarray             # of the spectra, (k,)                    [Hz]
    amplitudes: dict[str, np.ndarray]   # of the tips by link, (k,)               [m]
    found: list[Resonance]              # what the tips ring with
    predicted: np.ndarray               # frequencies of the model                [Hz]
    ratios: np.ndarray                  # of their damping
    how: str                            # how the model is held


def rests(run: RecordedRun) -> list[Rest]:
    """Return the times in which the target stands, in their order; none without a target."""
    time, values = run.target.time, run.target.values
    if len(time) < 2:
        return []
    span = np.ptp(values, axis=0).max()
    moves = np.abs(np.diff(values, axis=0)).max(axis=1) > max(STANDS * span, 1e-9)
    edges = [0, *(np.flatnonzero(moves) + 1).tolist(), len(time) - 1]
    found = []
    for first, last in zip(edges, edges[1:]):
        if time[last] - time[first] >= SHORTEST:
            # the target may stand up to where it was told to move
            found.append(Rest(float(time[first]), float(time[max(last - 1, first)])))
    return found


def ringing_of(run: RecordedRun) -> Ringing | None:
    """Return the Ringing of the tips; None where there are too few samples of them."""
    tips = {link: tip for link, tip in run.tips.items() if len(tip.time) >= FEWEST}
    if not tips:
        return None
    # after the first motion, if there is one: before it the arm sags from its start
    found = rests(run)
    after = found[1:] or found
    spans = [rest for rest in after if all(
        len(tip.within(*rest).time) >= FEWEST for tip in tips.values())]
    first = next(iter(tips.values())).time
    is_rest = bool(spans)
    span = max(spans, key=lambda rest: rest.end - rest.begin) if spans else Rest(
        float(first[0]), float(first[-1]))
    evenly = {link: _evenly(tip.within(*span)) for link, tip in tips.items()}
    rate = min(rate for rate, _ in evenly.values())
    least = min(len(samples) for _, samples in evenly.values())
    together = np.hstack([samples[:least] for _, samples in evenly.values()])
    peaks = resonances(rate, together)[0] if together.std() > 0.0 else []
    frequencies, amplitudes = np.zeros(0), {}
    for link, (rate, samples) in evenly.items():
        frequencies, amplitudes[link] = amplitude_spectrum(rate, samples[:least])
    predicted, ratios, how = _predicted(run, span)
    return Ringing(span, is_rest, frequencies, amplitudes, peaks, predicted, ratios, how)


def amplitude_spectrum(rate: float, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Frequencies [Hz] and amplitudes (k,) of samples (n, columns), a Hann window over all of them.

    A steady swing of amplitude a has the peak a; columns are added as directions are.
    """
    n = len(samples)
    line = np.linspace(-1.0, 1.0, n)
    level = samples.mean(axis=0)
    slope = (line @ (samples - level)) / (line @ line)
    window = np.hanning(n)
    bent = (samples - level - line[:, None] * slope) * window[:, None]
    parts = np.abs(np.fft.rfft(bent, axis=0)) * 2 / window.sum()
    return np.fft.rfftfreq(n, 1 / rate)[1:], np.linalg.norm(parts, axis=1)[1:]


def swing_after(run: RecordedRun, link: str) -> float:
    """Half the range of a tip in the rests after motions, their mean; nan without any [m]."""
    sizes = []
    for rest in rests(run)[1:]:
        rows = run.tips[link].within(*rest).values
        if len(rows) > 1:
            sizes.append(float(np.linalg.norm(np.ptp(rows, axis=0))) / 2)
    return float(np.mean(sizes)) if sizes else float('nan')


def _evenly(tip: Series) -> tuple[float, np.ndarray]:
    """Rate [Hz] and samples (n, 3) of a tip in equal steps of time."""
    step = float(np.median(np.diff(tip.time)))
    time = np.arange(tip.time[0], tip.time[-1] + step / 2, step)
    return 1 / step, tip.at(time)


def _predicted(run, span):
    """Frequencies and damping ratios of modes that motions excite, and how joints are held."""
    arm = run.arm
    if arm is None:
        return np.zeros(0), np.zeros(0), ''
    try:
        gains, how = gains_of(run, arm)
        pose = run.position.within(*span).values.mean(axis=0)
        pose = pose[[run.position.names.index(name) for name in arm.joint_names]]
        found = excited_modes(arm, pose, gains)
    except (FlexRobotSimError, ValueError, np.linalg.LinAlgError):
        return np.zeros(0), np.zeros(0), ''
    rows = np.flatnonzero(found.shares > SEEN)[:MOST_MODES]
    return found.frequencies[rows], found.ratios[rows], how


def gains_of(run: RecordedRun, arm: ArmModel
             ) -> tuple[tuple[np.ndarray, np.ndarray] | None, str]:
    """Return stiffness and damping of the servo that the recorded controller had, and words."""
    told = run.parameters.get('controller')
    if told is None:
        return None, 'with locked drives'
    names = ('position_gain', 'velocity_gain', 'bandwidth', 'damping_ratio', 'state_period',
             'effort_limits')
    given: dict[str, Any] = {
        name: tuple(told[name]) if isinstance(told[name], list) else told[name]
        for name in names if name in told}
    servo = JointController(arm, ControllerSettings(**given)).servo
    return (servo.stiffness, servo.damping), 'as the servo holds it'
