"""What this machine's memory allows, measured in the same run as everything else."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SIZE = 1 << 28


@dataclass(frozen=True)
class Limits:
    """Bytes a second of one thread."""

    read: float
    write: float
    copy: float
    touch: float
    """Of memory that the process has not used before."""

    def seconds(self, reads: float, writes: float) -> float:
        """Return the least time that moving so many bytes takes."""
        return reads / self.read + writes / self.write

    def __str__(self) -> str:
        rates = {"read": self.read, "write": self.write, "copy": self.copy, "first touch": self.touch}
        return "one thread: " + ", ".join(f"{name} {rate / 1e9:.1f} GB/s" for name, rate in rates.items())


def measure() -> Limits:
    """Measure with blocks far larger than any cache; the best of several, since a limit is what can be had."""
    block, other = np.ones(SIZE // 8), np.ones(SIZE // 8)

    def rate(work: Callable[[], object], times: int = 7) -> float:
        return SIZE / min(_seconds(work) for _ in range(times))

    return Limits(
        # A dot product adds in many lanes; a plain sum would wait for its own additions.
        read=max(rate(lambda: np.dot(block, block)), rate(block.max)),
        write=rate(lambda: block.fill(1.0)),
        copy=rate(lambda: np.copyto(block, other)),
        touch=rate(lambda: np.empty(SIZE, np.int8).fill(1)),
    )


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
