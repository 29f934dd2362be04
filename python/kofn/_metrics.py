"""The training loop's one call: a report's figures straight from arrays.

The module is private because its public name, `kofn.metrics`, is the function.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal

from kofn import _core, _values
from kofn.errors import ArgumentError, ArgumentTypeError
from kofn.policies import parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kofn.policies import Policy

__all__ = ["metrics"]


def k_list(k: int | Sequence[int] | None) -> list[int]:
    """Return one k or several as a list."""
    if k is None:
        return []
    # NumPy's scalars and 0-D arrays are one number too.
    try:
        values = [k] if _whole(k) is not None or isinstance(k, int) else list(k)
    except TypeError:
        raise ArgumentTypeError(f"k: {_values.shown(k)} is not a whole number, nor a list of them") from None
    found = []
    for value in values:
        number = _whole(value)
        if number is None:
            raise ArgumentError(f"k: {_values.shown(value)} is not a whole number from 1 to 2^53")
        found.append(number)
    return found


def _whole(value: Any) -> int | None:
    """Return a whole number from 1 to 2^53, None for anything else."""
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return None if isinstance(value, bool) or not 1 <= number <= 2**53 else int(number)


def requested_parts(requested: int | Mapping[Any, int] | None) -> int | list[tuple[str, int]] | None:
    """Return requested counts as the core takes them."""
    if requested is None:
        return None
    if not hasattr(requested, "items") or isinstance(requested, int):
        return _requested(requested, "")
    from kofn.rollouts import task_id  # noqa: PLC0415  # a number needs none of it

    found: dict[str, int] = {}
    for task, count in requested.items():
        try:
            name = str(task_id(task))
        except (ArgumentError, ArgumentTypeError) as error:
            raise type(error)(f"requested: {error}") from None
        if name in found:
            raise ArgumentError(f"requested: task {name!r} stands twice, as text and as an integer")
        found[name] = _requested(count, f" of task {_values.shown(task)}")
    return list(found.items())


def _requested(count: Any, where: str) -> int:
    number = _whole(count)
    if number is None:
        raise ArgumentError(f"requested: {_values.shown(count)}{where} is not a whole number from 1")
    return number


def label_list(statistics: str | Sequence[str] | None) -> list[str] | None:
    """Return one label or several as a list."""
    if statistics is None:
        return None
    try:
        labels = [statistics] if isinstance(statistics, str) else list(statistics)
    except TypeError:
        raise ArgumentTypeError(
            f"statistics: {_values.shown(statistics)} is neither a label nor a list of labels"
        ) from None
    return [_values.key(label, "statistics") for label in labels]


def new_tally(
    statistics: str | Sequence[str] | None,
    *,
    k: int | Sequence[int] | None,
    by: str | None,
    policy: Policy,
    chosen: bool,
    requested: int | Mapping[Any, int] | None,
    denominator: str,
    on_short: str,
    part: str | None = None,
    also: Sequence[str] = (),
    cluster: str | None = None,
) -> _core.Tally:
    """Return an empty tally for these arguments, each checked for what the core takes."""
    return _core.Tally(
        label_list(statistics),
        k_list(k),
        None if by is None else _values.key(by, "by"),
        parts(policy),
        chosen,
        requested_parts(requested),
        _values.key(denominator, "denominator"),
        _values.key(on_short, "on_short"),
        None if part is None else _values.key(part, "part"),
        label_list(also) or [],
        None if cluster is None else _values.key(cluster, "cluster"),
    )


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
    if not isinstance(style, str) or style not in {"ascii", "symbols"}:
        raise ArgumentError(f'style: {_values.shown(style)} is not "ascii" or "symbols"')
    prefix = _values.key(prefix, "prefix")
    figures = _core.metrics(
        groups,
        group_size,
        passed,
        scores,
        durations,
        tokens,
        valid,
        threshold,
        statistics,
        k,
        requested,
        denominator,
        by,
        on_short,
        style == "ascii",
    )
    return figures if not prefix else {f"{prefix}{label}": value for label, value in figures.items()}
