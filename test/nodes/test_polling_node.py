"""Times of messages that wait until a node polls them, by the clock of their sender."""

import time

from sensor_msgs.msg import JointState

from flex_robot_sim.ros.polling_node import Stamps

PERIOD = 0.03


def sent(observer, stamps, topic, count, stamp=None):
    """Messages that were sent one after the other and are asked for at once; when each was."""
    subscription = observer.node.create_subscription(JointState, topic, lambda _: None, 50)
    publisher = observer.publisher(JointState, topic)
    moments = []
    for k in range(count):
        message = JointState(position=[float(k)])
        if stamp is not None:
            message.header.stamp.sec, message.header.stamp.nanosec = stamp + k, 250_000_000
        before = time.time()
        publisher.publish(message)
        moments.append((before, time.time()))
        time.sleep(PERIOD)
    end = time.monotonic() + 20.0
    found: list = []
    while len(found) < count:
        assert time.monotonic() < end, f'{len(found)} of {count} messages came'
        found += stamps.new_messages(subscription)
    observer.node.destroy_subscription(subscription)
    return found, moments


def test_messages_without_stamps_have_the_times_at_which_they_were_sent(observer):
    stamps = Stamps(observer.node)
    found, moments = sent(observer, stamps, 'unstamped', 12)
    times = [stamps(message) for message in found]
    assert [message.position[0] for message in found] == [float(k) for k in range(12)]
    assert times[0] == 0.0
    (first, first_over), *others = moments
    for at, (begun, over) in zip(times[1:], others):  # each while it was being sent
        assert begun - first_over <= at <= over - first


def test_messages_with_stamps_keep_them(observer):
    stamps = Stamps(observer.node)
    found, _ = sent(observer, stamps, 'stamped', 3, 100)
    assert [stamps(message) for message in found] == [0.0, 1.0, 2.0]
