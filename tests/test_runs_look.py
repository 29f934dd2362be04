"""Looking into a run: rollouts and their details, selections, checks, missing rollouts; from several threads."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import kofn
from kofn.errors import ArgumentError, ArgumentTypeError, InputError, RefusedError, SourceError

if TYPE_CHECKING:
    from pathlib import Path


def check(label: str, passed: bool, *, required: bool = True, detail: object = None) -> dict[str, Any]:
    return {"label": label, "required": required, "passed": passed, "detail": detail}


RECORDS: list[dict[str, Any]] = [
    {
        "task": "sum",
        "rollout": 0,
        "verifiers": [
            {
                "name": "answer",
                "checks": [check("total", False, detail="499"), check("saved", True, required=False)],
            },
            {
                "name": "style",
                "checks": [check("short", True)],
                "readings": [{"metric": "words", "value": 7}],
            },
        ],
        "duration_s": 2.5,
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "tool_calls": 3,
        "tool_errors": 1,
        "stop_reason": "max_turns",
        "tags": {"suite": "math"},
        "meta": {"transcript": "s3://x", "huge": 10**30},
    },
    {
        "task": "sum",
        "rollout": 1,
        "verifiers": [
            {"name": "answer", "checks": [check("total", True)]},
            {"name": "style", "checks": [check("short", False)]},
        ],
        "tags": {"suite": "math"},
    },
    {"task": "sort", "rollout": 0, "status": "errored", "error": {"type": "OOM", "message": "killed"}},
    {
        "task": "sort",
        "rollout": 1,
        "verifiers": [{"name": "answer", "checks": [check("total", True)]}],
        "tags": {"suite": "code"},
    },
    {"task": "find", "rollout": 0, "status": "unfinished"},
]
HEADER = {"run": {"id": "r1", "requested_rollouts": 2, "tasks": ["sum", "sort", "find", "absent"]}}


def contents(*records: object) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in records).encode()


@pytest.fixture(params=["path", "memory", "records"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> kofn.Run:
    if request.param == "path":
        (tmp_path / "run.jsonl").write_bytes(contents(HEADER, *RECORDS))
        return kofn.read(tmp_path / "run.jsonl")
    if request.param == "memory":
        return kofn.read(io.BytesIO(contents(HEADER, *RECORDS)))
    return kofn.Run.from_records([HEADER, *RECORDS])


def test_a_rollout_shows_its_columns_and_its_details(run: kofn.Run) -> None:
    rollout = run.rollouts()[0]
    assert (rollout.task, rollout.index, rollout.status) == ("sum", 0, "succeeded")
    assert (rollout.success, rollout.registry, rollout.score) == (False, "failed", 0.75)
    assert rollout.failed_required == ("answer: total",)
    assert (rollout.tool_calls, rollout.tool_errors, rollout.duration_s, rollout.total_tokens) == (
        3,
        1,
        2.5,
        15,
    )
    assert rollout.tags == {"suite": "math"}
    assert [one.name for one in rollout.verifications] == ["answer", "style"]
    assert rollout.verifications[0].checks[0].detail == "499"
    assert rollout.verifications[1].readings[0].value == 7
    assert rollout.usage is not None
    assert rollout.usage.input_tokens == 10
    assert rollout.stop_reason == "max_turns"
    assert rollout.meta == {"transcript": "s3://x", "huge": 10**30}
    assert rollout.error is None
    assert rollout.place is not None
    assert rollout.place.endswith((", line 2", ", record 2"))


def test_one_verifier_needs_no_prefix_and_errors_are_told(run: kofn.Run) -> None:
    broke = run.rollouts("sort", "errored")[0]
    assert str(broke.error) == "OOM: killed"
    assert (broke.success, broke.registry, broke.score, broke.meta) == (False, "unscorable", None, {})
    one = kofn.Run.from_records([{"task": "a", "checks": [check("x", False)]}]).rollouts()[0]
    assert one.failed_required == ("x",)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (None, [0, 1, 2, 3, 4]),
        ("success", [3]),
        ("failure", [0, 1, 2, 4]),
        ("passed", [3]),
        ("failed", [0, 1]),
        ("unscorable", [2]),
        ("succeeded", [0, 1, 3]),
        ("errored", [2]),
        ("cancelled", []),
        ("unfinished", [4]),
    ],
)
def test_rollouts_are_chosen_by_outcome(run: kofn.Run, outcome: str | None, expected: list[int]) -> None:
    chosen = run.rollouts(outcome=outcome)
    keys = [(RECORDS[i]["task"], RECORDS[i]["rollout"]) for i in expected]
    assert [(one.task, one.index) for one in chosen] == keys
    assert len(chosen) == len(expected)


def test_rollouts_are_a_sequence(run: kofn.Run) -> None:
    rollouts = run.rollouts()
    assert [one.task for one in rollouts[1:3]] == ["sum", "sort"]
    assert rollouts[-1].task == "find"
    assert [one.index for one in run.rollouts("sum")] == [0, 1]
    assert len(run.rollouts("absent")) == 0
    with pytest.raises(IndexError):
        rollouts[5]


def test_unknown_tasks_and_outcomes_are_refused(run: kofn.Run) -> None:
    with pytest.raises(ArgumentError, match='did you mean "sum"'):
        run.rollouts("sun")
    with pytest.raises(ArgumentError, match="outcome: 'passing' is not 'success' or"):
        run.rollouts(outcome="passing")


def test_scores_alone_decide_nothing_without_a_threshold() -> None:
    run = kofn.Run.from_records([{"task": "a", "score": score} for score in (0.25, 0.75)])
    assert [one.success for one in run.rollouts()] == [None, None]
    with pytest.raises(RefusedError, match="threshold"):
        run.rollouts(outcome="success")
    assert [one.success for one in run.rollouts(threshold=0.5)] == [False, True]
    assert len(run.rollouts(outcome="failure", policy="verifier_verdict.v1")) == 2


class OddOnes:
    id = "odd.v1"
    parameters: dict[str, Any] = {}  # noqa: RUF012

    def outcomes(self, run: kofn.Run) -> Any:
        return np.arange(len(run)) % 2 == 1


def test_a_users_policy_decides(run: kofn.Run) -> None:
    assert [one.index for one in run.rollouts(outcome="success", policy=OddOnes())] == [1, 1]


def test_a_source_that_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(contents(*RECORDS))
    rollouts = kofn.read(path).rollouts()
    path.write_bytes(contents(*RECORDS[::-1]))
    with pytest.raises(SourceError, match="read the run again"):
        _ = rollouts[0].meta
    path.unlink()
    with pytest.raises(SourceError, match=r"run\.jsonl"):
        _ = kofn.Run.rollouts(kofn.read(io.BytesIO(contents(*RECORDS))))[0].meta, rollouts[1].meta
    # What the report needs is in memory.
    assert rollouts[0].failed_required == ("answer: total",)


def test_a_byte_order_mark_does_not_shift_records() -> None:
    run = kofn.read(io.BytesIO(b"\xef\xbb\xbf" + contents(*RECORDS)))
    assert [one.rollout.task for one in run.rollouts()] == ["sum", "sum", "sort", "sort", "find"]


def test_arrays_have_rollouts_too() -> None:
    run = kofn.Run.from_arrays(
        groups=[7, 7], passed=[True, False], scores=[0.5, float("nan")], tokens=[3, None]
    )
    rollout = run.rollouts()[0]
    assert (rollout.task, rollout.index, rollout.place, rollout.success) == ("7", None, None, True)
    assert rollout.rollout.task == 7
    assert rollout.rollout.verifications[0].score == 0.5
    assert rollout.usage == kofn.rollouts.Usage(total_tokens=3)


# Selections


def test_tasks_keep_their_requested_counts(run: kofn.Run) -> None:
    part = run.select(tasks=["sum", "absent"])
    assert (len(part), part.tasks, part.requested) == (2, ("sum", "absent"), 2)
    assert part.report(["pass_rate"]).counts["requested"] == 4
    assert [one.rollout.index for one in part.rollouts()] == [0, 1]


def test_requested_counts_by_task_follow_the_selection() -> None:
    header = {"run": {"requested_rollouts": {"a": 2, "b": 3}}}
    run = kofn.Run.from_records([header, {"task": "a", "passed": True}])
    assert run.select(tasks="b").requested == {"b": 3}
    assert run.select(tasks="b").report(["pass@3"])["pass@3"].value == 0.0
    given = kofn.Run.from_records([{"task": "a"}, {"task": "b"}], requested={"a": 1, "b": 2})
    assert given.select(tasks=["a"]).given == {"a": 1}


def test_verifiers_keep_all_rollouts(run: kofn.Run) -> None:
    part = run.select(verifiers="style")
    assert len(part) == len(run)
    assert [one.registry for one in part.rollouts("sum")] == ["passed", "failed"]
    assert part.rollouts()[0].score == 1.0
    assert [one.name for one in part.rollouts()[0].verifications] == ["style"]
    assert {row.verifier for row in part.checks()} == {"style"}
    assert part.select(tasks="sum").rollouts()[1].verifications[0].verdict == "fail"


def test_tags_select_whole_tasks(run: kofn.Run) -> None:
    # The errored rollout of "sort" carries no tag; the task does.
    assert run.select(tags={"suite": "code"}).tasks == ("sort",)
    assert len(run.select(tags={"suite": "code"})) == 2
    assert run.select(tags={"suite": ["code", "math"]}).tasks == ("sum", "sort")
    assert run.select(tags={"suite": "math"}, tasks=["sort"]).tasks == ()


def test_a_tag_that_varies_selects_nothing() -> None:
    run = kofn.Run.from_records([{"task": "a", "tags": {"x": value}} for value in ("1", "2")])
    with pytest.raises(InputError, match="constant within each"):
        run.select(tags={"x": "1"})


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"tasks": ["sum", "srot"]}, 'no task "srot"; did you mean "sort"'),
        ({"tasks": 5}, 'no task "5"'),
        ({"verifiers": ["anwser"]}, 'no verifier "anwser"; did you mean "answer"'),
        ({"verifiers": ["judge"]}, 'no verifier "judge"; it has "answer", "style"'),
        ({"tags": {"siute": "math"}}, 'no tag "siute"; did you mean "suite"'),
        ({"tags": {"suite": "maths"}}, 'no value of tag "suite" "maths"; did you mean "math"'),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(
    run: kofn.Run, selection: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        run.select(**selection)


@pytest.mark.parametrize("selection", [{"tags": ["suite"]}, {"tasks": 2.5}, {"verifiers": [None]}])
def test_selections_of_the_wrong_type(run: kofn.Run, selection: dict[str, Any]) -> None:
    with pytest.raises(ArgumentTypeError):
        run.select(**selection)


# Checks


def test_checks_are_ranked_by_what_they_block(run: kofn.Run) -> None:
    rows = [(row.label, row.required, row.ran, row.passed, row.failed, row.blocked) for row in run.checks()]
    assert rows == [
        ("total", True, 3, 2, 1, 1),
        ("short", True, 2, 1, 1, 1),
        ("saved", False, 1, 1, 0, 0),
    ]


def test_only_a_sole_failure_blocks() -> None:
    both = [check("x", False), check("y", False), check("z", False, required=False)]
    alone = [check("x", True), check("y", False), check("z", False, required=False)]
    run = kofn.Run.from_records([{"task": "a", "checks": both}, {"task": "a", "checks": alone}])
    assert [(row.label, row.blocked) for row in run.checks()] == [("y", 1), ("z", 0), ("x", 0)]


def test_a_label_recorded_both_ways_has_two_rows() -> None:
    run = kofn.Run.from_records(
        [
            {"task": "a", "checks": [check("x", True)]},
            {"task": "a", "checks": [check("x", False, required=False), check("y", True)]},
        ]
    )
    assert sorted((row.label, row.required, row.ran) for row in run.checks()) == [
        ("x", False, 1),
        ("x", True, 1),
        ("y", True, 1),
    ]


def test_the_table_of_checks_goes_to_arrow(run: kofn.Run) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(run.checks())
    assert table.column_names == list(run.checks().COLUMNS)
    assert table["blocked"].to_pylist() == [1, 1, 0]
    assert str(run.checks()).splitlines()[0].split() == table.column_names


# Missing


def missing(records: list[Any], **arguments: Any) -> list[tuple[str, int | None]]:
    return list(kofn.Run.from_records(records).missing(**arguments))


def test_missing_rollouts_by_index(run: kofn.Run) -> None:
    assert list(run.missing()) == [("find", 1), ("absent", 0), ("absent", 1)]
    assert len(run.missing()) == 3
    assert repr(run.missing()) == "<3 missing: ('find', 1), ('absent', 0), ('absent', 1)>"
    assert run.missing(3).counts == {"sum": 1, "sort": 1, "find": 2, "absent": 3}


def test_indices_count_from_the_runs_smallest() -> None:
    assert missing([{"task": "a", "rollout": 1}, {"task": "b", "rollout": 3}], requested=3) == [
        ("a", 2),
        ("a", 3),
        ("b", 1),
        ("b", 2),
    ]


def test_rollouts_without_an_index_are_missing_without_one() -> None:
    assert missing([{"task": "a"}], requested=3) == [("a", None), ("a", None)]


def test_an_index_outside_leaves_it_open_which_are_missing() -> None:
    assert missing([{"task": "a", "rollout": 0}, {"task": "a", "rollout": 9}], requested=3) == [("a", None)]


def test_what_is_missing_needs_a_requested_count() -> None:
    with pytest.raises(ArgumentError, match=r"requested: .*give requested=N"):
        missing([{"task": "a"}])
    with pytest.raises(InputError, match="2 rollouts are recorded, more than the 1 requested"):
        missing([{"task": "a"}, {"task": "a"}], requested=1)
    with pytest.raises(InputError, match="name other tasks"):
        missing([{"task": "a"}], requested={"b": 1})


def test_very_many_missing_rollouts_cost_no_memory() -> None:
    run = kofn.Run.from_records([{"task": "a", "rollout": 1}], requested=2**50)
    assert len(run.missing()) == 2**50 - 1
    assert next(iter(run.missing())) == ("a", 2)


# Threads


def test_several_threads_read_one_run(tmp_path: Path) -> None:
    records = [{"task": f"t{i % 7}", "rollout": i, "score": i / 500, "meta": {"i": i}} for i in range(500)]
    (tmp_path / "run.jsonl").write_bytes(contents(*records))
    run = kofn.read(tmp_path / "run.jsonl")

    def look(seed: int) -> list[int]:
        order = np.random.default_rng(seed).permutation(500)
        rollouts = run.rollouts(threshold=0.5)
        assert len(run.select(tasks=f"t{seed % 7}")) in {71, 72}
        assert run.report(["mean_score"])["mean_score"].value is not None
        return [rollouts[int(i)].meta["i"] - int(i) for i in order]

    with ThreadPoolExecutor(8) as pool:
        assert all(not any(found) for found in pool.map(look, range(16)))
