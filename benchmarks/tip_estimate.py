"""
Error of the tip position that the flex sensors of the bench estimate while its strip vibrates.

`python -m benchmarks.tip_estimate`

The stepper jerks the arm and holds it; the strip vibrates freely. The strip of the simulated bench
has more modes than the description of the estimator, or segments with large bending. The first
table has the largest error of the tip in the plane, over the largest deflection. It counts from
0.5 s after the jerk, when the second mode has decayed.

The second table has the error without noise if the description has wrong positions of the sensors:
under a force at the tip, and in the first natural mode. The constants of the sensors come from
their data sheet, or from a calibration with known forces at the tip.
"""

import argparse
import math
import re

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.bench.motors import stepper_stiffness
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.estimation.shape_estimator import ShapeEstimator, sensors_of, tip_map
from flex_robot_sim.rig.estimation.shape_filter import ShapeFilter
from flex_robot_sim.rig.wire.vocabulary import CONSTANTS
from flex_robot_sim.util.share import shipped_robots

PERIOD = 2e-3  # of telemetry                                                  [s]
JERK = 30, 50  # microsteps of the jerk, and its duration in milliseconds
SETTLING, END = 0.5, 2.0  # evaluated time after the jerk                          [s]
MODES = '<modes bending_y="{}"'
TRUTHS = {
    **{f'{count} modes': MODES.format(count) for count in (2, 3, 4, 8)},
    '2 segments of 2': '<modes segments="2" bending_y="2"',
    '4 segments of 2': '<modes segments="4" bending_y="2"',
}
MODELS = 2, 3
# stations of the root sensor and of the tip sensor [m] in a wrong description
MISPLACED = {
    '112.24 mm are called active': ((0.01, 0.12224), (0.27776, 0.39)),
    'solder tabs at the other end': ((0.02699, 0.12224), (0.27776, 0.37301)),
}


def strip(modes, places=()):
    """The shipped bench with other modes, and with other places of the flex sensors [m]."""
    text = shipped_robots()['rig'].read_text(encoding='utf-8')
    text = re.sub('<modes bending_y="[0-9]+"', modes, text)
    for name, (start, end) in zip(('root', 'tip'), places):
        text = re.sub(
            f'name="{name}" from="[^"]*" to="[^"]*"',
            f'name="{name}" from="{start}" to="{end}"',
            text,
        )
    return frs.load(text)


def vibration(arm, parts, seed):
    """Pins and deflection of the tip [m] at each telemetry after the jerk."""
    bench = Bench(arm, parts, seed=seed)
    drive, (steps, milliseconds) = Drive(bridge=True, stepper=True), JERK
    for k in range(milliseconds):
        bench.advance(
            drive._replace(
                steps=round(steps * (k + 1) / milliseconds), step_rate=steps / milliseconds * 1e3
            )
        )
    rows = []
    for _ in range(round(END / PERIOD)):
        bench.advance(drive._replace(steps=steps), PERIOD)
        rows.append((bench.read(), bench.simulation.deflection['strip'][1]))
    return rows


def errors(truth, seed=1):
    """Return {(estimator, modes of the model): error [%]}, and the largest deflection [m]."""
    parts = BenchParts()
    rows = vibration(strip(TRUTHS[truth]), parts, seed)
    tips = np.array([tip for _, tip in rows])
    late = slice(round(SETTLING / PERIOD), None)
    largest, found = np.abs(tips[late]).max(), {}
    for count in MODELS:
        arm = strip(MODES.format(count))
        calibration = calibration_of(BridgeSettings(), arm)
        full = CONSTANTS['ADC_CONVERSIONS'][0] * ((1 << parts.adc_bits) - 1)
        curvatures = [calibration.curvatures(np.array(pins.adc) / full) for pins, _ in rows]
        estimator = ShapeEstimator(arm, 'strip', calibration.deviations)
        follower = ShapeFilter(
            arm,
            'strip',
            calibration.encoder_deviations,
            calibration.deviations,
            [0.0, stepper_stiffness(parts)],
            [0.0, parts.stepper_damping],
        )
        target = [0.15, JERK[0] * 2 * math.pi / parts.steps_per_turn]
        by_sensors, by_filter = [], []
        for (pins, _), curvature in zip(rows, curvatures):
            by_sensors.append(estimator.estimate(curvature).tip[1])
            follower.predict(PERIOD, target=target)
            follower.correct([0.15, 0.0] + calibration.positions(pins.encoders), curvature)
            by_filter.append(follower.shape.tip[1])
        for name, estimate in (('least_squares', by_sensors), ('kalman', by_filter)):
            found[name, count] = 100.0 * np.abs(np.array(estimate) - tips)[late].max() / largest
    return found, largest


def misplaced(places):
    """Return {(calibration, shape of the strip): error of the tip [%]}."""
    true, wrong = strip(MODES.format(8)), strip(MODES.format(3), places)
    _, columns, C = sensors_of(true, 'strip')
    tip = tip_map(true, 'strip')[1, columns]
    beam = true.beams[true.segments['strip'][0]]
    shapes = {
        'force at the tip': np.linalg.lstsq(
            beam.strain(beam.stations)[:, 3], 1.0 - beam.stations / beam.length, rcond=None
        )[0],
        'first mode': frs.modes(true).shapes.real[columns, 0],
    }
    estimator = ShapeEstimator(wrong, 'strip', 1.0)
    ends = np.array(
        [
            (sensor.start, sensor.end)
            for arm in (true, wrong)
            for sensor in arm.description.link('strip').beam.sensors
        ]
    ).reshape(2, 2, 2)
    lengths, middles = ends[..., 1] - ends[..., 0], ends.mean(axis=2)
    # the resistance grows with the angle by which the active part is bent
    gains = {
        'by the data sheet': lengths[0] / lengths[1],
        'by known forces': (beam.length - middles[1]) / (beam.length - middles[0]),
    }
    ratios = {
        (how, name): estimator.estimate(gain * (C @ shape)).tip[1] / (tip @ shape)
        for how, gain in gains.items()
        for name, shape in shapes.items()
    }
    return {case: 100.0 * (ratio - 1.0) for case, ratio in ratios.items()}


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--seeds', type=int, default=3, help='of the noise (default: 3)')
    seeds = range(1, parser.parse_args().seeds + 1)
    print(
        f'{"truth":18s}{"deflection":>12s}'
        + ''.join(
            f'{f"{name}, {count} modes":>26s}'
            for name in ('least_squares', 'kalman')
            for count in MODELS
        )
    )
    for truth in TRUTHS:
        runs = [errors(truth, seed) for seed in seeds]
        print(f'{truth:18s}{runs[0][1] * 1e3:9.1f} mm', end='')
        for case in (('least_squares', c) for c in MODELS):
            print(_range(runs, case), end='')
        print(''.join(_range(runs, ('kalman', c)) for c in MODELS))
    print()
    for what, places in MISPLACED.items():
        for (how, name), error in misplaced(places).items():
            print(f'{what:30s}{f"calibrated {how}":30s}{name:18s}{error:6.1f} %')


def _range(runs, case):
    values = [found[case] for found, _ in runs]
    return f'{f"{min(values):.2f} to {max(values):.2f} %":>26s}'


if __name__ == '__main__':
    main()
