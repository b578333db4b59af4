"""`shaper_for`: the recommended shaper of an arm, of a recording or of a shaper file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from flex_robot_sim.model.arguments import truth
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import load
from flex_robot_sim.shaping.log_recommendation import DEFAULT_LOG_ALLOWED, recommend_from_log
from flex_robot_sim.shaping.shaper_comparison import DEFAULT_ALLOWED_M
from flex_robot_sim.shaping.shaper_design import MODEL_UNCERTAINTY, covered_bands, design_for_arm
from flex_robot_sim.shaping.shaper_file import read_shaper
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.tuning.table_file import is_table, read_table
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.share import shipped_robots

ROBOT_SUFFIXES = '.urdf', '.xacro'
SHAPER_SUFFIX = '.json'


def shaper_for(
    source: ArmModel | str | Path,
    *,
    masses: Sequence[float] = (),
    uncertainty: float | None = None,
    allowed_vibration: float | str | None = None,
    fixed: bool | None = None,
) -> ShaperSpecification:
    """
    Return the recommended ShaperSpecification; for an arm, it takes seconds.

    :param source: ArmModel; path of a URDF or xacro file, or name of a shipped robot; path of a
        recorded vibration, as of `flexsim shape --log`; or path of a file of
        `flexsim shape --output` or `flexsim tune` (shaper.json, modes.json), whose delays may
        follow the pose.
    :param masses: of the tool of an arm: one known payload, or candidates for an unknown one [kg].
    :param uncertainty: relative error of the frequencies; default: 0.1 for an arm, and by the
        standard deviations for a recording.
    :param allowed_vibration: distance of the tool from its goal that counts as rest [m], or a
        percentage such as '5%' of the mean vibration that the unshaped moves leave.
        Default: 5e-4; for a recording '5%'.
    :param fixed: whether the delays of an arm must be the same in all poses; default: False.

    Example::

        shaper = frs.shaping.shaper_for('single_link')
        times = np.arange(0.0, 0.5, 1e-3)
        shaped = shaper.shape(times, times[:, None])
        shaper.added_time, shaper.bands
    """
    options = {
        'masses': len(masses) > 0 if isinstance(masses, Sequence) else True,
        'uncertainty': uncertainty is not None,
        'allowed_vibration': allowed_vibration is not None,
        'fixed': fixed is not None,
    }
    if not isinstance(source, (ArmModel, str, os.PathLike)):
        raise SettingError(
            f'source = {shortened(repr(source), 60)} must be an arm, or the path of a URDF, of a '
            'recording or of a shaper file'
        )
    if isinstance(source, ArmModel) or _is_robot(source):
        return design_for_arm(
            source if isinstance(source, ArmModel) else load(source),
            masses=masses,
            uncertainty=MODEL_UNCERTAINTY if uncertainty is None else uncertainty,
            allowed_vibration=(
                DEFAULT_ALLOWED_M if allowed_vibration is None else allowed_vibration
            ),
            fixed=fixed is not None and truth('fixed', fixed),
        )
    if Path(source).suffix.lower() == SHAPER_SUFFIX:
        if is_table(source):
            _refuse_options(source, 'a table of flexsim tune', options, ())
            return read_table(source).shaper()[0]
        _refuse_options(source, 'a shaper file', options, ())
        return read_shaper(source)
    _refuse_options(source, 'a recording', options, ('uncertainty', 'allowed_vibration'))
    return _from_recording(
        source,
        uncertainty,
        DEFAULT_LOG_ALLOWED if allowed_vibration is None else allowed_vibration,
    )


def _is_robot(source):
    """Whether a path or name is that of a robot."""
    return Path(source).suffix.lower() in ROBOT_SUFFIXES or str(source) in shipped_robots()


def _refuse_options(source, noun, options, used):
    """Raise SettingError about an option that a source does not use."""
    for name, is_given in options.items():
        if is_given and name not in used:
            raise SettingError(f'{source} is {noun}, which takes no {name}: leave it out')


def _from_recording(path, uncertainty, allowed):
    found = recommend_from_log(path, uncertainty=uncertainty, allowed_vibration=allowed)
    if not found.cases:
        raise SettingError(
            f'{path}: no resonance stands out. Record several periods of the vibration at rest '
            'after a move or a push'
        )
    choice = found.candidates[found.best]
    if found.best == 0:
        raise SettingError(
            f'{path}: moves with 1 m/s2 need no shaper, or none helps. Take a smaller '
            'allowed_vibration, such as "5%"'
        )
    return ShaperSpecification(
        choice.name, choice.shaper, bands=covered_bands(found.cases, found.uncertainty)
    )
