from numpy import float64, int32, int64, uint8, uint32, uint64
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
