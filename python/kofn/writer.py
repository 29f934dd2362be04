"""Writing runs in the native form, one line a rollout, from threads and processes at once (spec 7)."""

from __future__ import annotations

import os
import stat
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from kofn import _values
from kofn._fields import mapping, parse
from kofn.errors import ArgumentError, ArgumentTypeError, InputError, KofnError, SourceError
from kofn.rollouts import Rollout, task_id

try:
    import fcntl
except ImportError:  # Windows: threads are kept apart, processes are not
    fcntl = None  # type: ignore[assignment]

COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class RunWriter:
    r"""Appends rollouts to a run file.

    Each rollout is one line, handed to the system in one piece before `write` returns: nothing is buffered here, and
    a killed process loses at most the line it was writing. (After a loss of power the system may miss more: lines are
    not forced to the disk.) Threads may share a writer; on POSIX systems several processes may write to one file,
    each with its own writer.

    A file that exists is continued. Where its last line was cut, that line is removed with a warning (it is no
    rollout, and the next line would run into it); where only its line end is missing, that is added.

    Parameters
    ----------
    path : str or path-like
        The file. It is plain JSON Lines; files compressed with gzip or zstd are read by `kofn.read`, not continued.
    requested : int or mapping of task to int, optional
        How many rollouts are requested for each task: what makes missing rollouts count.
    tasks : sequence of str or int, optional
        The run's tasks: what makes tasks without any rollout count.
    id : str, optional
        The run's id.
    score_range : (float, float), optional
        Scores must lie within, ends included.

    Attributes
    ----------
    removed : int
        Bytes of cut lines that this writer removed.

    Raises
    ------
    SourceError
        The file cannot be opened or written.
    InputError
        The file exists and declares something else, or is no JSON Lines.
    ArgumentError, ArgumentTypeError
        An argument is wrong.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from kofn import Rollout, Verification, required
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.jsonl")
    >>> with RunWriter(path, requested=2, tasks=["sum"]) as run:
    ...     run.write(Rollout("sum", 0, verifications=[Verification("answer", [required("total", True)])]))
    ...     run.write({"task": "sum", "rollout": 1, "passed": False})
    >>> print(path.read_text().splitlines()[0])
    {"run":{"requested_rollouts":2,"tasks":["sum"]}}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        requested: int | Mapping[str | int, int] | None = None,
        tasks: Sequence[str | int] | None = None,
        id: str | None = None,  # noqa: A002  # its name in files
        score_range: tuple[float, float] | None = None,
    ) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise ArgumentTypeError(f"path: {_values.shown(path)}; it must be a path")
        self.path = os.fsdecode(path)
        self.removed = 0
        self._header = _header(requested, tasks, id, score_range)
        self._fd: int | None = None
        self._kind: type[str | int] | None = None
        self._open()
        try:
            with self._alone() as fd:
                self._begin(fd)
        except BaseException:
            self.close()
            raise

    def write(self, rollout: Rollout | Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Append one rollout.

        Parameters
        ----------
        rollout : Rollout or mapping, optional
            A rollout, or a record of the native form.
        **fields
            The arguments of `Rollout`, in its place: ``write(task="a", index=0, verifications=[...])``.

        Raises
        ------
        ArgumentError, ArgumentTypeError, InputError
            It is no valid rollout of this run; nothing is written then.
        SourceError
            The system could not write it. A part of the line may stand in the file; the next write removes it.
        """
        line = self._line(rollout, fields)
        with self._alone() as fd:
            self._append(fd, line)

    def close(self) -> None:
        """Close the file; more calls do nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunWriter({self.path!r})"

    def _line(self, rollout: object, fields: dict[str, Any]) -> bytes:
        if rollout is None and fields:
            rollout = Rollout(**fields)
        elif fields:
            raise ArgumentTypeError("write takes a rollout or its fields, not both")
        if isinstance(rollout, Mapping):
            rollout = Rollout.from_dict(rollout)
        if not isinstance(rollout, Rollout):
            raise ArgumentTypeError(
                f"{_values.shown(rollout)} is no Rollout; give one, a dict of the native form, or its fields"
            )
        self._suits(rollout)
        return _values.dumps(rollout.to_dict()).encode() + b"\n"

    def _suits(self, rollout: Rollout) -> None:
        """Compare a rollout with what the run declares."""
        task = str(rollout.task)
        declared = self._declared
        if declared is not None and task not in declared:
            raise _values.outside(
                "task",
                f"{rollout.task!r} is not among the {len(declared)} tasks that {_values.line(self.path)} declares",
            )
        if self._kind is not None and type(rollout.task) is not self._kind:
            raise _values.outside(
                "task",
                f"{rollout.task!r} is {_noun(type(rollout.task))}, the run names its tasks by {_noun(self._kind)}",
            )
        self._kind = type(rollout.task)
        if self._range is None:
            return
        low, high = self._range
        for verification in rollout.verifications:
            if verification.score is not None and not low <= verification.score <= high:
                raise _values.outside(
                    "score",
                    f"{verification.score!r} of verifier {verification.name!r} (task {rollout.task!r}) is outside the run's score_range [{low!r}, {high!r}]",
                )

    def _open(self) -> None:
        flags = (
            os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        )
        if "\0" in self.path:
            raise _values.outside("path", f"{self.path!r}: no path holds a null character")
        with self._blamed():
            self._fd = os.open(self.path, flags, 0o666)
        self._pid = os.getpid()
        self._lock = threading.Lock()

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """Keep threads and, where the system can, other processes out."""
        if self._fd is not None and self._pid != os.getpid():
            # A forked child shares its parent's open file, and with it the parent's lock: it needs its own.
            os.close(self._fd)
            self._open()
        with self._lock:
            if self._fd is None:
                raise ArgumentError(f"{_values.line(self.path)}: the writer is closed")
            with self._blamed():
                locked = _lock(self._fd)
                try:
                    yield self._fd
                finally:
                    if locked:
                        fcntl.flock(self._fd, fcntl.LOCK_UN)

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except SourceError:
            raise
        except (OSError, UnicodeError) as error:
            reason, number = getattr(error, "strerror", None) or error, getattr(error, "errno", None)
            blamed = SourceError(f"{_values.line(self.path)}: {reason}")
            blamed.source, blamed.errno = self.path, number
            raise blamed from error

    def _begin(self, fd: int) -> None:
        """Write the header of a new file, or compare it with that of an old one."""
        # Before anything is repaired: a file that is none of ours must stay as it is.
        # A device or a pipe holds nothing to continue, and reading one may never end.
        first = _first_line(fd) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
        if first.startswith(COMPRESSED):
            raise self._bad("the file is compressed; decompress it to continue it, or begin a new one")
        whole = b"\n" in first or _complete(first)
        if first and not whole and not first.startswith(b"{"):
            raise self._bad("this is no run in the native form; begin a new file")
        header = self._continued(first) if first and whole else self._header
        self._repair(fd)
        if header and os.fstat(fd).st_size == 0:
            _write(fd, _values.dumps({"run": header}).encode() + b"\n")
        tasks = [
            *header.get("tasks", []),
            *(r if isinstance(r := header.get("requested_rollouts"), dict) else {}),
        ]
        self._declared = frozenset(map(str, tasks)) if tasks else None
        kinds = {type(task) for task in header.get("tasks", [])}
        self._kind = kinds.pop() if kinds else None
        self._range: list[float] | None = header.get("score_range")

    def _continued(self, first: bytes) -> dict[str, Any]:
        """Return the header of a file that is continued."""
        try:
            run = mapping(parse(first), "").get("run")
            declared = run if isinstance(run, Mapping) else {}
            names = ("requested_rollouts", "tasks", "id", "score_range")
            found = _header(*(declared.get(name) for name in names))
        except KofnError as error:
            raise self._bad(f"{error}; a RunWriter continues runs in the native form alone") from None
        for key, mine in self._header.items():
            if mine != found.get(key):
                raise self._bad(
                    f"{key} is {_values.shown(found.get(key))} in the file and {_values.shown(mine)} here; leave it out to continue the run, or begin a new file",
                    key,
                )
        return found

    def _bad(self, problem: str, field: str | None = None) -> InputError:
        error = InputError(f"{_values.line(self.path)}, line 1: {problem}")
        error.source, error.line, error.field = self.path, 1, field
        return error

    def _append(self, fd: int, line: bytes) -> None:
        self._repair(fd)
        _write(fd, line)

    def _repair(self, fd: int) -> None:
        """See to it that the file ends where a line ends: a writer may have been killed in mid-line."""
        size = os.fstat(fd).st_size
        if size == 0 or _read_at(fd, size - 1, 1) == b"\n":
            return
        start = _last_line(fd, size)
        tail = _read_at(fd, start, size - start)
        if _complete(tail):
            _write(fd, b"\n")
            return
        os.ftruncate(fd, start)
        self.removed += len(tail)
        warnings.warn(
            f"{_values.line(self.path)}: the last line was cut (a writer was stopped) and is removed, {len(tail)} bytes; that rollout is missing",
            RuntimeWarning,
            stacklevel=4,
        )


def _complete(line: bytes) -> bool:
    """Return whether a line is whole: no part of an object is an object."""
    import json  # noqa: PLC0415  # not needed to import kofn

    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _header(requested: object, tasks: object, run_id: object, score_range: object) -> dict[str, Any]:
    """Return what the arguments declare, as it stands in a file."""
    header: dict[str, Any] = {}
    counts: dict[str, int | None] = {}
    if run_id is not None:
        header["id"] = _values.name(run_id, "id")
    if isinstance(requested, Mapping):
        if not requested:
            raise _values.outside("requested", "the mapping is empty; leave it out if nothing is declared")
        counts = header["requested_rollouts"] = {
            str(task_id(task)): _values.count(
                _there(n, f"requested[{task!r}]"), f"requested[{task!r}]", least=1
            )
            for task, n in requested.items()
        }
        if len(counts) < len(requested):
            raise _values.outside("requested", "a task stands twice, as text and as an integer")
    elif requested is not None:
        header["requested_rollouts"] = _values.count(requested, "requested", least=1)
    if tasks is not None:
        header["tasks"] = _tasks(tasks)
        without = (
            next((task for task in header["tasks"] if str(task) not in counts), None) if counts else None
        )
        if without is not None:
            raise _values.outside(
                "requested", f"task {without!r} has no count; give one for each of the tasks"
            )
    if score_range is not None:
        header["score_range"] = _range(score_range)
    return header


def _there(value: object, what: str) -> object:
    if value is None:
        raise _values.outside(what, "it is None; give a count")
    return value


def _tasks(tasks: object) -> list[str | int]:
    if isinstance(tasks, (str, bytes, Mapping)) or not isinstance(tasks, Sequence):
        raise ArgumentTypeError(f"tasks: {_values.shown(tasks)}; it must be a list of task ids")
    if not tasks:
        raise _values.outside("tasks", "the list is empty; leave it out if nothing is declared")
    ids = [task_id(task) for task in tasks]
    if len({type(task) for task in ids}) > 1:
        raise _values.outside("tasks", "text and integers are mixed; a run names its tasks by one of the two")
    if len(set(ids)) < len(ids):
        twice = next(task for task in ids if ids.count(task) > 1)
        raise _values.outside("tasks", f"{twice!r} stands twice")
    return ids


def _range(value: object) -> list[float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ArgumentTypeError(f"score_range: {_values.shown(value)}; it must be (low, high)")
    low, high = (_values.number(bound, "score_range") for bound in value)
    if low is None or high is None or low > high:
        raise _values.outside(
            "score_range", f"{_values.shown(value)}; it must be (low, high) with low <= high"
        )
    return [low, high]


def _noun(kind: type) -> str:
    return "an integer" if kind is int else "text"


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except (
        AttributeError,
        OSError,
    ):  # Windows, or a file system without locks: appending in one piece is left
        return False
    return True


def _write(fd: int, line: bytes) -> None:
    """Append a line in one piece; the system splits it only when the disk is full or a signal comes in between."""
    view = memoryview(line)
    while view:
        view = view[os.write(fd, view) :]


def _read_at(fd: int, start: int, length: int) -> bytes:
    os.lseek(
        fd, start, os.SEEK_SET
    )  # writes are in append mode, so the position is ours; and Windows has no pread
    pieces = []
    while length > 0 and (piece := os.read(fd, length)):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def _last_line(fd: int, size: int) -> int:
    """Return where the last line starts."""
    end = size
    while end > 0:
        start = max(0, end - 65536)
        found = _read_at(fd, start, end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _first_line(fd: int) -> bytes:
    """Return the first line that is not blank, without a byte-order mark."""
    start, line = 0, b""
    while piece := _read_at(fd, start, 65536):
        line += piece
        start += len(piece)
        head = line.removeprefix(b"\xef\xbb\xbf").lstrip()
        if b"\n" in head or head.startswith(COMPRESSED):
            return head[: head.find(b"\n") + 1] or head
        line = head
    return line
