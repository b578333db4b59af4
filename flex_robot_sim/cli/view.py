"""`flexsim view`: an arm in a web browser, without ROS."""

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

import flex_robot_sim as frs
from flex_robot_sim.cli.common import add_model, add_robot, read_arm
from flex_robot_sim.cli.compiling import show_compilation
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.util.share import shipped_robots
from flex_robot_sim.viewer.missing import refuse_without_view
from flex_robot_sim.viewer.opening import open_browser


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Show an arm in a web browser, with sliders for its joints and natural modes, and '
        'simulate a drop or a swing. Only this machine can open the page. Ctrl-C ends it.'
    )
    add_robot(parser)
    parser.add_argument(
        '--port',
        type=int,
        metavar='N',
        help='port of the page (default: the first free one from 8180)',
    )
    parser.add_argument(
        '--no-browser', action='store_true', help='only print the address, do not open a browser'
    )
    add_model(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    refuse_without_view()
    page = redirect_folder = None
    try:
        with show_progress('reading the robot'):
            arm = read_arm(arguments)
            from flex_robot_sim.viewer.browser import Page
            from flex_robot_sim.viewer.robot_choice import RobotChoice

            page = Page(arm.description.name, arguments.port)
            shipped = {
                name: partial(
                    frs.load, str(path), coupling=arguments.coupling, gravity=arguments.gravity
                )
                for name, path in shipped_robots().items()
            }
            chosen_name = arguments.robot
            if arguments.robot not in shipped:
                chosen_name = plain(Path(arguments.robot).name)
            with show_compilation():
                view = RobotChoice(
                    page,
                    {
                        chosen_name: lambda: arm,
                        **{name: load for name, load in shipped.items() if name != chosen_name},
                    },
                )
        print(
            f'{plain(arm.description.name)} at {page.private_address}  Ctrl-C ends it.', flush=True
        )
        # keep the redirect file as long as the page
        redirect_folder = None if arguments.no_browser else open_browser(page.private_address)
        view.watch()
    except KeyboardInterrupt:
        pass
    finally:
        if page is not None:
            page.close()
        if redirect_folder is not None:
            redirect_folder.cleanup()
    return 0
