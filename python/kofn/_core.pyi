from typing import Any, TypeAlias

from numpy import bool_, float64, int8, int32, int64, uint8, uint32, uint64
from numpy.typing import NDArray

__version__: str

# Grading (spec 2)

def grade_checks(passed: bytes, required: bytes) -> tuple[bool, float, int]: ...
def score_agrees(recorded: float, reward: float) -> bool: ...
def failed_required(passed: bytes, required: bytes) -> list[int]: ...
def grade_csr(
    passed: NDArray[uint8],
    required: NDArray[uint8],
    offsets: NDArray[int64] | NDArray[int32] | NDArray[uint64] | NDArray[uint32],
    keep_ungradable: bool,
    out: tuple[NDArray[uint8], NDArray[float64], NDArray[uint32], NDArray[uint8]],
) -> None: ...
def grade_rows(
    passed: NDArray[uint8],
    required: NDArray[uint8],
    columns: int,
    keep_ungradable: bool,
    out: tuple[NDArray[uint8], NDArray[float64], NDArray[uint32], NDArray[uint8]],
) -> None: ...

# Tasks and tallies

class TaskIndex:
    def __new__(cls, groups: Any) -> TaskIndex: ...
    def __len__(self) -> int: ...
    @property
    def ids(self) -> list[str] | list[int]: ...
    @property
    def codes(self) -> NDArray[uint32]: ...

def consecutive_groups(rollouts: int, group_size: int) -> TaskIndex: ...
def canonical_label(label: str) -> str: ...
def ascii_label(label: str) -> str: ...

_Figures: TypeAlias = list[tuple[str, str, float]]

class Tally:
    def __new__(
        cls,
        statistics: list[str] | None,
        k: list[int],
        by: str | None,
        policy: tuple[str, float | None, str | None],
        chosen: bool,
        requested: int | list[tuple[str, int]] | None,
        denominator: str,
        on_short: str,
        part: str | None,
    ) -> Tally: ...
    def add_arrays(
        self,
        index: TaskIndex,
        *,
        passed: NDArray[int8] | None = None,
        scores: NDArray[float64] | None = None,
        durations: NDArray[float64] | None = None,
        tokens: NDArray[int64] | None = None,
        valid: NDArray[bool_] | None = None,
        by: TaskIndex | None = None,
    ) -> None: ...
    def merge(self, other: Tally) -> None: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(bytes: bytes) -> Tally: ...
    def report(self) -> dict[str, Any]: ...
    def figures(self) -> tuple[_Figures, list[tuple[str | None, _Figures]]]: ...
    @property
    def rollouts(self) -> int: ...
    @property
    def part(self) -> str | None: ...
    @property
    def policy(self) -> tuple[str, float | None, str | None]: ...
