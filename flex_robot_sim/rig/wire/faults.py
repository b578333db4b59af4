"""Simulated transmission errors, reproducible from a seed."""

from dataclasses import dataclass

import numpy as np

from flex_robot_sim.util.settings import Settings, setting


@dataclass(frozen=True)
class WireFaults(Settings):
    """Probabilities of transmission errors, for each direction."""

    noise: float = setting(0.0, 'probability that a byte is damaged', at_least=0.0)
    drop: float = setting(0.0, 'probability that a byte is lost', at_least=0.0)
    insert: float = setting(0.0, 'probability that a byte is added after a byte', at_least=0.0)
    half: float = setting(
        0.0, 'probability that of a piece only the first half arrives', at_least=0.0
    )


class BadWire:
    """A wire with transmission errors."""

    def __init__(self, seed: int = 0) -> None:
        self.faults = WireFaults()
        self.damaged = 0  # bytes changed, lost or added
        self._random = np.random.default_rng(seed)

    def transmit(self, data: bytes) -> bytes:
        """Return the bytes that arrive when `data` is sent."""
        faults, random = self.faults, self._random
        if not data or not (faults.noise or faults.drop or faults.insert or faults.half):
            return data
        if faults.half and random.random() < faults.half:
            self.damaged += len(data) - len(data) // 2
            data = data[: len(data) // 2]
        values = np.frombuffer(data, np.uint8).copy()
        is_damaged = random.random(values.size) < faults.noise
        # any value except the original
        values[is_damaged] += random.integers(1, 256, is_damaged.sum(), np.uint8)
        is_delivered = random.random(values.size) >= faults.drop
        is_inserted = random.random(values.size) < faults.insert
        self.damaged += int(is_damaged.sum() + (~is_delivered).sum() + is_inserted.sum())
        if not is_inserted.any():
            return values[is_delivered].tobytes()
        copies = is_delivered.astype(int) + is_inserted
        out = np.repeat(values, copies)
        # the last copy of a byte is the inserted one
        places = (np.cumsum(copies) - 1)[is_inserted]
        out[places] = random.integers(0, 256, places.size, np.uint8)
        return out.tobytes()
