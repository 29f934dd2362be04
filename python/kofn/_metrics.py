"""The training loop's one call: a report's figures straight from arrays.

The module is private because its public name, `kofn.metrics`, is the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from kofn import _columns, _core
from kofn.errors import ArgumentError
from kofn.policies import parts, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["metrics"]


def k_list(k: int | Sequence[int] | None) -> list[int]:
    """Return one k or several as a list."""
    if k is None:
        return []
    values = [k] if isinstance(k, int) else list(k)
    for value in values:
        if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= value.__index__() <= 2**53:
            raise ArgumentError(f"k: {value!r} is not a whole number from 1 to 2^53")
    return [value.__index__() for value in values]


def requested_parts(requested: int | Mapping[Any, int] | None) -> int | list[tuple[str, int]] | None:
    """Return requested counts as the core takes them."""
    if requested is None:
        return None
    pairs = list(requested.items()) if hasattr(requested, "items") else [(None, requested)]
    for task, count in pairs:
        if isinstance(count, bool) or not hasattr(count, "__index__") or not 1 <= count.__index__() <= 2**53:
            where = "" if task is None else f" of task {task!r}"
            raise ArgumentError(f"requested: {count!r}{where} is not a whole number from 1")
    if not hasattr(requested, "items"):
        return int(pairs[0][1])
    return [(str(task), int(count)) for task, count in pairs]


def label_list(statistics: str | Sequence[str] | None) -> list[str] | None:
    """Return one label or several as a list."""
    if statistics is None:
        return None
    return [statistics] if isinstance(statistics, str) else list(statistics)


def metrics(
    *,
    groups: Any = None,
    group_size: int | None = None,
    passed: Any = None,
    scores: Any = None,
    durations: Any = None,
    tokens: Any = None,
    valid: Any = None,
    threshold: float | None = None,
    statistics: str | Sequence[str] | None = None,
    k: int | Sequence[int] | None = None,
    requested: int | Mapping[Any, int] | None = None,
    denominator: Literal["requested", "recorded", "scorable"] | None = None,
    by: Any = None,
    on_short: Literal["raise", "omit"] = "omit",
    prefix: str = "",
    style: Literal["ascii", "symbols"] = "ascii",
) -> dict[str, float]:
    """Compute a report's figures from arrays, for an experiment tracker.

    Parameters
    ----------
    groups : array_like, shape (R,), or TaskIndex, optional
        The task of each rollout; a `TaskIndex` built once saves the work in every further call.
    group_size : int, optional
        Rollouts of one task stand together, this many each. 2-D columns (one row a task) need neither.
    passed, scores, durations, tokens, valid : array_like, shape (R,) or (T, n), optional
        Verdicts (True, False), scores, wall-clock seconds, input + output tokens, and whether a verdict or score was
        obtained at all. None and NaN mean "not recorded". Where `valid` is False the rollout counts, and its verdict
        and score do not exist: it is no success and not scorable.
    threshold : float, optional
        The score that passes; needed for pass@k and the like where only scores are given.
    statistics, k
        Labels and values for their letter k; default as in `Run.report`.
    requested : int or mapping, optional
        Rollouts requested of each task; missing ones count as no success.
    denominator : {"requested", "recorded", "scorable"}, optional
        What n counts; default: `requested` where it is given, else each group's own count.
    by : array_like, shape (R,), optional
        A value for each rollout, constant within a task; adds ``"value/label"`` for each value.
    on_short : {"omit", "raise"}
        What to do about tasks with fewer than k rollouts.
    prefix : str
        Put before every key.
    style : {"ascii", "symbols"}
        ``pass_at_5`` (trackers reject @ and ^) or ``pass@5``.

    Returns
    -------
    dict of str to float
        Only what is defined: a label that no task produced has no key.

    Raises
    ------
    ArgumentError
        If a column holds what it cannot, shapes differ, or a label or k makes no sense.
    RefusedError
        If successes are asked for and only scores are given without a threshold, or on_short is "raise".

    Examples
    --------
    >>> import kofn
    >>> kofn.metrics(
    ...     passed=[[True, False], [True, True]], statistics=["pass@k", "pass^k"], k=[1, 2], prefix="val/"
    ... )
    {'val/pass_at_1': 0.75, 'val/pass_at_2': 1.0, 'val/pass_hat_1': 0.75, 'val/pass_hat_2': 0.5}
    """
    if style not in {"ascii", "symbols"}:
        raise ArgumentError(f'style: {style!r} is not "ascii" or "symbols"')
    index, columns = _columns.grouped(
        groups,
        group_size,
        {"passed": passed, "scores": scores, "durations": durations, "tokens": tokens, "valid": valid},
    )
    policy, chosen = resolve(None, threshold)
    if len(index) == 0:
        return {}
    figures, views = _core.figures(
        index,
        columns,
        label_list(statistics),
        k_list(k),
        None if by is None else _core.TaskIndex(_columns.array("by", by).reshape(-1)),
        parts(policy),
        chosen,
        requested_parts(requested),
        denominator or ("recorded" if requested is None else "requested"),
        on_short,
    )
    at = 1 if style == "ascii" else 0
    out = {f"{prefix}{figure[at]}": figure[2] for figure in figures}
    for value, view in views:
        out |= {f"{prefix}{value}/{figure[at]}": figure[2] for figure in view}
    return out
