"""Every door a run can take into a report; each gives the report's JSON, or why there is none."""

from __future__ import annotations

import io
import json
import random
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import oracle
from native import Json, as_json, errors, jsonl, kofn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle import Options
    from strategies import Case

Outcome = tuple[str, Any]
"""("report", its JSON), ("refused", its label) or ("error", nothing)."""


def outcome(door: Callable[[], Json]) -> Outcome:
    """Go through a door."""
    try:
        return "report", door()
    except errors.RefusedError as error:
        return "refused", error.label
    except errors.KofnError:
        return "error", None


def judged(case: Case) -> Outcome:
    """What the oracle says; a refusal gives every label that may be named."""
    try:
        return "report", oracle.report(case.records, case.header, case.options)
    except oracle.RefusalError as refusal:
        return "refused", refusal.labels
    except oracle.OracleError:
        return "error", None


def asked(options: Options) -> Json:
    """Keyword arguments of `Run.report`."""
    return {
        "statistics": None if options.statistics is None else list(options.statistics),
        "k": list(options.k) or None,
        "policy": options.policy,
        "threshold": options.threshold,
        "requested": options.requested,
        "denominator": options.denominator,
        "on_short": options.on_short,
        **({} if options.by is None else {"by": options.by}),
    }


def through_bytes(case: Case) -> Json:
    """`kofn.read` of an open file."""
    return as_json(kofn.read(io.BytesIO(jsonl(*case.lines()))).report(**asked(case.options)))


def through_records(case: Case) -> Json:
    """`Run.from_records`."""
    return as_json(kofn.Run.from_records(case.lines()).report(**asked(case.options)))


def parts_of(case: Case, seed: int) -> list[list[Json]]:
    """Split the records, in another order, into one to four parts that are not empty."""
    chance = random.Random(seed)
    records = chance.sample(case.records, len(case.records))
    count = chance.randint(1, min(4, len(records)))
    parts: list[list[Json]] = [[one] for one in records[:count]]
    for one in records[count:]:
        chance.choice(parts).append(one)
    return parts


def in_files(case: Case, seed: int, folder: Path) -> list[Path]:
    """Write the parts as native files."""
    paths = []
    for number, part in enumerate(parts_of(case, seed)):
        path = folder / f"part-{number}.jsonl"
        path.write_bytes(jsonl({"run": case.header}, *part))
        paths.append(path)
    return paths


def through_files(case: Case, seed: int) -> Json:
    """`kofn.read` of several files, lines in another order."""
    with tempfile.TemporaryDirectory() as folder:
        return as_json(kofn.read(in_files(case, seed, Path(folder))).report(**asked(case.options)))


def through_the_command_line(case: Case, seed: int) -> Json:
    """`kofn report --format json --output`."""
    cli: Any = import_module("kofn.cli")
    options = case.options
    words: list[str] = [word for label in options.statistics or () for word in ("--statistic", label)]
    words += ["--k", ",".join(map(str, options.k))] if options.k else []
    for name in ("policy", "threshold", "requested", "denominator", "on_short", "by"):
        value = getattr(options, name)
        if value is not None and (name, value) != ("on_short", "raise"):
            words.append(
                f"--{name.replace('_', '-')}={value!r}"
                if name == "threshold"
                else f"--{name.replace('_', '-')}={value}"
            )
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "report.json"
        paths = map(str, in_files(case, seed, Path(folder)))
        status = cli.main(["report", *paths, *words, "--format", "json", "--output", str(target)])
        if status != 0:
            raise errors.KofnError(f"status {status}")
        return dict(json.loads(target.read_text(encoding="utf-8")))


def through_accumulators(case: Case, seed: int) -> Json:
    """Parts merged in a random tree, each on its way through bytes."""
    chance = random.Random(seed)
    nodes = []
    for number, part in enumerate(parts_of(case, seed)):
        node = kofn.Accumulator(**asked(case.options), part=chance.choice((None, f"part-{number}")))
        node.update(kofn.read(io.BytesIO(jsonl({"run": case.header}, *part))))
        nodes.append(node)
    while len(nodes) > 1:
        chance.shuffle(nodes)
        left, right = nodes.pop(), nodes.pop()
        if chance.random() < 0.5:
            right = kofn.Accumulator.from_bytes(right.to_bytes())
        left.merge(right)
        nodes.append(left)
    return as_json(kofn.Accumulator.from_bytes(nodes[0].to_bytes()).report())


def text_of(report: Json, keys: Sequence[str]) -> str:
    """The JSON text of the parts that may not change."""
    return json.dumps({key: report[key] for key in keys}, sort_keys=False)
