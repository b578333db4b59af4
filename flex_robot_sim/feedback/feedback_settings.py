"""Settings of the feedback that damps flexible links."""

from dataclasses import dataclass

from flex_robot_sim.util.settings import Settings, setting

VIBRATION_FEEDBACKS = ('none', 'strain', 'ppf', 'lqg')


@dataclass(frozen=True)
class FeedbackSettings(Settings):
    """Feedback that damps the links, and the measurements that it uses."""

    vibration_feedback: str = setting(
        'none',
        'damping of the links: strain and ppf add an effort from the flex sensors to '
        'the servo, lqg replaces the servo',
        choices=VIBRATION_FEEDBACKS,
        live=True,
    )
    strain_period: float = setting(
        0.01,
        'period of the strain messages, for the design of vibration_feedback; no '
        'effect inside the dynamics process',
        's',
        above=0.0,
        at_most=1.0,
        live=True,
    )
    loop_delay: float = setting(
        0.0,
        'delay of the efforts in addition to state_period, as on a bench, for the '
        'design of vibration_feedback',
        's',
        at_least=0.0,
        at_most=0.5,
        live=True,
    )
