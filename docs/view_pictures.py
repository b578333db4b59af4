"""
Picture of an arm that rests on a bench, as `flexsim view` draws it: images/view_contact.png.

    python docs/view_pictures.py

It needs selenium, Chromium and chromedriver, as the tests of the browser do.
"""

import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib
import numpy as np

matplotlib.use('Agg')

from matplotlib import image

import flex_robot_sim as frs
from flex_robot_sim.viewer.browser import Page
from flex_robot_sim.viewer.stage import ArmStage

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / 'docs' / 'images' / 'view_contact.png'
CAMERA = np.array([0.4, 0.0, 0.2]), 1.5, np.array([0.5, -1.0, 0.45])  # place, distance [m], axis
START, DURATION, PERIOD = (-0.4, 1.2), 1.5, 0.01  # position [rad], and times [s]
SIZE = 640, 400  # of the picture                      [px]
WINDOW = 970, 460  # with the panel, and the frame of the window
# the page warns that the browser draws without a graphics card
CLOSE_NOTE = """const note = document.querySelector('.mantine-Notification-root');
note?.remove(); return note !== null"""
LOADING_TIME = 20.0  # of its lights                 [s]


def resting_arm():
    """Return two flexible links on a post, with a tool that touches a bench."""
    tube: dict[str, Any] = {'material': 'aluminium', 'damping_ratio': 0.02}
    builder = frs.ArmBuilder('bench')
    builder.add_rigid('post', shape=frs.Cylinder(0.05, 0.3), mass=2.0)
    builder.attach('post', parent='base', xyz=(0.0, 0.0, 0.15))
    builder.add_beam('upper', length=0.5, section=frs.Tube(0.03, 0.0015), **tube)
    builder.add_joint('shoulder', parent='base', child='upper', axis='y', xyz=(0.0, 0.0, 0.3))
    builder.add_beam('fore', length=0.4, section=frs.Tube(0.02, 0.001), **tube)
    builder.add_joint('elbow', parent='upper', child='fore', axis='y', viscous_friction=0.5)
    builder.add_rigid('tool', shape=frs.Sphere(0.03), mass=0.3)
    builder.attach('tool', parent='fore')
    builder.add_ground()
    builder.add_obstacle(
        'bench', shape=frs.Box(0.3, 0.3, 0.12), xyz=(0.75, 0.0, 0.06), friction=0.5
    )
    builder.add_contact('tool', link='tool', shape=frs.Sphere(0.03))
    return builder.build()


def main():
    """Drop the arm on the bench, and write what a browser draws."""
    sys.path.insert(0, str(ROOT / 'test'))
    from chromium import Chromium, Window

    arm = resting_arm()
    sim = frs.Simulation(arm)
    sim.set_state(START)
    with TemporaryDirectory() as folder, closing(Page('bench', 0)) as page:
        stage = ArmStage(page, arm)
        stage._show_ghost(False)
        page.set_camera(*CAMERA)
        while sim.time < DURATION:
            sim.advance_to(sim.time + PERIOD)
            stage.draw(sim.q, contact_wrenches={'tool': sim.contact('tool').wrench})
        with (
            closing(Chromium(folder)) as browser,
            closing(Window(browser, page.private_address, *WINDOW)) as window,
        ):
            window.wait_for(lambda: window.driver.execute_script(CLOSE_NOTE), 'the note')
            window.picture()  # draws, and so loads the lights
            time.sleep(LOADING_TIME)
            picture = window.picture()
    image.imsave(FILE, picture[: SIZE[1], : SIZE[0]])


if __name__ == '__main__':
    main()
