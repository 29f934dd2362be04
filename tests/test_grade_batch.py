"""Batches of grades: the answers of the object form, from any layout, type and output (spec 2.7)."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kofn import Check, GradeBatch, grade, grade_batch
from kofn.errors import ArgumentError, ArgumentTypeError, GradingError, KofnError

ROLLOUTS = st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20), max_size=12)


def flat(rollouts: list[list[tuple[bool, bool]]]) -> tuple[Any, Any, Any]:
    flags = [flag for rollout in rollouts for flag in rollout]
    passed = np.array([p for p, _ in flags], dtype=bool)
    required = np.array([r for _, r in flags], dtype=bool)
    return passed, required, np.cumsum([0, *map(len, rollouts)])


def assert_as_objects(batch: GradeBatch, rollouts: list[list[tuple[bool, bool]]]) -> None:
    assert len(batch) == len(rollouts)
    for i, rollout in enumerate(rollouts):
        checks = [Check(str(at), p, required=r) for at, (p, r) in enumerate(rollout)]
        if not any(r for _, r in rollout):
            assert (batch.passed[i], batch.n_failed_required[i], batch.indeterminate[i]) == (False, 0, True)
            assert np.isnan(batch.reward[i])
            continue
        single = grade(checks)
        assert (batch.passed[i], batch.reward[i], batch.indeterminate[i]) == (
            single.passed,
            single.reward,
            False,
        )
        assert batch.n_failed_required[i] == len(single.failed_required)
        assert tuple(map(str, batch.failed_required(i))) == single.failed_required


@given(
    ROLLOUTS,
    st.sampled_from([np.int64, np.int32, np.uint64, np.uint32, np.uint8, np.dtype(">i8")]),
    st.sampled_from([bool, np.uint8, np.float32, object]),
)
def test_csr_is_the_object_form(rollouts: list[list[tuple[bool, bool]]], offset: Any, flag: Any) -> None:
    passed, required, offsets = flat(rollouts)
    batch = grade_batch(
        passed.astype(flag), required.astype(flag), offsets.astype(offset), on_ungradable="indeterminate"
    )
    assert_as_objects(batch, rollouts)


@given(arrays.arrays(bool, st.tuples(st.integers(0, 8), st.integers(0, 20))), st.data())
def test_rows_are_the_object_form(passed: Any, data: st.DataObject) -> None:
    rows, columns = passed.shape
    shared = data.draw(arrays.arrays(bool, columns))
    whole = data.draw(arrays.arrays(bool, (rows, columns)))
    for required in (shared, whole):
        full = np.broadcast_to(required, passed.shape)
        rollouts = [
            list(zip(map(bool, p), map(bool, r), strict=True)) for p, r in zip(passed, full, strict=True)
        ]
        batch = grade_batch(passed, required, on_ungradable="indeterminate")
        assert_as_objects(batch, rollouts)
        by_offsets = grade_batch(
            passed.ravel(), full.ravel(), np.arange(rows + 1) * columns, on_ungradable="indeterminate"
        )
        assert by_offsets.reward.tobytes() == batch.reward.tobytes()


@pytest.mark.parametrize(
    "make", [lambda a: a[::2], lambda a: a[::-1], np.asfortranarray], ids=["strided", "reversed", "fortran"]
)
def test_any_layout_in_memory(make: Any) -> None:
    passed = np.random.default_rng(3).random((20, 7)) < 0.6
    required = np.arange(7) < 3
    expected = grade_batch(make(passed).tolist(), required)
    assert np.array_equal(grade_batch(make(passed), required).reward, expected.reward)


def test_contiguous_flags_are_borrowed() -> None:
    for dtype in (bool, np.uint8):
        passed, required = np.zeros(6, dtype), np.ones(6, dtype)
        batch = grade_batch(passed, required, [0, 2, 6])
        for lent, kept in zip((passed, required), batch._flags, strict=False):
            assert np.shares_memory(lent, kept)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([True, None], "None"),
        (["true", "false"], "dtype"),
        ([1.0, 0.3], "0.3"),
        ([1.0, np.nan], "nan"),
        ([1, 2], "entry 1 is 2"),
        (np.array([1, 2], np.uint8), "entry 1 is 2"),
        (np.array([1, 7], np.uint8).view(bool), "entry 1 is 7"),
        (np.ma.masked_array([1, 0], mask=[False, True]), "masked"),
        (np.array([1, 0], "datetime64[s]"), "dtype"),
        ([[1], [1, 0]], "offsets"),
        ([1j, 0], "dtype"),
    ],
    ids=str,
)
@pytest.mark.parametrize("argument", ["passed", "required"])
def test_other_values_are_refused(values: Any, word: str, argument: str) -> None:
    arguments = {"passed": [True, True], "required": [True, True]} | {argument: values}
    with pytest.raises((ArgumentError, ArgumentTypeError), match=argument) as error:
        grade_batch(arguments["passed"], arguments["required"], [0, 1, 2])
    assert word in str(error.value)


@pytest.mark.parametrize(
    "offsets",
    [
        [],
        [0],
        [1, 2],
        [0, 1],
        [0, 3],
        [0, 2, 1, 2],
        [0, -1, 2],
        [0.0, 2.0],
        [[0, 2]],
        [False, True],
        2,
        [0, 2**63, 2],
    ],
    ids=str,
)
def test_bad_offsets_are_refused(offsets: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="offset"):
        grade_batch([True, True], [True, True], offsets)


@pytest.mark.parametrize(
    ("passed", "required", "offsets"),
    [
        ([1, 1], [1, 1], None),
        (1, 1, None),
        ([[1, 1]], [1], None),
        ([[1, 1]], [[1], [1]], None),
        ([[1]], [1], [0, 1]),
        ([1, 1], [1], [0, 2]),
        ([[1, 1], [1, 1]], [1, 1, 1, 1], None),
    ],
    ids=str,
)
def test_shapes_that_do_not_fit_are_refused(passed: Any, required: Any, offsets: Any) -> None:
    with pytest.raises(ArgumentError):
        grade_batch(passed, required, offsets)


@pytest.mark.parametrize("bad", [0, 3, 9])
def test_the_ungradable_rollout_is_named(bad: int) -> None:
    required = np.ones((10, 4), bool)
    required[bad] = False
    with pytest.raises(GradingError, match=f"rollout {bad}.*on_ungradable") as error:
        grade_batch(np.ones((10, 4), bool), required)
    assert error.value.index == bad
    with pytest.raises(ArgumentError, match="on_ungradable"):
        grade_batch([[1]], [1], on_ungradable="skip")  # type: ignore[arg-type]


def outputs(rows: int) -> dict[str, Any]:
    dtypes = {"passed": bool, "reward": float, "n_failed_required": np.uint32, "indeterminate": bool}
    return {name: np.full(rows, 1, dtype) for name, dtype in dtypes.items()}


def test_outputs_are_reused() -> None:
    out = outputs(2)
    batch = grade_batch([[0, 1], [1, 1]], [1, 0], out=out)
    assert batch.reward is out["reward"]
    assert out["passed"].tolist() == [False, True]
    assert out["indeterminate"].tolist() == [False, False]
    again = grade_batch([[1, 1], [1, 0]], [1, 0], out=batch)
    assert again.passed is out["passed"]
    assert out["reward"].tolist() == [1.0, 0.5]


def _read_only(out: dict[str, Any]) -> None:
    out["reward"].flags.writeable = False


@pytest.mark.parametrize(
    "spoil",
    [
        lambda out: out.update(reward=np.zeros(3)),
        lambda out: out.update(reward=np.zeros(2, np.float32)),
        lambda out: out.update(reward=np.zeros((2, 1))),
        lambda out: out.update(reward=np.zeros(4)[::2]),
        lambda out: out.update(reward=[0.0, 0.0]),
        lambda out: out.update(passed=out["indeterminate"]),
        lambda out: out.update(extra=np.zeros(2)),
        lambda out: out.pop("passed"),
        _read_only,
    ],
)
def test_outputs_that_do_not_fit_are_refused(spoil: Any) -> None:
    out = outputs(2)
    spoil(out)
    with pytest.raises((ArgumentError, ArgumentTypeError), match="out"):
        grade_batch([[0, 1], [1, 1]], [1, 0], out=out)


def test_inputs_that_overlap_outputs_are_refused() -> None:
    out = outputs(2)
    with pytest.raises(ArgumentError, match=r"passed|out"):
        grade_batch(out["passed"], [1, 1], [0, 1, 2], out=out)


def test_one_output_in_two_threads_is_an_error_or_serial() -> None:
    out = outputs(200_000)
    passed = np.ones((200_000, 4), bool)
    problems: list[BaseException] = []

    def work() -> None:
        try:
            grade_batch(passed, [1, 1, 1, 1], out=out)
        except BaseException as error:  # noqa: BLE001
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(problem, KofnError) for problem in problems), problems


def test_positions_by_any_index() -> None:
    batch = grade_batch([[0, 0, 1], [1, 0, 1]], [1, 1, 0])
    assert [list(batch.failed_required(i)) for i in (0, 1, -1, np.int64(0))] == [[0, 1], [1], [1], [0, 1]]
    for i in (2, -3):
        with pytest.raises(IndexError):
            batch.failed_required(i)


def test_no_rollouts_is_an_empty_batch() -> None:
    for batch in (grade_batch([], [], [0]), grade_batch(np.zeros((0, 3)), [1, 0, 0])):
        assert len(batch) == 0
        assert batch.reward.dtype == float


def test_long_rollouts_are_counted_exactly() -> None:
    size = 100_003
    passed = np.arange(size) % 3 == 0
    batch = grade_batch(passed, np.ones(size, bool), [0, size])
    assert batch.reward[0] == int(passed.sum()) / size
    assert batch.n_failed_required[0] == size - int(passed.sum())
    assert len(list(itertools.islice(batch.failed_required(0), size))) == size - int(passed.sum())
