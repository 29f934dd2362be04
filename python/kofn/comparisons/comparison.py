"""The comparison itself: a mapping from labels to differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from kofn import _values
from kofn.comparisons.difference import Difference
from kofn.comparisons.tasks import ComparedTasks
from kofn.errors import OmittedError
from kofn.reports.labels import canonical
from kofn.views import numbers

if TYPE_CHECKING:
    import os

    from kofn.views import Form


@dataclass(frozen=True, slots=True)
class Side:
    """What is known of one of the two runs."""

    name: str
    run: dict[str, Any]
    policy: dict[str, Any] | None
    denominator: str
    only: int
    """Tasks that the other run does not have."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the comparison was made."""

    confidence: float
    interval: str
    seed: int
    clusters: int | None
    on_mismatch: str


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that a comparison holds; extras are keys that this version does not know."""

    sides: tuple[Side, Side]
    settings: Settings
    differences: dict[str, Difference]
    omitted: dict[str, str]
    tasks: ComparedTasks
    notes: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)
    difference_extras: dict[str, dict[str, Any]] = field(default_factory=dict)


class Comparison(Mapping[str, Difference]):
    """A second run against a first one on their common tasks; made by `kofn.compare` and `Comparison.from_json`.

    A mapping from labels to differences. **Every difference is the second run minus the first: new minus baseline.**
    Labels are accepted in ASCII spellings; one that could not be compared raises `OmittedError` with its reason.

    Examples
    --------
    >>> import kofn
    >>> old = kofn.Run.from_arrays(groups=list("abcdefgh"), passed=[0, 0, 0, 0, 0, 0, 1, 1])
    >>> new = kofn.Run.from_arrays(groups=list("abcdefgh"), passed=[1, 1, 1, 1, 1, 1, 1, 1])
    >>> comparison = kofn.compare(old, new, "pass@1")
    >>> comparison["pass@1"].value, comparison["pass@1"].p_value, comparison.gained
    (0.75, 0.03125, ['a', 'b', 'c', 'd', 'e', 'f'])
    """

    __slots__ = ("content",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, content: Content) -> None:
        self.content = content

    def __getitem__(self, label: str) -> Difference:
        found = self.content.differences.get(label)
        if found is None and isinstance(label, str):
            label = canonical(label)
            found = self.content.differences.get(label)
        if found is not None:
            return found
        reason = self.content.omitted.get(label)
        there = ", ".join(self.content.differences) or "no figure"
        shown = _values.line(label) if isinstance(label, str) else label
        error = OmittedError(f"{shown}: {reason or f'not compared here; there is {there}'}")
        error.label, error.reason = label, reason
        raise error

    def __iter__(self) -> Iterator[str]:
        return iter(self.content.differences)

    def __len__(self) -> int:
        return len(self.content.differences)

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Comparison) else NotImplemented

    @property
    def names(self) -> tuple[str, str]:
        """The names of the first run (the baseline) and of the second."""
        return self.content.sides[0].name, self.content.sides[1].name

    @property
    def omitted(self) -> dict[str, str]:
        """Labels that could not be compared, with the reason."""
        return dict(self.content.omitted)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the differences should know."""
        return self.content.notes

    @property
    def tasks(self) -> ComparedTasks:
        """The common tasks: `comparison.tasks["a"]`, `pyarrow.table(comparison.tasks)`."""
        return self.content.tasks

    @property
    def gained(self) -> list[str]:
        """Tasks that the second run solved at least once and the first never."""
        return self._changed(1)

    @property
    def lost(self) -> list[str]:
        """Tasks that the first run solved at least once and the second never."""
        return self._changed(-1)

    def _changed(self, change: int) -> list[str]:
        at = (self.tasks.changed() == change).nonzero()[0].tolist()
        return [self.tasks.task[i] for i in at]

    @property
    def conclusion(self) -> str:
        """What the comparison comes to, in one line; it rests on the first label."""
        differences = list(self.content.differences.values())
        if not differences:
            return "cannot tell: no figure is in both runs"
        first = differences[0]
        verdicts = {it.verdict for it in differences}
        if verdicts == {"identical"}:
            many = numbers.whole(len(self.tasks))
            which = first.label if len(differences) == 1 else f"all {len(differences)} figures"
            return f"identical runs: {which} of each of {many} tasks {'is' if len(differences) == 1 else 'are'} the same"
        text = first.sentence(self.names[1])
        if self.tasks.counted.any() and first.verdict != "cannot tell":
            gained, lost = len(self.gained), len(self.lost)
            text += f"; {numbers.whole(gained)} {'task' if gained == 1 else 'tasks'} gained, {numbers.whole(lost)} lost"
        return text

    def to_json(self) -> str:
        """Return the comparison as JSON text (ASCII), byte for byte the same for the same comparison."""
        from kofn.comparisons.encode import pieces  # noqa: PLC0415  (seldom needed)

        return "".join(pieces(self)) + "\n"

    @classmethod
    def from_json(cls, source: str | bytes | bytearray | Mapping[str, Any] | os.PathLike[str]) -> Self:
        """Read a comparison from JSON text, a parsed JSON object, or a file (as a `pathlib.Path`).

        Keys that this version does not know are kept and written again.

        Raises
        ------
        EncodingError
            If it is not a comparison, or not one of this schema.
        SourceError
            If the file cannot be read.
        """
        from kofn.comparisons.decode import decode  # noqa: PLC0415  (seldom needed)

        return cls(decode(source))

    def render(self, form: Form = "table", *, per_task: bool = False) -> str:
        """Return the comparison as text.

        Parameters
        ----------
        form : {"table", "markdown", "csv", "html", "latex"}
            As of a report.
        per_task : bool
            Add a row for each task.
        """
        from kofn.views.comparison import render  # noqa: PLC0415  (seldom needed)

        return render(self, form, per_task=per_task)

    def __str__(self) -> str:
        return self.render("table")

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.tasks)} tasks: {self.conclusion}>"

    def _repr_html_(self) -> str:
        from kofn.views.comparison import fragment  # noqa: PLC0415  (notebooks only)

        return fragment(self)
