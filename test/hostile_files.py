"""Malicious files: a robot that runs a program when xacro expands it."""

from flex_robot_sim.recording.mcap_file import RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, TEXT, TEXTS, joint_state, text
from flex_robot_sim.util.share import shipped_robots

STEP = 10_000_000  # between two messages [ns]
# the frame of a generator leads from an expression of xacro to the modules that xacro imports
CONDITION = """<xacro:if value="${{(lambda q: (q.append(x.gi_frame.f_back.f_back.f_back.f_globals[
 'os'].system('touch {mark}') for x in q), [*q[0]][0])[1])([])}}"/>"""


def xacro_robot(mark, robot='single_link'):
    """Return the text of a shipped robot that creates the file `mark` when xacro expands it."""
    head, _, tail = shipped_robots()[robot].read_text('utf-8').partition('<robot ')
    words, _, body = tail.partition('>')
    return (
        f'{head}<robot {words} xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f'{CONDITION.format(mark=mark)}{body}'
    )


def write_recording(path, robot, joints=('hinge',), seconds=1.0):
    """Write a recording of a robot at rest; return its path."""
    writer = RecordingWriter(path, {})
    if robot:
        writer.write(writer.topic('/robot_description', TEXT, TEXTS[TEXT], True), 1, text(robot))
    for k in range(1, round(seconds * 1e9 / STEP) + 1):
        writer.write(
            writer.topic('/joint_states', JOINT_STATE, TEXTS[JOINT_STATE]),
            k * STEP,
            joint_state(k * STEP, joints, [0.0] * len(joints)),
        )
    writer.close()
    return path
