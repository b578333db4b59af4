"""
Arms with hidden joint stiffness that `flexsim tune` tunes by logs alone.

`python -m benchmarks.tune_hidden_arms`, part of `python -m benchmarks.control`. UR5, Franka
Research 3 and, where the wheel example-robot-data is installed, Unitree Z1 are models in MuJoCo.
Frequencies and vibration are checked in random poses that were not measured.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from flex_robot_sim.shaping.tuning.tune_plan import PERIOD_S, TuneSettings, make_plan
from flex_robot_sim.shaping.tuning.tune_session import TuneSession
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import share_folder

CHECKS = 8  # poses that were not measured
MIN_SHARE = 0.25  # of the vibration of the largest mode, of a strong mode in the nearest log
TRAVELS = 0.11, 0.15, 0.2  # of moves in a pose: no duration cancels the vibration of all [rad]
Z1 = 'cmeel.prefix/share/example-robot-data/robots/z1_description/urdf/z1.urdf'


class Case(NamedTuple):
    """An arm, its hidden springs and the corners of its workspace."""

    file: str
    tool: str
    left_out: tuple[str, ...]
    stiffness: tuple[float, ...]  # times random factors                        [N m/rad]
    corners: tuple[float, ...]  # frequencies of the damping                          [Hz]
    lower: tuple[float, ...]  # corners of the workspace                             [rad]
    upper: tuple[float, ...]
    payloads: tuple[float, float]  # [kg]


CASES = {
    'ur5': Case(
        'examples/ur5.urdf',
        'tool',
        (),
        (1.2e4, 1.2e4, 8e3, 4e3, 4e3, 3e3),
        (8, 8, 15, 60, 80, 100),
        (0.0, -1.6, 0.9, -1.2, -1.57, 0.0),
        (0.0, -0.9, 1.7, -1.2, -1.57, 0.0),
        (0.5, 3.0),
    ),
    'fr3': Case(
        'test/data/robots/fr3.urdf',
        'fr3_hand_tcp',
        ('fr3_finger_joint1', 'fr3_finger_joint2'),
        (1.0e4, 1.0e4, 9e3, 9e3, 4e3, 4e3, 3e3),
        (8, 8, 10, 12, 40, 40, 80),
        (0.0, -0.5, 0.0, -2.3, 0.0, 1.8, 0.0),
        (0.0, 0.6, 0.0, -1.3, 0.0, 1.8, 0.0),
        (0.3, 2.0),
    ),
    'z1': Case(
        Z1,
        'link06',
        ('jointGripper',),
        (1.5e3, 1.5e3, 1.0e3, 6e2, 5e2, 4e2),
        (8, 8, 12, 40, 60, 80),
        (0.0, 0.8, -2.0, 0.0, 0.0, 0.0),
        (0.0, 1.9, -0.9, 0.0, 0.0, 0.0),
        (0.5, 1.5),
    ),
}


def hidden_arm(name, seed):
    """Return the driver of a case with random springs and payload; None if its URDF is missing."""
    from benchmarks.hidden_arm import HiddenArm

    case, random = CASES[name], np.random.default_rng(seed)
    path = _path(case.file)
    if path is None:
        return None
    root, joints = _rigid(path, case.left_out)
    stiffness = np.array(case.stiffness) * random.uniform(0.5, 1.5, len(case.stiffness))
    payload = float(random.uniform(*case.payloads))
    return HiddenArm(root, case.tool, joints, stiffness, case.corners, payload, seed)


def _path(file):
    if file != Z1:
        return share_folder() / file
    try:
        return Path(str(distribution('example-robot-data').locate_file(file)))
    except PackageNotFoundError:
        return None


def _rigid(path, left_out):
    """Return the root of a URDF without meshes, gripper and flexibility, and its joints."""
    root = ElementTree.parse(path).getroot()
    for tag in ('flexibility', 'transmission', 'gazebo'):
        for part in root.findall(tag):
            root.remove(part)
    for link in root.iterfind('link'):
        for part in (*link.findall('visual'), *link.findall('collision')):
            link.remove(part)
    for joint in root.findall('joint'):
        if joint.get('name') in left_out:
            child = joint.findall('child')[0].get('link')
            root.remove(joint)
            root.remove(next(link for link in root.iter('link') if link.get('name') == child))
    names = [j.get('name') for j in root.iterfind('joint') if j.get('type') != 'fixed']
    return root, names


def tuned(name, seed=0, poses=9, checks=CHECKS):
    """Tune one arm; return its figures, or None if its URDF is missing."""
    arm = hidden_arm(name, seed)
    if arm is None:
        return None
    case = CASES[name]
    plan = make_plan(arm.joints, case.lower, case.upper, TuneSettings(poses=poses))
    arm.put(plan.starts[0])
    with TemporaryDirectory() as folder:
        result = TuneSession(folder, plan, arm).run()
    random = np.random.default_rng(100 + seed)
    errors, left = [], []
    for _ in range(checks):
        pose = random.uniform(case.lower, case.upper)
        errors.append(_frequency_errors(arm, result, pose))
        left.append(_left(arm, result, pose))
    return {
        'poses': poses,
        'modes': len(result.table.tracks),
        'band': result.band,
        'added': result.added,
        'measured_left': max(one.left for one in result.poses),
        'frequency_error': max(strong for strong, _ in errors),
        'weak_frequency_error': max(weak for _, weak in errors),
        'left_median': float(np.median(left)),
        'left': max(left),
    }


def _frequency_errors(arm, result, pose):
    """Return the largest relative errors of the frequencies of strong and of weak modes."""
    true, (found, _) = arm.true_frequencies(pose), result.table.modes_at(pose)
    errors = np.abs(true / found[0][:, None] - 1).min(axis=1)
    is_strong = result.table.sizes_at(pose)[0] >= MIN_SHARE
    return [float(errors[rows].max(initial=0.0)) for rows in (is_strong, ~is_strong)]


def _left(arm, result, pose):
    """Return the largest vibration of the tool with the shaper over that without, in a pose."""
    before, after = [], []
    for travel in TRAVELS:
        settings = TuneSettings(travel=travel)
        move = make_plan(arm.joints, pose - 0.5, pose + 0.5, settings).short_move(0)
        shaped = result.shaper.online(len(pose), PERIOD_S).run(move.positions)
        before.append(arm.tool_vibration(*move))
        after.append(arm.tool_vibration(PERIOD_S * np.arange(len(shaped)), shaped))
    return max(after) / max(before)


def tune_hidden_arms(quick=False):
    """Return the figures of each arm, and the worst of all."""
    try:
        import mujoco  # noqa: F401
    except ImportError as error:
        return {'reason': str(error)}
    names = ['ur5'] if quick else [*CASES]
    runs, refused = {}, {}
    for name in names:
        for seed in range(1 if quick else 2):
            try:
                found = tuned(name, seed, checks=4 if quick else CHECKS)
            except UsageError as error:  # the command says what to measure, too
                refused[f'{name} {seed}'] = str(error)
                continue
            if found is not None:
                runs[f'{name} {seed}'] = found
    return {
        'arms': runs,
        'refused': refused,
        'frequency_error': max(found['frequency_error'] for found in runs.values()),
        'left_median': float(np.median([found['left_median'] for found in runs.values()])),
        'left': max(found['left'] for found in runs.values()),
    }


def as_lines(found):
    """Lines of the table."""
    if 'reason' in found:
        yield 'arms tuned by logs', f'not measured: {found["reason"]}'
        return
    for name, line in found['refused'].items():
        yield f'not tuned: {name}', line
    for name, one in found['arms'].items():
        yield (
            f'tuned by {one["poses"]} logs: {name}',
            f'frequency within {one["frequency_error"]:.1%} (weak modes '
            f'{one["weak_frequency_error"]:.1%}), left {one["left_median"]:.1%} '
            f'(worst {one["left"]:.1%}) in other poses; {one["added"]:.2f} s more',
        )


if __name__ == '__main__':
    for line in as_lines(tune_hidden_arms()):
        print(': '.join(line))
