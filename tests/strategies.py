"""Random runs for hypothesis: small, and as awkward as the semantics allow.

A `Case` is a header, records in the native form and the options of a report. Everything drawn is readable; only
statistics may be refused, which `oracle.report` foresees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from oracle import Options

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

Json = dict[str, Any]

# Ties, noise, the edges of the exponent, zeros of both signs: what breaks sums and comparisons.
AWKWARD = (0.0, -0.0, 1.0, 0.5, 0.1, 0.2, 0.30000000000000004, 1 / 3, 2 / 3, -1.0, 0.7999999999999999)
EXTREME = (1e300, -1e300, 1e-300, 5e-324, -5e-324, 2.2250738585072014e-308, 9007199254740993.0, 1e16, -1e16)
TEXT_IDS = ("a", "A", "b", "10", "9", "é", "\uffff", "\U00010000", "task/with:odd @^ chars", " ")
THRESHOLDS = (0.0, 0.3, 0.5, 1.0, -1.0, 0.30000000000000004, 1e16)
METRICS = ("latency", "answer", "ok")
SUBJECTS = ("", "final")
K_LABELS = ("pass@k", "pass^k", "best_of_k", "worst_of_k")
PLAIN_LABELS = ("pass_rate", "learnability", "coverage", "mean_score", "mean_duration", "mean_total_tokens")

scores: SearchStrategy[Any] = st.one_of(
    st.sampled_from(AWKWARD),
    st.sampled_from(EXTREME),
    st.floats(-1e6, 1e6),
    st.sampled_from((True, False, 0, 1, 3)),
    st.sampled_from((None, math.nan)),
)
# Half of a column is drawn from four values, so that multisets hold ties.
tied_scores = st.one_of(st.sampled_from((0.0, 0.5, 1.0, 0.1)), scores)
verdicts = st.sampled_from(
    (None, "pass", "pass", "fail", "passed", "failed", "indeterminate", "timeout", "skipped")
)
statuses = st.sampled_from(
    (None, None, "succeeded", "succeeded", "completed", "errored", "cancelled", "canceled", "unfinished")
)
durations = st.one_of(
    st.none(), st.sampled_from((0, 0.0, -0.5, -1.0, 12.5, 0.1, 1e-9, math.nan)), st.floats(0, 1e6)
)
tokens = st.one_of(st.none(), st.integers(0, 10_000))
reading_values: SearchStrategy[Any] = st.one_of(
    st.sampled_from((0.5, 1, 1.0, 0, -0.0, 2.25, 0.1, True, False, "yes", "no", "", None, math.nan)),
    st.floats(-1e100, 1e100),
)


@dataclass(frozen=True)
class Case:
    """A run and what is asked of it."""

    header: Json
    records: list[Json]
    options: Options = field(default_factory=Options)

    def lines(self) -> list[Json]:
        """The objects of a native file, one a line."""
        return [{"run": self.header}, *self.records]


@st.composite
def checks(draw: DrawFn) -> list[Json]:
    """One to four checks, one of them required."""
    flags = draw(
        st.lists(st.tuples(st.booleans(), st.sampled_from((True, False, 1, 0, 1.0, 0.0))), max_size=3)
    )
    drawn = [{"label": "first", "required": True, "passed": draw(st.booleans())}]
    drawn += [
        {"label": f"c{i % 2}", "required": required, "passed": flag}
        for i, (required, flag) in enumerate(flags)
    ]
    return draw(st.permutations(drawn))


@st.composite
def graded(draw: DrawFn) -> Json:
    """Checks, what is recorded beside them, and the rules where they are named."""
    drawn = draw(checks())
    entry: Json = {"checks": drawn}
    reward = sum(map(bool, (check["passed"] for check in drawn))) / len(drawn)
    passed = all(check["passed"] for check in drawn if check["required"])
    recorded = draw(st.sampled_from(("nothing", "agreeing", "indeterminate", "ruled")))
    if recorded == "agreeing":
        entry |= {"score": round(reward, 2), "verdict": "pass" if passed else "fail"}
    elif recorded == "indeterminate":
        entry["verdict"] = "indeterminate"
    elif recorded == "ruled":
        entry |= {"projection": "weighted", "decision": "at_least:0.5"}
        entry |= {"score": draw(tied_scores), "verdict": draw(verdicts)}
    return entry


@st.composite
def readings(draw: DrawFn) -> list[Json]:
    """Up to three readings; one series may come twice."""
    drawn = []
    for _ in range(draw(st.integers(0, 2))):
        reading = {"metric": draw(st.sampled_from(METRICS)), "value": draw(reading_values)}
        subject = draw(st.sampled_from(SUBJECTS))
        drawn.append(reading if subject == "" else {**reading, "subject": subject})
    return drawn


@st.composite
def verification(draw: DrawFn) -> Json:
    """What one verifier recorded, without its name."""
    kind = draw(st.sampled_from(("checks", "score", "verdict", "both", "neither")))
    entry: Json = draw(graded()) if kind == "checks" else {}
    if kind in ("score", "both"):
        entry["score"] = draw(tied_scores)
    if kind in ("verdict", "both"):
        entry["verdict"] = draw(verdicts)
    if draw(st.integers(0, 3)) == 0:
        entry["readings"] = draw(readings())
    if draw(st.integers(0, 9)) == 0:
        entry["error"] = draw(st.sampled_from(("broke", {"type": "TimeoutError", "message": "60 s"})))
    return entry


@st.composite
def outcome(draw: DrawFn) -> Json:
    """The verifications of a rollout, written out or in the short form of the top level."""
    if draw(st.booleans()):
        names = draw(st.lists(st.sampled_from(("tests", "judge", "style")), unique=True, max_size=2))
        return {"verifiers": [{"name": name, **draw(verification())} for name in names]}
    short = draw(st.sampled_from(("checks", "score", "reward", "verdict", "passed", "nothing")))
    if short == "checks":
        return {"checks": draw(checks())}
    if short in ("score", "reward"):
        return {short: draw(tied_scores)}
    if short == "verdict":
        return {short: draw(verdicts)}
    return {short: draw(st.sampled_from((True, False, None)))} if short == "passed" else {}


@st.composite
def usage(draw: DrawFn) -> Json:
    """Token counts: halves, a total, all three, or none."""
    drawn: Json = {"input_tokens": draw(tokens), "output_tokens": draw(tokens), "total_tokens": draw(tokens)}
    if None not in (drawn["input_tokens"], drawn["output_tokens"]):
        drawn["total_tokens"] = draw(st.sampled_from((None, drawn["input_tokens"] + drawn["output_tokens"])))
    return {key: value for key, value in drawn.items() if value is not None or draw(st.booleans())}


@st.composite
def record(draw: DrawFn, task: int | str) -> Json:
    """One rollout, without its index and tags."""
    drawn: Json = {"task": task, **draw(outcome())}
    status = draw(statuses)
    if status is not None:
        drawn["status"] = status
    elif draw(st.integers(0, 5)) == 0:
        drawn["error"] = {"type": "RuntimeError", "message": "broke"}
    if draw(st.booleans()):
        drawn["duration_s"] = draw(durations)
    if draw(st.booleans()):
        drawn["usage"] = draw(usage())
    if draw(st.integers(0, 9)) == 0:
        drawn["meta"] = {"transcript": ["\u2028", {"task": "not this one", "rollout": -1}], "passed": "no"}
        drawn["unheard_of"] = [[], {}, "}", None]
    return drawn


@st.composite
def indices(draw: DrawFn, count: int) -> list[int | None]:
    """No indices, or distinct ones that mostly have no hole."""
    base = draw(st.sampled_from((None, 0, 0, 1)))
    if base is None:
        return [None] * count
    found = list(range(base, base + count))
    if found and draw(st.integers(0, 9)) == 0:
        found[-1] += draw(st.integers(1, 3))
    return list(found)


@st.composite
def runs(draw: DrawFn, *, even: bool | None = None) -> tuple[Json, list[Json]]:
    """A header and records; with `even` every task has the same number of rollouts."""
    ids: list[Any] = draw(
        st.one_of(
            st.lists(st.sampled_from(TEXT_IDS), min_size=1, max_size=4, unique=True),
            st.lists(st.integers(-2, 12), min_size=1, max_size=4, unique=True),
        )
    )
    even = draw(st.booleans()) if even is None else even
    each = draw(st.integers(1, 4))
    records: list[Json] = []
    sizes = {}
    for task in ids:
        sizes[str(task)] = size = each if even else draw(st.integers(0, 4))
        suite = draw(st.sampled_from((None, "math", "code")))
        for index in draw(indices(size)):
            one = draw(record(task))
            one |= {} if index is None else {"rollout": index}
            one |= {} if suite is None else {"tags": {"suite": suite, "seed": str(index)}}
            records.append(one)
    if not records:
        records.append({"task": ids[0], "passed": True})
        sizes[str(ids[0])] = 1
    most = max(sizes.values())
    header: Json = {}
    wanted = draw(st.sampled_from(("nothing", "nothing", "number", "object", "list", "both")))
    if wanted in ("list", "both"):
        header["tasks"] = draw(st.permutations(ids))
    if wanted in ("number", "both"):
        header["requested_rollouts"] = most + draw(st.integers(0, 2))
    if wanted == "object":
        header["requested_rollouts"] = {
            str(task): max(1, sizes[str(task)] + draw(st.integers(0, 1)))
            for task in draw(st.permutations(ids))
        }
    if draw(st.booleans()):
        header["id"] = "r1"
    return header, draw(st.permutations(records))


@st.composite
def options(draw: DrawFn, most: int, *, by: bool = True) -> Options:
    """What is asked for; labels that may be refused are asked for less often."""
    statistics: tuple[str, ...] | None = None
    ks: tuple[int, ...] = ()
    if draw(st.integers(0, 2)):
        chosen = draw(
            st.lists(st.sampled_from((*K_LABELS, *PLAIN_LABELS)), min_size=1, max_size=5, unique=True)
        )
        if draw(st.integers(0, 2)) == 0:
            kind = draw(st.sampled_from(("metric_mean", "metric_variance", "agreement")))
            series = draw(
                st.sampled_from((*METRICS, "final/ok", "tests//latency", "judge/final/answer", "none"))
            )
            chosen.append(f"{kind}:{series}")
        statistics = tuple(chosen)
        if set(chosen) & set(K_LABELS):
            ks = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=2, unique=True)))
    rule = draw(st.sampled_from(("default", "named", "threshold")))
    return Options(
        statistics=statistics,
        k=ks,
        policy="verifier_verdict.v1" if rule == "named" else None,
        threshold=draw(st.sampled_from(THRESHOLDS)) if rule == "threshold" else None,
        requested=draw(st.sampled_from((None, None, None, most, most + 1))),
        denominator=draw(st.sampled_from(("requested", "requested", "recorded", "scorable"))),
        by=draw(st.sampled_from((None, None, "suite"))) if by else None,
        on_short=draw(st.sampled_from(("omit", "omit", "raise"))),
    )


@st.composite
def cases(draw: DrawFn, *, by: bool = True) -> Case:
    """A whole case."""
    header, records = draw(runs())
    sizes: dict[str, int] = {}
    for one in records:
        sizes[str(one["task"])] = sizes.get(str(one["task"]), 0) + 1
    return Case(header, records, draw(options(max(sizes.values()), by=by)))


def asking(case: Case, **changes: Any) -> Case:
    """The same run, asked for something else."""
    return replace(case, options=replace(case.options, **changes))
