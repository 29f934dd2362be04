"""What a run can be read from, as a sorted list for the core."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

from kofn import _values
from kofn.errors import ArgumentTypeError, InputError, KofnError, SourceError

E = TypeVar("E", SourceError, InputError)

DIRECTORY_SUFFIXES: Final = (
    *tuple(f".{form}{packed}" for form in ("jsonl", "ndjson") for packed in ("", ".gz", ".zst")),
    ".parquet",
)
"""The files of a directory that are read: those whose names end so and do not begin with a dot."""

STANDARD_INPUT: Final = "<stdin>"
PARQUET: Final = b"PAR1"
ARROW_FILE: Final = b"ARROW1"


class Source(NamedTuple):
    """One source as the core takes it."""

    kind: str
    """`path`, `bytes`, `records` (bytes whose lines are counted as records) or `table` (an Arrow object)."""
    name: str
    payload: Any
    header: str | None = None
    """The header of a table that cannot carry it."""
    path: str | None = None
    """Where a table was read from."""

    def parts(self) -> tuple[str, str, Any, str | None]:
        """Return what the core takes."""
        return self.kind, self.name, self.payload, self.header


def resolve(source: object) -> list[Source]:
    """Return the sources that `source` stands for, sorted by name.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        It is nothing that can be read, or the same file is given twice.
    SourceError
        A file is not there or cannot be read.
    """
    parts = list(source) if isinstance(source, (list, tuple, set, frozenset)) else [source]
    if not parts:
        raise _values.outside("source", "the list is empty; give a path, a table or an open file")
    found: list[Source] = []
    for part in parts:
        found.extend(_one(part, len(found) if len(parts) > 1 else 0))
    _refuse_copies(found)
    # Order must not matter: whoever lists files gets them in another order on another machine.
    return sorted(found, key=lambda one: one.name)


def _one(part: object, position: int) -> list[Source]:
    if isinstance(part, (str, os.PathLike)):
        path = os.fspath(part)
        if isinstance(path, str):
            return [Source("bytes", STANDARD_INPUT, _standard_input())] if path == "-" else _path(path)
    if isinstance(part, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(
            f"source: {_values.shown(part)}; bytes are ambiguous: give a path as text, or wrap contents in io.BytesIO"
        )
    if isinstance(part, Mapping):
        raise ArgumentTypeError(
            "source: a dict is no source; Run.from_records([...]) takes rollouts as dicts"
        )
    if hasattr(part, "__arrow_c_stream__") or hasattr(part, "__arrow_c_array__"):
        name = type(part).__name__
        return [Source("table", f"{name} {position + 1}" if position else name, part)]
    read = getattr(part, "read", None)
    if callable(read) and not isinstance(part, type):
        return [_open_file(part, read)]
    if hasattr(part, "collect"):
        raise ArgumentTypeError(f"source: {type(part).__name__} is lazy; call .collect() first")
    raise ArgumentTypeError(
        f"source: {_values.shown(part)}, {type(part).__name__}; it must be a path, a directory, a glob pattern, '-', an open file, a DataFrame, an Arrow table, or a list of these"
    )


def name_of(path: str) -> str:
    """Return a path as messages and reports show it: bytes that are no text, as escapes."""
    try:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return path.encode("utf-8", "backslashreplace").decode()


def _path(path: str) -> list[Source]:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  # a Path would forget how the user wrote it
    except FileNotFoundError:
        return _glob(path)
    except (OSError, ValueError) as error:
        _unreadable(path, error)
    if stat.S_ISDIR(mode):
        return _directory(path)
    if not stat.S_ISREG(mode):
        # A pipe or a terminal: what is read to look at it is gone.
        with _opened(path) as file:
            return [_contents(name_of(path), _read(file.read, name_of(path)))]
    with _opened(path) as file:
        start = _read(lambda: file.read(len(ARROW_FILE)), name_of(path))
    if start.startswith(PARQUET):
        return [_parquet(name_of(path), path)._replace(path=path)]
    _refuse_arrow_file(name_of(path), start)
    return [Source("path", name_of(path), path)]


def _directory(path: str) -> list[Source]:
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208  # as above
    except OSError as error:
        _unreadable(path, error)
    files = [
        os.path.join(path, name)  # noqa: PTH118
        for name in names
        if name.endswith(DIRECTORY_SUFFIXES) and not name.startswith(".")
    ]
    found = [source for file in files if os.path.isfile(file) for source in _path(file)]  # noqa: PTH113
    if not found:
        refuse(path, f"the directory holds no file that ends in {', '.join(DIRECTORY_SUFFIXES)}")
    return found


def _glob(path: str) -> list[Source]:
    import glob  # noqa: PLC0415  # most runs are named by their paths

    if not glob.has_magic(path):
        refuse(path, "there is no such file or directory")
    files = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))  # noqa: PTH113, PTH207
    if not files:
        refuse(path, "no file matches this pattern")
    return [source for file in files for source in _path(file)]


def _standard_input() -> bytes:
    stream = sys.stdin
    if stream is None:
        refuse(STANDARD_INPUT, "standard input is closed")
    # Notebooks and tests put a text stream without a buffer in its place.
    return _read(getattr(stream, "buffer", stream).read, STANDARD_INPUT)


def _open_file(file: object, read: Callable[[], Any]) -> Source:
    name = getattr(file, "name", None)
    shown = name_of(os.fsdecode(name)) if isinstance(name, (str, bytes)) else "<file>"
    return _contents(shown, _read(read, shown))


def _read(read: Callable[[], Any], name: str) -> bytes:
    try:
        contents = read()
        if isinstance(contents, str):
            return contents.encode()
    except UnicodeError as error:
        raise _blamed(InputError(f"{_values.line(name)}: it is not UTF-8 text: {error}"), name) from None
    except (OSError, ValueError) as error:
        _unreadable(name, error)
    if isinstance(contents, (bytes, bytearray, memoryview)):
        return bytes(contents)
    raise ArgumentTypeError(f"source: {name}: its read() gave {type(contents).__name__}, not bytes or text")


def _contents(name: str, contents: bytes) -> Source:
    if contents.startswith(PARQUET):
        import io  # noqa: PLC0415

        return _parquet(name, io.BytesIO(contents))
    _refuse_arrow_file(name, contents)
    return Source("bytes", name, contents)


def _refuse_arrow_file(name: str, start: bytes) -> None:
    if start.startswith(ARROW_FILE):
        refuse(name, "this is an Arrow file; open it with pyarrow.ipc.open_file and give its read_all()")


def _parquet(name: str, file: Any) -> Source:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        return _parquet_by_polars(name, file)
    from kofn.runs.schema import COLUMNS, OUTCOMES  # noqa: PLC0415

    try:
        parquet = pq.ParquetFile(file)
        schema = parquet.schema_arrow
        # A transcript beside the outcome need not be decoded; a table without any outcome is read whole, for the hint.
        wanted = (
            [name for name in schema.names if name in COLUMNS] if OUTCOMES & {*schema.names} else schema.names
        )
        kept = pa.schema([schema.field(name) for name in wanted], metadata=schema.metadata)
        batches = parquet.iter_batches(columns=wanted)
        return Source("table", name, pa.RecordBatchReader.from_batches(kept, batches))
    except (pa.ArrowException, OSError) as error:
        _unreadable(name, error)


def _parquet_by_polars(name: str, file: Any) -> Source:
    try:
        import polars as pl  # noqa: PLC0415  # an extra
    except ImportError:
        refuse(
            name, "a Parquet file is read through pyarrow or polars; install one: pip install 'kofn[formats]'"
        )
    try:
        header = pl.read_parquet_metadata(file).get("kofn")
        if hasattr(file, "seek"):
            file.seek(0)
        frame = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        _unreadable(name, error)
    # polars does not keep a schema's metadata.
    return Source("table", name, frame, header)


def _opened(path: str) -> Any:
    try:
        return open(path, "rb")  # noqa: PTH123  # the callers close it
    except OSError as error:
        _unreadable(path, error)


def _refuse_copies(sources: Iterable[Source]) -> None:
    seen: dict[str, str] = {}
    for source in sources:
        path = source.payload if source.kind == "path" else source.path
        if path is not None:
            key = os.path.realpath(path)
        elif source.name == STANDARD_INPUT:
            key = STANDARD_INPUT
        else:
            continue
        if key in seen:
            raise _values.outside(
                "source",
                f"{source.name} is given twice (also as {seen[key]}); its rollouts would count twice",
            )
        seen[key] = source.name


def refuse(name: str, problem: str) -> NoReturn:
    """Raise the error of a source that cannot be read."""
    shown = name_of(name)
    raise _blamed(SourceError(f"{_values.line(shown)}: {problem}"), shown)


def _unreadable(name: str, error: Exception) -> NoReturn:
    reason = getattr(error, "strerror", None) or str(error)
    shown = name_of(name)
    raise _blamed(SourceError(f"{_values.line(shown)}: {' '.join(str(reason).split())}"), shown) from error


def _blamed(error: E, name: str) -> E:
    error.source = name
    return error


@contextmanager
def named(sources: list[Source]) -> Iterator[None]:
    """Turn what a table's library raises into one line that names the source."""
    tables = [source.name for source in sources if source.kind == "table"]
    try:
        yield
    except KofnError:
        raise
    except ImportError as error:
        raise SourceError(f"{', '.join(tables)}: {error}; install it: pip install 'kofn[formats]'") from error
    except (TypeError, ValueError) as error:
        # pyarrow's own errors are of these kinds: an object column of mixed types, an array that is no table.
        if not tables:
            raise
        raise InputError(f"{', '.join(tables)}: {' '.join(str(error).split())}") from error
