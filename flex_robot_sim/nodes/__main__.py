"""`python -m flex_robot_sim.nodes NAME` is `ros2 run flex_robot_sim NAME`."""

import sys
from importlib import import_module

from flex_robot_sim.nodes.starting import end_quietly, keep_to_one_thread, start


def main() -> None:
    """Run the node that the command line names, with the rest of the command line."""
    end_quietly()
    keep_to_one_thread()
    name, *arguments = sys.argv[1:] or ['']
    executables = import_module('flex_robot_sim.system.processes').EXECUTABLES
    if name not in executables:
        known = ', '.join(executables)
        problem = f'no node "{name}". Known' if name else 'name a node'
        print(f'flex_robot_sim.nodes: {problem}: {known}', file=sys.stderr)
        sys.exit(2)
    sys.argv = [name, *arguments]
    start(name)


if __name__ == '__main__':
    main()
