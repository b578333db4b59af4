"""`python -m flex_robot_sim.nodes NAME` is `ros2 run flex_robot_sim NAME`."""

import sys

from flex_robot_sim.start import start_node


def main() -> None:
    """Run the node that the command line names, with the remaining arguments."""
    sys.argv = sys.argv[1:] or ['']
    start_node(sys.argv[0])


if __name__ == '__main__':
    main()
