"""The table of features in docs/architecture.md is that of the code."""

import sys

import pytest
from project_files import ROOT

pytest.importorskip('gymnasium', reason='pip install ".[learn]"')
sys.path.insert(0, str(ROOT / 'docs'))
from feature_table import MARK, PAGE, table


@pytest.mark.slow
def test_the_table_of_features_is_that_of_the_code():
    found = MARK.search(PAGE.read_text('utf-8'))
    assert found and found[0] == f'{found[1]}{table()}{found[2]}', (
        'run `python docs/feature_table.py`'
    )
