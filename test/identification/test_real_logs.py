"""
A real arm: fitted to one log, judged by another; see docs/identification.md.

The logs are not part of the project: REAL_LOGS names a folder that holds exp1.csv and exp2.csv.
"""

import os
from pathlib import Path

import pytest
from project_files import ROOT

from flex_robot_sim.core.assembly import load
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import read_log
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import measured

FOLDER = os.environ.get('REAL_LOGS', '')
SIGNALS = ['position/q2=column3', 'position/q3=column4', 'velocity/q2=column6',
           'velocity/q3=column7', *(f'link{link}/eps{link}{k}=column{column}*-2e-4'
                                    for link, k, column in ((2, 1, 11), (2, 2, 12), (3, 1, 13)))]


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason='REAL_LOGS names no folder with exp1.csv and exp2.csv')
def test_strain_of_a_log_that_the_fit_has_not_seen_is_explained():
    arm = load(ROOT / 'test/data/strain_arm.urdf')
    seen, held = (measured([read_log(Path(FOLDER) / name, SIGNALS)], arm, True)
                  for name in ('exp1.csv', 'exp2.csv'))
    # the first fourteen seconds stand still
    seen = seen._replace(sequences=[seen.sequences[0].part(1400, 8000)])
    found = identify(Setup(arm.description, seen, time_step=5e-3), [
        'link2.EIy', 'link2.damping', 'elbow.mass', 'link?/*.gain', 'delay'], held.sequences)
    assert found.held_out['link2/eps21'] > 0.9 and found.held_out['link2/eps22'] > 0.9
