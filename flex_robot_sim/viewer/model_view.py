"""The page of `flexsim view`: an arm at rest in a pose, in a natural mode, or in motion."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.control.loop_gravity import closed_pose
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.model.start_pose import start_note, start_position
from flex_robot_sim.util.exceptions import FlexRobotSimError
from flex_robot_sim.viewer.joint_sliders import JointSliders
from flex_robot_sim.viewer.live_arm import Live
from flex_robot_sim.viewer.mode_motion import ModeMotion
from flex_robot_sim.viewer.stage import ArmStage, table

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page

MAX_CATCH_UP_S = 0.1  # simulated time per picture
STEP_S = 0.01  # time step of the button
TEXT_PERIOD_S = 0.1  # between updates of the text
MAX_MODES = 20  # on the slider


class ModelView:
    """Content of the page and its state over time."""

    def __init__(self, page: Page, arm: ArmModel) -> None:
        self._page, self._arm, self._stage = page, arm, ArmStage(page, arm)
        self._rest, self._resting_arm = np.zeros(arm.size), without_free_fall(arm)
        self._modes: ModeMotion | None = None
        self._mode, self._mode_began = 0, 0.0
        self._live: Live | None = None
        if arm.description.base_motion is not None:
            self._live = Live(arm)
            self._start_base_pose = self._live.simulation.base_pose
        self._is_moving, self._is_paused, self._lost_time = False, False, 0.0
        self._text_updated_at = -np.inf
        if arm.joint_names:
            with page.folder('Joints'):
                self._sliders = JointSliders(page, arm, lambda values, _: self._pose(values))
                page.button('all to zero', self._to_zero)
        if arm.tips or arm.motor_names:
            with page.folder('Natural modes'):
                self._mode_slider = page.slider(
                    'mode', 0, MAX_MODES, 1, 0, self._choose_mode, '0: none; drives are locked'
                )
        if arm.size:
            with page.folder('Motion'):
                page.button('drop', lambda: self._start(False), 'Motors off, from this pose')
                page.button(
                    'swing',
                    lambda: self._start(True),
                    'Drives swing the arm about this pose; its links vibrate',
                )
                self._pause_button = page.button('pause', self._pause)
                page.button(f'step {1e3 * STEP_S:g} ms', self._step)
                page.button('reset', self._reset, 'Restart the motion, or return to the pose')
        if start_note(arm):
            page.show_message(start_note(arm))
        if arm.joint_names:
            self._attempt(lambda: self._pose(self._sliders.values))

    def warm_up(self) -> None:
        """Load or compile the functions of the buttons, so that the first press is fast."""
        if not self._arm.size:  # without joints, the page has no such buttons
            return
        with suppress(FlexRobotSimError):  # a press of the button reports it
            ModeMotion(self._resting_arm, self._rest, self._stage.reach)
        live = Live(self._arm)
        for swings in (False, True):
            with suppress(FlexRobotSimError):
                live.start(self._rest, swings)
                live.advance(STEP_S)

    def update(self, elapsed: float, now: float) -> None:
        """Handle user input, advance by `elapsed` [s], and draw at `now` [s]."""
        self._page.react()
        q, simulation = self._rest, None
        if self._is_moving and self._live is not None:
            if not self._is_paused:
                self._attempt(partial(self._advance, self._live, elapsed))
            simulation = self._live.simulation
            q = simulation.q
        elif self._mode and self._modes is not None:
            q = self._modes.coordinates(self._mode - 1, now - self._mode_began)
        with self._page.atomic_update():
            if self._arm.description.base_motion is not None:
                self._stage.place_base(
                    self._start_base_pose if simulation is None else simulation.base_pose
                )
            wrenches = (
                {}
                if simulation is None
                else {name: simulation.contact(name).wrench for name in self._arm.contacts}
            )
            self._stage.draw(q, is_traced=self._is_moving, contact_wrenches=wrenches)
            if now - self._text_updated_at >= TEXT_PERIOD_S:
                self._text_updated_at = now
                self._stage.status(table(self._text_rows()))

    def _text_rows(self):
        rows = {'robot': self._arm.description.name}
        tips: Mapping[str, np.ndarray] = {}
        if self._stage.factor != 1.0:
            rows['deflections'] = f'{self._stage.factor:g} times larger than life'
        if self._is_moving and self._live is not None:
            energy = self._live.simulation.energy()
            rows['time'] = f'{self._live.simulation.time:.2f} s' + (
                ', paused' if self._is_paused else ''
            )
            rows['motion'] = 'driven' if self._live.is_prescribed else 'falling'
            rows['energy'] = f'{energy.kinetic:.3g} J moving, {energy.strain:.3g} J bending'
            if self._lost_time > 1.0:
                rows['too slow'] = f'{self._lost_time:.0f} s behind the clock'
            for name in self._arm.contacts:
                contact = self._live.simulation.contact(name)
                rows[f'contact {name}'] = f'{np.linalg.norm(contact.force):.3g} N' + (
                    ', slides' if contact.is_sliding else ''
                )
            tips = self._live.simulation.deflection
        elif self._mode and self._modes is not None:
            k = self._mode - 1
            damping = round(self._modes.ratios[k], 6) + 0.0  # no -0
            rows[f'mode {self._mode}'] = (
                f'{self._modes.frequencies[k]:.4g} Hz, damping {damping:.2%}'
            )
            rows['shown'] = f'{self._modes.slowdown(k):.3g} times slower, size not to scale'
        else:
            rows['pose'] = (
                'free base at its start, motors locked'
                if self._arm.has_free_base
                else 'at rest under its weight, motors locked'
            )
            from flex_robot_sim.analysis.deflection import tip_deflection

            tips = {link: tip_deflection(self._arm, link, self._rest) for link in self._arm.tips}
        for link, tip in tips.items():
            rows[f'tip of {link}'] = f'{1e3 * np.linalg.norm(tip[:3]):.3g} mm deflected'
        return rows

    def _attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except FlexRobotSimError as error:
            self._page.show_message(str(error))
            self._is_paused = True

    def _pose(self, position):
        """Show the arm at rest at a joint position, or move its drives there."""
        if self._is_moving and self._live is not None and self._live.is_prescribed:
            self._live.set_target(position)
            return
        self._is_moving, joints = False, self._arm.joint_q
        if self._arm.closed_loops:  # passive joints continue from where they are
            position = np.where(self._arm.actuated, position, self._rest[joints])
            self._rest = closed_pose(self._arm, position)
            position = self._rest[joints]
            self._sliders.show(position)
        else:
            self._rest = np.zeros(self._arm.size)
            self._rest[: len(position)] = position
        try:
            self._rest = equilibrium(self._resting_arm, position).q
        finally:
            self._modes = None
            self._stage.clear_trace()
            if self._mode:
                self._choose_mode(self._mode)

    def _to_zero(self):
        self._sliders.show(start_position(self._arm))
        self._pose(self._sliders.values.copy())

    def _choose_mode(self, mode):
        self._is_moving = False
        self._mode = 0
        self._stage.clear_trace()
        if mode:
            if self._modes is None:
                self._modes = ModeMotion(self._resting_arm, self._rest, self._stage.reach)
            count = len(self._modes.frequencies)
            self._mode, self._mode_began = min(int(mode), count), time.monotonic()
            if mode > count:
                self._page.show_message(f'it has {count} oscillating modes')
        self._mode_slider.show(self._mode)

    def _start(self, swings):
        if self._mode:
            self._choose_mode(0)
        if self._live is None:
            self._live = Live(self._arm)
        self._stage.clear_trace()
        self._live.start(self._rest, swings)
        self._is_moving, self._lost_time = True, 0.0
        gravity = self._arm.arrays.base_acceleration
        if (self._resting_arm.arrays.base_acceleration != gravity).any():
            self._page.show_message('the free base falls: --gravity 0,0,0 lets it float')
        self._set_paused(False)

    def _advance(self, live, elapsed):
        time = min(elapsed, MAX_CATCH_UP_S)
        self._lost_time += elapsed - time
        live.advance(time)
        reports = live.simulation.reports
        if reports:
            self._page.show_message(reports[-1])
            reports.clear()

    def _pause(self):
        if self._is_moving:
            self._set_paused(not self._is_paused)

    def _set_paused(self, is_paused):
        self._is_paused = is_paused
        self._pause_button.label('resume' if is_paused else 'pause')

    def _step(self):
        if not self._is_moving:
            self._start(False)
        assert self._live is not None
        self._set_paused(True)
        self._live.advance(STEP_S)

    def _reset(self):
        self._stage.clear_trace()
        if self._is_moving and self._live is not None:
            self._live.reset()
            return
        self._to_zero()
