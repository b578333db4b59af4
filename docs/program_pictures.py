"""Make the pictures of the page programs.md with the unchanged programs of examples/."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = Path(__file__).resolve().parent
PROGRAMS = (
    'impulse_response',
    'random_payloads',
    'lqr',
    'arm_from_code',
    'computed_torque',
    'gradient',
    'inverse_kinematics',
    'process_pool',
    'branches',
    'time_optimal_move',
)


def main():
    """Run each program in an empty folder, and keep its picture."""
    environment = {**os.environ, 'MPLBACKEND': 'Agg', 'PYTHONPATH': str(PAGES.parent)}
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, PAGES.parent / 'examples' / f'{name}.py'],
                cwd=folder,
                env=environment,
                check=True,
            )
            picture = (Path(folder) / f'{name}.png').read_bytes()
        (PAGES / 'images' / f'programs_{name}.png').write_bytes(picture)


if __name__ == '__main__':
    main()
