"""Arms with planar joints within the tree, for tests, and the same arms in Pinocchio."""

import re

import numpy as np
from compare import GRAVITY
from random_arms import random_robot

NORMAL = '<axis xyz="0 0 1"/>'  # the only one that Pinocchio has


def planar_at(text, *names):
    """Return a URDF whose joints with these names are planar, with the normal z."""
    for name in names:
        found = re.search(rf'<joint name="{name}" type="(\w+)">.*?</joint>', text, re.DOTALL)
        assert found
        parts = re.sub(r'<(axis|limit|dynamics|mimic|safety_controller)\b[^>]*/>', '', found[0])
        parts = parts.replace(f'type="{found[1]}"', 'type="planar"')
        text = text.replace(found[0], parts.replace('</joint>', f'{NORMAL}</joint>'))
    return text


def random_tree(seed):
    """Return a random rigid tree with two planar joints beyond its first link."""
    text = random_robot(seed, 6, kinds=('rigid',), gears=False)
    others = np.random.default_rng(seed).permutation(range(1, 6))[:2]
    return planar_at(text, *(f'joint_{k}' for k in others))


class InPinocchio:
    """A rigid arm in Pinocchio, whose rates in a planar joint are those in the moved axes."""

    def __init__(self, pin, arm, text, q, v):
        """Take the coordinates q (n,) and rates v (n,) of the arm."""
        self.model = model = pin.buildModelFromXML(text)
        model.gravity.linear = np.array(GRAVITY)
        self.data, self.q = model.createData(), pin.neutral(model)
        # rates of Pinocchio = S v, and their derivatives = S a + bias
        self.S, self.bias, row = np.zeros((model.nv, arm.size)), np.zeros(model.nv), arm.idx_q
        for name, joint in zip([*model.names][1:], [*model.joints][1:]):
            at, to = joint.idx_q, joint.idx_v
            if joint.shortname() == 'JointModelPlanar':
                x, y, turn = (row[f'{name}_{axis}'] for axis in ('x', 'y', 'theta'))
                c, s = np.cos(q[turn]), np.sin(q[turn])
                self.q[at : at + 4] = q[x], q[y], c, s
                self.S[to : to + 2, [x, y]] = [[c, s], [-s, c]]
                self.S[to + 2, turn] = 1.0
                self.bias[to : to + 2] = v[turn] * np.array([[-s, c], [-c, -s]]) @ v[[x, y]]
            else:
                k = row[name]
                self.q[at] = q[k]
                if joint.nq == 2:
                    self.q[at : at + 2] = np.cos(q[k]), np.sin(q[k])
                self.S[to, k] = 1.0
        self.v = self.S @ v
