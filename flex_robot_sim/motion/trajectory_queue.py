"""Queue of trajectories: planned in one thread, executed in the thread of the control loop."""

from collections import deque
from collections.abc import Callable

from flex_robot_sim.motion.reference import REFUSED, PlannedTrajectory, Reference, TrajectoryEvent
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.util.exceptions import SettingError

INTERRUPTED = 'the arm was stopped, or got another target, while the trajectory was planned'


class TrajectoryQueue:
    """
    Passes planned trajectories to the thread of a control loop.

    Planning a long trajectory takes much longer than a period of the loop; executing it does not.
    A command during planning, such as a stop, replaces the trajectory.
    """

    def __init__(self, reference: Reference) -> None:
        """Create an empty queue for a Reference."""
        self._reference = reference
        self._planned: deque[tuple[PlannedTrajectory, int]] = deque()

    def __bool__(self) -> bool:
        return bool(self._planned)

    def ticket(self) -> int:
        """Return the command count on arrival of a trajectory, an argument of `plan`."""
        return self._reference.interruptions

    def plan(
        self,
        trajectory: Trajectory,
        now: float,
        start: float | None,
        ticket: int,
        identifier: int | None = None,
    ) -> None:
        """Plan a Trajectory in any thread; arguments and errors are those of `Reference.plan`."""
        self._planned.append((self._reference.plan(trajectory, now, start, identifier), ticket))

    def refuse(self, identifier: int | None, reason: str) -> None:
        """Report a refused trajectory as an event; callable from any thread."""
        if identifier is not None:
            self._reference.events.append(TrajectoryEvent(identifier, REFUSED, reason))

    def take_events(self) -> list[TrajectoryEvent]:
        """Return the events since the last call; callable from any thread."""
        events = []
        while self._reference.events:
            events.append(self._reference.events.popleft())
        return events

    def follow(self, now: float, refuse: Callable[[SettingError], object]) -> None:
        """Start the planned trajectories, in the thread of the loop; on error, call `refuse`."""
        while self._planned:
            plan, ticket = self._planned.popleft()
            try:
                if ticket != self._reference.interruptions:
                    raise SettingError(INTERRUPTED)
                self._reference.follow(plan, now)
            except SettingError as error:
                self.refuse(plan.identifier, str(error))
                refuse(error)
