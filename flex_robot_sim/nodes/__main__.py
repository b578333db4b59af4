"""`python -m flex_robot_sim.nodes NAME` is `ros2 run flex_robot_sim NAME`."""

import sys
from importlib import import_module

from flex_robot_sim.system import EXECUTABLES


def main():
    """Run the node that the command line names, with the rest of the command line."""
    name, *words = sys.argv[1:] or ['']
    if name not in EXECUTABLES:
        known = ', '.join(EXECUTABLES)
        what = f'no node "{name}". Known' if name else 'name a node'
        print(f'flex_robot_sim.nodes: {what}: {known}', file=sys.stderr)
        sys.exit(2)
    sys.argv = [name, *words]
    import_module(EXECUTABLES[name]).main()


if __name__ == '__main__':
    main()
