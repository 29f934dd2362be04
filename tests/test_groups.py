"""Task ids of every kind and layout: the codes and counts are those of a plain dict."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kofn
from kofn.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pa = pytest.importorskip("pyarrow")

# Lengths around every bound of the reader: empty words, half words, views that are inline, long texts, and one that
# shares its ends with another.
TEXTS = [
    *("a", "b", "ab", "ba", "a\0", "abc", "abcd", "a" * 8, "a" * 9, "a" * 12, "a" * 13, "a" * 16, "a" * 17),
    *("é", "日本語", "😀" * 5, "x" * 40, "x" * 20 + "y" + "x" * 19, "z" * 70_000),
]
texts = st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(1, 4)), min_size=1, max_size=80).map(
    lambda runs: [text for text, times in runs for _ in range(times)]
)
far = st.sampled_from([0, 1, -1, 7, 1000, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63)])
integers = st.lists(st.tuples(st.one_of(st.integers(-3, 40), far), st.integers(1, 4)), max_size=80).map(
    lambda runs: [number for number, times in runs for _ in range(times)]
)


def check(groups: Any, ids: Sequence[Any]) -> None:
    """Compare what is made of `groups` with a dict of the ids that they hold."""
    index = kofn.TaskIndex(groups)
    codes: dict[Any, int] = {}
    expected = [codes.setdefault(task, len(codes)) for task in ids]
    assert index.ids == list(codes)
    assert index.codes.tolist() == expected
    passed = np.arange(len(ids)) % 3 == 0
    n, c = kofn.counts(passed, groups=groups)
    assert n.tolist() == [expected.count(code) for code in range(len(codes))]
    assert c.tolist() == [
        sum(bool(p) for p, x in zip(passed, expected, strict=True) if x == code) for code in range(len(codes))
    ]
    again = kofn.counts(passed, groups=index)
    assert [again[0].tolist(), again[1].tolist()] == [n.tolist(), c.tolist()]


def arrow_layouts(ids: list[str], cut: int) -> list[Any]:
    plain = pa.array(ids, pa.string())
    padded = pa.array(["before", *ids, "after"], pa.string())
    cut = min(cut, len(ids))
    out = [plain, padded.slice(1, len(ids)), pa.chunked_array([plain[:cut], plain[cut:]], pa.string())]
    for kind in (pa.large_string(), pa.string_view()):
        out += [plain.cast(kind), padded.cast(kind).slice(1, len(ids))]
    # A dictionary holds values that no row has, one of them twice, in an order of its own.
    values = pa.array([*sorted(set(ids), reverse=True), "unused", *set(ids)])
    keys = [values.index(text).as_py() for text in ids]
    for kind in (pa.int16(), pa.uint32(), pa.int64()):
        out.append(pa.DictionaryArray.from_arrays(pa.array(keys, kind), values))
    out.append(
        pa.DictionaryArray.from_arrays(pa.array([0, *keys], pa.int8()), values.cast(pa.large_string()))[1:]
    )
    out.append(pa.chunked_array([out[-1][:cut], out[-1][cut:]]))
    return out


@given(ids=texts, cut=st.integers(0, 80))
def test_texts_in_every_layout(ids: list[str], cut: int) -> None:
    for groups in [ids, np.array(ids, object), *arrow_layouts(ids, cut)]:
        check(groups, ids)


@given(ids=integers, step=st.sampled_from([1, 2, -1]))
def test_integers_in_every_layout(ids: list[int], step: int) -> None:
    for groups in [ids, np.array(ids, np.int64), pa.array(ids, pa.int64())]:
        check(groups, ids)
    check(np.array(ids, np.int64)[::step], ids[::step])
    small = [task % 100 for task in ids]
    for dtype in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">i8"]:
        check(np.array(small, dtype), small)


def test_many_ids_of_each_kind() -> None:
    numbers = [i * 7919 % 5003 for i in range(20_000)]
    for ids in (numbers, sorted(numbers), [i << 40 for i in numbers]):
        check(np.array(ids), ids)
        names = [f"a rather long name of task {i}" for i in ids]
        check(pa.array(names), names)
        check(names, names)


def test_more_integers_than_64_bits_hold() -> None:
    check([2**64, 1, 2**64, -(2**70)], [2**64, 1, 2**64, -(2**70)])
    check(np.array([2**64 - 1, 0, 2**64 - 1], np.uint64), [2**64 - 1, 0, 2**64 - 1])


class Name(str):
    __slots__ = ()


def test_kinds_of_strings_and_integers() -> None:
    check([Name("a"), "a", np.str_("b")], ["a", "a", "b"])
    check(("b", "a", "b"), ["b", "a", "b"])
    check(np.array(["b", "a", "b"]), ["b", "a", "b"])
    check([np.int8(3), 3, np.uint64(2**64 - 1)], [3, 3, 2**64 - 1])


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        (["a", ""], "groups: entry 1 is empty; a task needs a name"),
        (["a", "\ud800"], "groups: entry 1 is not valid Unicode text"),
        (["a", "\ud800", ""], "groups: entry 1 is not valid Unicode text"),
        (["a"] * 200 + [None], "groups: entry 200 is None; ids are integers or text"),
        (
            ["a", 1],
            "groups: entry 1 is an integer, entries before it are not: ids are all integers or all text",
        ),
        ([1, "a"], "groups: entry 1 is text, entries before it are not: ids are all integers or all text"),
        ([1, True], "groups: entry 1 is True; ids are integers or text"),
        ([1.5], "groups: entry 0 is 1.5; ids are integers or text"),
        (pa.array(["a", None]), "groups: entry 1 is None; ids are integers or text"),
        (pa.array(["a", "", None]), "groups: entry 1 is empty; a task needs a name"),
        (pa.array(["a", ""], pa.string_view()), "groups: entry 1 is empty; a task needs a name"),
        (pa.array(["a", ""]).dictionary_encode(), "groups: entry 1 is empty; a task needs a name"),
        (pa.array(["a", None]).dictionary_encode(), "groups: entry 1 is None; ids are integers or text"),
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
            "groups: entry 1 is None; ids are integers or text",
        ),
        (pa.array([True, False]), "groups: ids are integers or text, not bool"),
        (np.array([1.0, 2.0]), "groups: ids are integers or text, not float64"),
        (np.zeros((2, 1), int), "groups: has 2 dimensions, ids are one a rollout"),
    ],
)
def test_what_is_no_id_is_named(groups: Any, problem: str) -> None:
    for make in (kofn.TaskIndex, lambda ids: kofn.counts([True] * len(ids), groups=ids)):
        with pytest.raises(ArgumentError) as error:
            make(groups)
        assert str(error.value) == problem


@pytest.mark.parametrize(
    "groups", [["a"], [1], np.array([1, 2, 3]), pa.array(["a"]), kofn.TaskIndex([1])], ids=str
)
def test_another_number_of_ids_than_of_rollouts(groups: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^groups: has {len(groups)} entries, there are 2 rollouts$"):
        kofn.counts([True, False], groups=groups)
    with pytest.raises(ArgumentError, match=rf"^groups: has {len(groups)} entries, there are 2 rollouts$"):
        kofn.metrics(passed=[True, False], groups=groups, statistics="pass_rate")


def test_a_rollout_without_a_verdict_is_named() -> None:
    for groups in (["a", "b"], [1, 2], pa.array(["a", "b"]), kofn.TaskIndex([1, 2])):
        with pytest.raises(ArgumentError, match=r"^passed: entry 1 has no verdict"):
            kofn.counts([True, None], groups=groups)


def test_arrow_text_that_is_none() -> None:
    """Bytes that are no UTF-8, and offsets outside their buffer, as a broken producer might send them."""
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"a\xff")]
    )
    with pytest.raises(ArgumentError, match=r"^groups: entry 1 is not valid Unicode text$"):
        kofn.TaskIndex(bad)
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 2, 1], np.int32)), pa.py_buffer(b"ab")]
    )
    with pytest.raises(ArgumentError, match=r"^groups: .*outside its own buffers$"):
        kofn.TaskIndex(bad)
    bad = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a", "b"]), safe=False)
    with pytest.raises(ArgumentError, match=r"^groups: entry 1 is number 7 of a dictionary of 2$"):
        kofn.TaskIndex(bad)


def test_series() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = ["b", "a", "b", "a long name of a task"]
    for groups in (
        pandas.Series(names),
        pandas.Series(names, dtype=object),
        pandas.Series(names, dtype="string"),
        pandas.Series(names, dtype="category"),
        polars.Series(names),
        polars.Series(names, dtype=polars.Categorical),
    ):
        check(groups, names)
    for groups in (
        pandas.Series([3, 1, 3]),
        pandas.Series([3, 1, 3], dtype="Int64"),
        polars.Series([3, 1, 3]),
    ):
        check(groups, [3, 1, 3])
    for groups in (pandas.Series(["a", None]), polars.Series(["a", None])):
        with pytest.raises(ArgumentError, match=r"^groups: entry 1 is "):
            kofn.TaskIndex(groups)


@pytest.mark.parametrize(
    "groups",
    [["a", "b", "a"], [5, -1, 5], np.array([2**64 - 1, 0], np.uint64), [2**70, 1], [], pa.array(["x"] * 3)],
    ids=str,
)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_copies_and_pickles(groups: Any, again: Callable[[kofn.TaskIndex], kofn.TaskIndex]) -> None:
    index = kofn.TaskIndex(groups)
    copied = again(index)
    assert copied.ids == index.ids
    assert copied.codes.tolist() == index.codes.tolist()
    assert repr(copied) == repr(index)
    passed = np.ones(len(index), bool)
    assert [x.tolist() for x in kofn.counts(passed, groups=copied)] == [
        x.tolist() for x in kofn.counts(passed, groups=index)
    ]


def test_a_pickle_that_was_tampered_with() -> None:
    reduced: Any = kofn.TaskIndex(["a", "b"]).__reduce__()
    restore, (ids, _, integers) = reduced
    for bad in (
        (ids, np.array([2], np.uint32), integers),
        (["a", "a"], np.array([1], np.uint32), integers),
        (ids, np.array([0], np.uint32), not integers),
    ):
        with pytest.raises(ArgumentError, match="do not belong"):
            restore(*bad)


def test_bytes_that_only_numpy_calls_true() -> None:
    passed = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    assert kofn.counts(passed, groups=[1, 1, 1, 2])[1].tolist() == [2, 1]
    untouched = np.array([True, False])
    kofn.counts(untouched, groups=[1, 1])
    assert untouched.tolist() == [True, False]
