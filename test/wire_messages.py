"""Random messages of the wire between board and host."""

from hypothesis import strategies as st

from flex_robot_sim.rig.wire.protocol import FRAMES


def values(wire):
    """Return a strategy for the value of a field: every integer on the wire, scaled."""
    if wire.record:
        return st.lists(messages(wire.record), min_size=wire.count, max_size=wire.count).map(tuple)
    if wire.kind == 'bytes':
        return st.binary(min_size=wire.count, max_size=wire.count)
    return st.integers(*wire.bounds).map(
        lambda count: count / wire.per_unit if wire.per_unit != 1 else count
    )


def messages(layout):
    return st.tuples(*(values(wire) for wire in layout.LAYOUT.fields.values())).map(layout._make)


any_message = st.sampled_from(list(FRAMES.values())).flatmap(messages)
sessions, sequences = st.integers(0, 255), st.integers(0, 65535)
