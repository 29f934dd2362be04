"""Estimators of one task or of many: from counts of passes, or from scores.

``n`` rollouts of a task were made and ``c`` of them passed; a figure with k says what k of them, drawn without
replacement, are expected to show. Each is the unique unbiased estimator of its figure, and its values are the same to
the last bit here, in reports and in accumulators.
"""

from kofn.estimators.counts import (
    at_least_m_of_k,
    exactly_m_of_k,
    expected_attempts,
    g_pass_at_k,
    learnability,
    mg_pass_at_k,
    pass_at_k,
    pass_hat_k,
)
from kofn.estimators.scores import best_of_k, median_of_k, order_statistic_of_k, quantile_of_k, worst_of_k

__all__ = [
    "at_least_m_of_k",
    "best_of_k",
    "exactly_m_of_k",
    "expected_attempts",
    "g_pass_at_k",
    "learnability",
    "median_of_k",
    "mg_pass_at_k",
    "order_statistic_of_k",
    "pass_at_k",
    "pass_hat_k",
    "quantile_of_k",
    "worst_of_k",
]
