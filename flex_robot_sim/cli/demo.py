"""`flexsim demo`: says what is not there yet."""

from flex_robot_sim.exceptions import UsageError


def add_to(commands, about):
    """Add the command to the parser."""
    commands.add_parser('demo', help=about).set_defaults(run=run)


def run(arguments):
    """Carry out the command."""
    raise UsageError('the ROS 2 nodes are not part of this version. `flexsim simulate two_link '
                     '--to 0.5,0.5,-0.8` moves the arm without them.')
