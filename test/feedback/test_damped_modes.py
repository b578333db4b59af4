"""Which modes strain feedback damps, on an arm whose link is 1.6 times stiffer sideways."""

import sys

import pytest
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.feedback.damping_search import KINDS
from flex_robot_sim.feedback.modal_damping import design_damping

sys.path.insert(0, str(ROOT))
from benchmarks.feedback_claims import LOOP, SERVO, left_of_a_push, pan_tilt


@pytest.fixture(scope='module')
def arm():
    return pan_tilt()


@pytest.mark.slow
@pytest.mark.parametrize('kind', KINDS)
def test_both_planes_of_a_link_are_damped(arm, kind):
    design = design_damping(arm, [0.0, 0.0], gains=SERVO, kind=kind, **LOOP._asdict())
    assert len(design.channels) == 2 and design.warning == '' and design.left_modes == ()
    for force in ((0.0, 0.5, 0.0), (0.0, 0.0, 0.5)):
        assert left_of_a_push(arm, design, force) < 0.03


@pytest.mark.slow
def test_a_mode_that_the_user_leaves_out_is_reported(arm):
    design = design_damping(arm, [0.0, 0.0], gains=SERVO, modes=1, **LOOP._asdict())
    (left,) = design.left_modes
    second = frs.frequencies(arm, gains=SERVO)[1]
    assert left.frequency == pytest.approx(second, rel=0.01) and left.damping_ratio < 0.03
    assert f'the mode of {left.frequency:.3g} Hz keeps' in design.warning
    assert 'modes = 1: take 2, or leave modes out' in design.warning
    assert left_of_a_push(arm, design, (0.0, 0.5, 0.0)) > 0.5


@pytest.mark.slow
def test_a_plane_without_gauges_is_reported():
    arm = pan_tilt(planes=('xz',))
    design = design_damping(arm, [0.0, 0.0], gains=SERVO, **LOOP._asdict())
    assert len(design.channels) == 1
    assert 'no flex sensor measures it' in design.warning


@pytest.mark.slow
def test_a_plane_that_no_drive_moves_is_reported():
    arm = pan_tilt(tilts=False)
    design = design_damping(arm, [0.0, 0.0], gains=SERVO, **LOOP._asdict())
    assert len(design.channels) == 1
    assert 'no drive moves it in this pose' in design.warning
