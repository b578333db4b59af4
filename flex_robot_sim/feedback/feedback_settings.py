"""Settings of the feedback that damps flexible links."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting

VIBRATION_FEEDBACKS = ('none', 'strain', 'ppf', 'lqg')


@dataclass(frozen=True)
class FeedbackSettings(Settings):
    """What brings links to rest by what is measured of them."""

    vibration_feedback: str = setting(
        'none',
        'what brings the links to rest: strain and ppf add to the efforts of the servo '
        'what flex sensors ask for, lqg takes its place',
        choices=VIBRATION_FEEDBACKS,
        live=True,
    )
    strain_period: float = setting(
        0.01,
        'between two messages of strain, for which vibration_feedback is designed; inside '
        'the process of the dynamics there are none, and it does not matter',
        's',
        above=0.0,
        at_most=1.0,
        live=True,
    )
    loop_delay: float = setting(
        0.0,
        'by which efforts act later than state_period says, as on a bench; for vibration_feedback',
        's',
        at_least=0.0,
        at_most=0.5,
        live=True,
    )
