"""
Order of elimination of the nodes of a mesh, in which the factors of its stiffness stay small.

Nested dissection (George, SIAM J. Numer. Anal. 10 (1973) 345): the elements are halved again and
again, and the nodes that both halves share are eliminated after those of the halves. Several cuts
are tried, because one through a layer of elements shares twice the nodes.
"""

import numpy as np

from flex_robot_sim.reduction.elasticity import Mesh

LEAF = 64  # elements that are not halved
NEIGHBOURS = 8  # nodes of a part that are not halved
LONG = 0.5  # an axis along which elements are halved, over the longest one
CUTS = (0.5, 0.47, 0.53, 0.44, 0.56, 0.41, 0.59)  # shares of the elements before a cut


def elimination_parts(mesh: Mesh) -> np.ndarray:
    """
    Return part, and place in it, of each node, (N, 2); parts are eliminated in their order.

    Places in a part follow each other in space, so that other parts reach few runs of them.
    """
    centres = mesh.nodes[mesh.elements[:, :4]].mean(axis=1)
    is_placed = np.zeros(len(mesh.nodes), bool)
    is_left = np.zeros(len(mesh.nodes), bool)
    parts: list[np.ndarray] = []  # the last one first
    ahead = [np.arange(len(mesh.elements))]
    while ahead:
        elements = ahead.pop()
        halved = _halved(mesh, centres, elements, is_left, is_placed)
        if halved is None:
            nodes = np.unique(mesh.elements[elements])
            shared = nodes[~is_placed[nodes]]
        else:
            left, right, shared = halved
            ahead += [left, right]
        is_placed[shared] = True
        parts.append(shared)
    out = np.empty((len(mesh.nodes), 2), int)
    for number, nodes in enumerate(parts[::-1]):
        out[nodes, 0] = number
        out[nodes[_along_space(mesh.nodes[nodes])], 1] = np.arange(len(nodes))
    return out


def _along_space(points):
    """Order of points, of which the halves of a box, and their halves, follow each other."""
    out, ahead = [], [np.arange(len(points))]
    while ahead:
        rows = ahead.pop()
        if len(rows) <= NEIGHBOURS:
            out.append(rows)
            continue
        places = points[rows]
        axis = np.ptp(places, axis=0).argmax()
        order = np.argsort(places[:, axis], kind='stable')
        middle = len(rows) // 2
        ahead += [rows[order[middle:]], rows[order[:middle]]]
    return np.concatenate(out)


def _halved(mesh, centres, elements, is_left, is_placed):
    """Return two halves of elements and the nodes that both share; None for few elements."""
    if len(elements) <= LEAF:
        return None
    places = centres[elements]
    size = np.ptp(places, axis=0)
    best = None
    for axis in np.flatnonzero(size > LONG * size.max()):
        for place in np.quantile(places[:, axis], CUTS):
            half = places[:, axis] < place
            if not half.any():
                continue
            left, right = elements[half], elements[~half]
            is_left[mesh.elements[left]] = True
            shared = np.unique(mesh.elements[right])
            shared = shared[is_left[shared] & ~is_placed[shared]]
            is_left[mesh.elements[left]] = False
            if best is None or len(shared) < len(best[2]):
                best = left, right, shared
    return best
