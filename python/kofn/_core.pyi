from collections.abc import Sequence
from typing import Any, TypeAlias, final

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

@final
class TaskIndex:
    def __new__(cls, groups: Any) -> TaskIndex: ...
    def __len__(self) -> int: ...
    @property
    def ids(self) -> list[str] | list[int]: ...
    @property
    def codes(self) -> NDArray[uint32]: ...

def consecutive_groups(rollouts: int, group_size: int) -> TaskIndex: ...
def count(index: TaskIndex, passed: NDArray[int8]) -> tuple[NDArray[int64], NDArray[int64]]: ...
def canonical_label(label: str) -> str: ...
def ascii_label(label: str) -> str: ...

_Figures: TypeAlias = list[tuple[str, str, float]]

def figures(
    index: TaskIndex,
    statistics: list[str] | None,
    k: list[int],
    policy: tuple[str, float | None, str | None],
    chosen: bool,
    requested: int | list[tuple[str, int]] | None,
    denominator: str,
    on_short: str,
    *,
    passed: NDArray[int8] | None = None,
    scores: NDArray[float64] | None = None,
    durations: NDArray[float64] | None = None,
    tokens: NDArray[int64] | None = None,
    valid: NDArray[bool_] | None = None,
    by: TaskIndex | None = None,
) -> tuple[_Figures, list[tuple[str | None, _Figures]]]: ...

@final
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
        also: list[str] = ...,
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
    def add_run(self, run: Run, mask: NDArray[bool_] | None) -> None: ...
    def read(
        self,
        sources: Sequence[tuple[str, str, Any, str | None]],
        *,
        skip_errors: bool,
        keep_ungradable: bool,
        on_duplicate: str,
    ) -> None: ...
    def merge(self, other: Tally) -> None: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(bytes: bytes) -> Tally: ...  # noqa: A002
    def report(self) -> dict[str, Any]: ...
    @property
    def rollouts(self) -> int: ...
    @property
    def part(self) -> str | None: ...
    @property
    def policy(self) -> tuple[str, float | None, str | None]: ...

# Estimators: n and c of equal length or of length 1; one row of len(ks) values a task

def pass_at_k(n: NDArray[int64], c: NDArray[int64], ks: list[int]) -> NDArray[float64]: ...
def pass_hat_k(n: NDArray[int64], c: NDArray[int64], ks: list[int]) -> NDArray[float64]: ...
def g_pass_at_k(n: NDArray[int64], c: NDArray[int64], ks: list[int], tau: float) -> NDArray[float64]: ...
def mg_pass_at_k(
    n: NDArray[int64], c: NDArray[int64], ks: list[int], normalize: bool
) -> NDArray[float64]: ...
def at_least_m_of_k(n: NDArray[int64], c: NDArray[int64], ks: list[int], m: int) -> NDArray[float64]: ...
def exactly_m_of_k(n: NDArray[int64], c: NDArray[int64], ks: list[int], m: int) -> NDArray[float64]: ...
def expected_attempts(n: NDArray[int64], c: NDArray[int64], ks: list[int]) -> NDArray[float64]: ...
def learnability(n: NDArray[int64], c: NDArray[int64], unbiased: bool) -> NDArray[float64]: ...
def order_of_task(scores: NDArray[float64], ks: list[int], which: str, at: float) -> NDArray[float64]: ...
def order_of_rows(
    scores: NDArray[float64], rows: int, ks: list[int], which: str, at: float
) -> NDArray[float64]: ...
def order_of_groups(
    scores: NDArray[float64], groups: TaskIndex, ks: list[int], which: str, at: float
) -> NDArray[float64]: ...

# Runs

_SourceParts: TypeAlias = tuple[str, str, Any, str | None]
_RequestedParts: TypeAlias = int | list[tuple[str, int]]
_PolicyParts: TypeAlias = tuple[str, float | None, str | None]

def read(
    sources: list[_SourceParts],
    *,
    given: _RequestedParts | None,
    skip_errors: bool,
    keep_ungradable: bool,
    on_duplicate: str,
) -> Run: ...
def run_from_arrays(
    index: TaskIndex,
    *,
    passed: NDArray[int8] | None = None,
    scores: NDArray[float64] | None = None,
    durations: NDArray[float64] | None = None,
    tokens: NDArray[int64] | None = None,
    valid: NDArray[bool_] | None = None,
) -> Run: ...

@final
class Run:
    def __len__(self) -> int: ...
    def header(self) -> dict[str, Any] | None: ...
    def given(self) -> int | dict[str, int] | None: ...
    def sources_and_notes(self) -> tuple[list[str], list[str]]: ...
    def tasks(self) -> list[str]: ...
    def verifiers(self) -> list[str] | None: ...
    def task_code(self, task: str) -> int | None: ...
    def keys(self) -> tuple[NDArray[uint32], NDArray[int64], NDArray[uint8]]: ...
    def classify(
        self, policy: _PolicyParts, mask: NDArray[bool_] | None
    ) -> tuple[NDArray[bool_], NDArray[uint8], NDArray[float64], bool]: ...
    def facts(self, row: int) -> dict[str, Any]: ...
    def record(self, row: int) -> str: ...
    def select(
        self, *, tasks: list[str] | None, verifiers: list[str] | None, tags: list[tuple[str, list[str]]]
    ) -> Run: ...
    def checks(self) -> list[tuple[str, str, bool, int, int, int]]: ...
    def missing(
        self, given: _RequestedParts | None
    ) -> list[tuple[str, int, list[tuple[int, int]] | None]]: ...
    def __arrow_c_stream__(self, requested_schema: object) -> object: ...

def arrow_stream(
    columns: list[tuple[str, list[str] | list[str | None] | NDArray[Any]]], requested_schema: object = None
) -> object: ...
