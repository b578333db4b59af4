"""
The geometry of `bending_markers`: flexible links as short straight pieces, coloured by strain.

All pieces of all links are rows of common arrays, so that a node builds its messages once and then
only copies numbers into them.

Adjacent straight pieces of a bent link meet in a mitre. Each piece extends beyond its chord up to
the far edge of the mitre, so that no gap opens on the outer side. The excess lies inside the
adjacent piece.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from flex_robot_sim.display.colours import colour_ramp
from flex_robot_sim.display.drawn_sections import drawn_sections
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.elastic import SETBACK_POINTS
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.slide_columns import LENGTH, OFFSET
from flex_robot_sim.spatial.turns import quaternions
from flex_robot_sim.util.exceptions import SettingError

MIN_FULL_SCALE = 1e-12  # of surface strain; smaller values would overflow
# tip deflection over length at which a link has its full colour; a cantilever with a force at its
# end then has the root curvature 3 FULL_COLOUR_DEFLECTION / length
FULL_COLOUR_DEFLECTION = 0.1


class BentLink(NamedTuple):
    """Rows and shape of a flexible link."""

    link: str
    shape: str  # 'box': x along the beam; 'cylinder': z along it, as in rviz
    pieces: slice  # rows of its pieces
    nodes: slice  # rows of its axis nodes


class BentLinks(NamedTuple):
    """
    Geometry of the deflected flexible links: k pieces, and a node at either end of each.

    All positions are in the base frame, or each in the frame of its link.
    """

    axis: np.ndarray  # (nodes, 3)  deflected axis                            [m]
    position: np.ndarray  # (k, 3)      centre of a piece                         [m]
    orientation: np.ndarray  # (k, 4)      quaternion x, y, z, w
    scale: np.ndarray  # (k, 3)      size along its own axes                   [m]
    rgba: np.ndarray  # (k, 4)      from 0 to 1
    load: np.ndarray  # (k,)        bending over full scale                   [-]


class BendingShape:
    """Computes the pieces of the flexible links of an arm."""

    def __init__(
        self,
        arm: ArmModel,
        pieces: int = 20,
        full_scale: float | None = None,
        skipped: Collection[str] = (),
    ) -> None:
        """
        Take `arm` (ArmModel).

        :param pieces: per flexible link, at least one per segment.
        :param full_scale: surface strain of the last colour [-]. By default, and for links with
            stiffnesses only, full scale is the root bending of a link whose tip a force deflects
            by a tenth of its length, the limit of the model.
        :param skipped: flexible links without pieces, because their surfaces are drawn.
        """
        if not isinstance(pieces, (int, np.integer)) or pieces < 1:
            raise SettingError(
                f'pieces = {pieces!r} must be a whole number >= 1: markers per flexible link'
            )
        if full_scale is not None and not 0 < full_scale < np.inf:
            raise SettingError(
                f'full_scale = {full_scale!r} must be > 0 and finite: surface '
                'strain that has the last colour'
            )
        self.posture, self._shortens = Posture(arm), arm.coupling == 'shortening'
        self._colours = colour_ramp()
        sections = drawn_sections(arm)
        nodes, middles, links = _StationRows(arm), _StationRows(arm), []
        for link, bodies in arm.segments.items():
            if link in skipped:
                continue
            pieces_per_body = -(-pieces // len(bodies))
            starts = len(nodes.x), len(middles.x)
            for body in bodies:
                x = np.linspace(0.0, arm.beams[body].length, pieces_per_body + 1)
                nodes.add(body, x)
                middles.add(body, (x[1:] + x[:-1]) / 2)
            links.append(
                BentLink(
                    link,
                    'cylinder' if sections[link].is_round else 'box',
                    slice(starts[1], len(middles.x)),
                    slice(starts[0], len(nodes.x)),
                )
            )
        self.links = tuple(links)
        self._prepare(arm, nodes, middles, sections, full_scale)

    def _prepare(self, arm, nodes, middles, sections, full_scale):
        self._node_body, self._body = np.array(nodes.body, int), np.array(middles.body, int)
        self._node_e = nodes.coordinates()
        arrays = arm.arrays
        self._slides = [
            (i, arrays.slide[i], arrays.slide_data[i, OFFSET], arrays.slide_data[i, LENGTH])
            for i in np.flatnonzero(arrays.kind == SLIDING)
        ]
        self._is_spatial = any(arm.beams[body].is_spatial for body in nodes.body)
        self._node_home = nodes.homes()
        self._shape = nodes.maps(lambda beam, x: beam.shape(x), 3)
        if self._shortens:
            self._H, self._setback = nodes.shortenings(), nodes.setbacks()
            self._second = nodes.second_shapes() if self._is_spatial else np.zeros(0)
        self._e = middles.coordinates()
        self._root = np.arange(len(arm.arrays.parent))
        self._axes = np.tile(np.eye(3), (len(arm.arrays.parent), 1, 1))
        for link, bodies in arm.segments.items():
            self._root[bodies] = bodies[0]
            self._axes[bodies] = arm.description.beam(link).axes
        self._turn = middles.maps(_section_turn, 3)
        self._section_R = middles.rotations()
        self._curvature = middles.maps(lambda beam, x: beam.strain(x)[:, :1:-1], 2)  # v'', -w''
        # a piece lies between two consecutive nodes of one body
        self._first = np.flatnonzero(self._node_body[1:] == self._node_body[:-1])
        k = len(self._body)
        # pieces with a following piece of their link
        self._inner_pieces = np.array(
            [
                piece
                for row in self.links
                for piece in range(row.pieces.start, row.pieces.stop - 1)
            ],
            int,
        )
        self._size, self._lever = np.empty((2, k, 2))
        self._round = np.empty(k, bool)
        for row in self.links:
            section, length = sections[row.link], arm.description.beam(row.link).length
            sizes = section.sizes(_shares(arm, row.link, middles, row.pieces))
            self._size[row.pieces], self._round[row.pieces] = sizes, section.is_round
            self._lever[row.pieces] = (
                sizes / 2 / max(full_scale, MIN_FULL_SCALE)
                if full_scale and section.is_known
                else length / (3 * FULL_COLOUR_DEFLECTION)
            )

    def bent(self, coordinates: np.ndarray, in_links: bool = False) -> BentLinks:
        """Return the BentLinks for coordinates (n,), in the base frame or `in_links`."""
        q = self.posture.take(coordinates)
        if not self.links:
            vectors, turns = np.zeros((0, 3)), np.zeros((0, 4))
            return BentLinks(vectors, vectors, turns, vectors, turns, np.zeros(0))
        q = np.append(q, 0.0)  # padding for rows with fewer coordinates
        base_R, base_p = self._bodies(q, in_links)
        stretch = self._stretch(q)
        axis = self._axis(q, base_R, base_p, stretch[self._node_body])
        stretch = stretch[self._body, None]
        first, R = self._first, base_R[self._body]
        if self._is_spatial:
            R = R @ self._section_R
        chord = axis[first + 1] - axis[first]
        length = np.sqrt(np.einsum('ka,ka->k', chord, chord))
        e, x = q[self._e], chord / length[:, None]
        turn = np.einsum('kan,kn->ka', self._turn, e)
        turn[:, 1:] *= stretch
        frame = _frames(x, R, turn)
        before, behind = self._mitres(frame, length)
        load = self._load(stretch**2 * np.einsum('kan,kn->ka', self._curvature, e))
        along = np.where(self._round, 2, 0)
        scale = np.empty((len(length), 3))
        scale[:, 1:] = self._size
        scale[self._round, 0] = self._size[self._round, 0]
        scale[np.arange(len(length)), along] = length + before + behind
        # a cylinder has its axis along z: y, z, x of the section are its x, y, z
        frame[self._round] = np.roll(frame[self._round], -1, axis=2)
        last = len(self._colours) - 1
        rgba = self._colours[np.minimum(load * last, last).astype(int)]
        position = axis[first] + chord / 2 + x * ((behind - before) / 2)[:, None]
        return BentLinks(axis, position, quaternions(frame), scale, rgba, load)

    def _hidden(self, q):
        """Length of each body in its guide, (bodies,) [m]."""
        hidden = np.zeros(len(self._root))
        for body, joint, offset, length in self._slides:
            hidden[body] = length - offset - q[joint]
        return hidden

    def _stretch(self, q):
        """Length of each body over its free length, (bodies,)."""
        ratio = np.ones(len(self._root))
        for body, joint, offset, length in self._slides:
            ratio[body] = length / (offset + q[joint])
        return ratio

    def _bodies(self, q, in_links):
        """Rotations and origins of all bodies in the base, or in the frame of their link."""
        R, p = self.posture.base_R, self.posture.base_p
        if not in_links:
            return R, p
        to_link = self._axes @ R[self._root].transpose(0, 2, 1)
        offset = np.einsum('kab,kb->ka', to_link, p - p[self._root])
        # the frame of a sliding link is at its rear end, in its guide
        return to_link @ R, offset + self._axes[:, :, 0] * self._hidden(q)[:, None]

    def _axis(self, q, base_R, base_p, stretch):
        """Nodes (nodes, 3) of the deflected axes, in the frame of `base_R` and `base_p` [m]."""
        e = q[self._node_e]
        local = np.einsum('kan,kn->ka', self._shape, e)
        local += self._node_home / stretch[:, None] if self._slides else self._node_home
        if self._shortens:
            H_e = np.einsum('knm,km->kn', self._H, e)
            local[:, 0] -= 0.5 * stretch * np.einsum('kn,kn->k', e, H_e)
            slopes = np.einsum('kgan,kn->kga', self._setback, e)
            local[:, 1:] -= np.einsum('kga,kgb,kgb->ka', slopes, slopes, slopes)
            if self._is_spatial:
                local += 0.5 * np.einsum('knma,kn,km->ka', self._second, e, e)
        R, p = base_R[self._node_body], base_p[self._node_body]
        return np.einsum('kab,kb->ka', R, local) + p

    def _mitres(self, frame, length):
        """Extensions of the pieces beyond their chords at root and end, (k,) each [m]."""
        before, behind = np.zeros((2, len(length)))
        i = self._inner_pieces
        for piece, neighbour, extension in ((i, i + 1, behind), (i + 1, i, before)):
            # axis of the neighbour in this frame: sine of the angle across, cosine along
            turn = np.einsum('kab,ka->kb', frame[piece], frame[neighbour, :, 0])
            parts = np.abs(turn[:, 1:]) * self._size[piece] / 2
            across = np.where(
                self._round[piece], np.hypot(parts[:, 0], parts[:, 1]), parts.sum(axis=1)
            )
            # tan(angle / 2) = sin / (1 + cos), limited to half a piece near a full fold
            extension[piece] = np.minimum(
                across / np.maximum(1.0 + turn[:, 0], 1e-9), length[piece] / 2
            )
        return before, behind

    def _load(self, curvature):
        """Bending over full scale; at a corner of a box the two planes add."""
        parts = np.abs(curvature) * self._lever
        return np.where(self._round, np.hypot(parts[:, 0], parts[:, 1]), parts.sum(axis=1))


def _shares(arm, link, stations, rows):
    """Shares of the length of a link at some of the stations, (k,)."""
    bodies = arm.segments[link]
    x = [
        bodies.index(body) * arm.beams[body].length + x
        for body, x in zip(stations.body[rows], stations.x[rows])
    ]
    return np.array(x) / arm.length(link)


def _frames(x, R, turn):
    """
    Axes (k, 3, 3) of pieces with the given x (k, 3), y as close as possible to the section y.

    :param R: (k, 3, 3) of the bodies; turn: rotation vectors (k, 3) of the sections there.
    """
    # y of the section: exp(turn) e_y = e_y + c1 turn x e_y + c2 turn x (turn x e_y)
    angle = np.sqrt(np.einsum('ka,ka->k', turn, turn))
    across = np.zeros_like(turn)
    across[:, 0], across[:, 2] = -turn[:, 2], turn[:, 0]
    y = np.sinc(angle / np.pi)[:, None] * across + 0.5 * np.sinc(angle / (2 * np.pi))[
        :, None
    ] ** 2 * _cross(turn, across)
    y[:, 1] += 1.0
    y = np.einsum('kab,kb->ka', R, y)
    y -= np.einsum('ka,ka->k', x, y)[:, None] * x
    y /= np.sqrt(np.einsum('ka,ka->k', y, y))[:, None]
    return np.stack([x, y, _cross(x, y)], axis=2)


def _cross(a, b):
    # less than half the time of np.cross
    out = np.empty_like(a)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[:, i] = a[:, j] * b[:, k] - a[:, k] * b[:, j]
    return out


def _section_turn(beam, x):
    """Rotation vectors of sections by coordinate, in their undeformed axes, (k, 3, n)."""
    turn = beam.turn(x)
    return np.swapaxes(beam.rotation(x), 1, 2) @ turn if beam.is_spatial else turn


class _StationRows:
    """Stations on the beams of an arm, and maps of the elastic coordinates at them."""

    def __init__(self, arm):
        self.arm, self.body, self.x, self._parts = arm, [], [], []
        self._max_size = max((beam.size for beam in arm.beams.values()), default=0)

    def add(self, body, x):
        self.body += [body] * len(x)
        self.x += list(x)
        self._parts.append((body, x))

    def coordinates(self):
        """Indices (rows, n) of the coordinates in q; -1 for padding of smaller beams."""
        indices = np.full((len(self.x), self._max_size), -1)
        for row, body in enumerate(self.body):
            columns = self.arm.elastic_coordinates(body)
            indices[row, : columns.stop - columns.start] = range(columns.start, columns.stop)
        return indices

    def maps(self, evaluate, height):
        """Stack evaluate(beam, x) of all parts: (rows, height, n)."""
        padded = [
            np.pad(values, [(0, 0), (0, 0), (0, self._max_size - values.shape[2])])
            for values in (evaluate(self.arm.beams[body], x) for body, x in self._parts)
        ]
        return np.concatenate(padded) if padded else np.zeros((0, height, self._max_size))

    def homes(self):
        """Undeformed positions in the frames of the bodies, (rows, 3) [m]."""
        rows = np.zeros((len(self.x), 3))
        rows[:, 0] = self.x
        for row, (body, x) in enumerate(zip(self.body, self.x)):
            if self.arm.beams[body].is_spatial:
                rows[row] = self.arm.beams[body].position([x])[0]
        return rows

    def rotations(self):
        """Rotations of undeformed sections in the frames of the bodies, (rows, 3, 3)."""
        rows = np.tile(np.eye(3), (len(self.x), 1, 1))
        for row, (body, x) in enumerate(zip(self.body, self.x)):
            if self.arm.beams[body].is_spatial:
                rows[row] = self.arm.beams[body].rotation([x])[0]
        return rows

    def second_shapes(self):
        """Second derivatives of the positions of spatial beams, (rows, n, n, 3)."""
        rows = []
        for body, x in self._parts:
            beam = self.arm.beams[body]
            values = np.zeros((len(x), beam.size, beam.size, 3))
            if beam.is_spatial:
                values = beam.second_shape(x)
            padding = (0, self._max_size - beam.size)
            rows.append(np.pad(values, [(0, 0), padding, padding, (0, 0)]))
        return np.concatenate(rows)

    def shortenings(self):
        """Shortening H at every row, (rows, n, n)."""
        rows = []
        for body, x in self._parts:
            beam = self.arm.beams[body]
            H = np.zeros((len(x), beam.size, beam.size))
            if not beam.is_spatial:
                H = beam.shortening(x)
            padding = self._max_size - H.shape[1]
            rows.append(np.pad(H, [(0, 0), (0, padding), (0, padding)]))
        return np.concatenate(rows) if rows else np.zeros((0, self._max_size, self._max_size))

    def setbacks(self):
        """Slopes of the setback (T10) at every row, (rows, 4, 2, n); zero without segments."""
        slopes = np.zeros((len(self.x), SETBACK_POINTS, 2, self._max_size))
        for row, (body, x) in enumerate(zip(self.body, self.x)):
            beam = self.arm.beams[body]
            if beam.is_segment and not beam.is_spatial:
                for axis, part in enumerate(beam.bending):
                    slopes[row, :, axis, part] = beam.setback(x)[:, part]
        return slopes
