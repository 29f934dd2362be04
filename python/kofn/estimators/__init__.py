"""Estimators of one task or of many: from counts of passes, or from scores.

``n`` rollouts of a task were made and ``c`` of them passed; a figure with k says what k of them, drawn without
replacement, are expected to show. Each is the unique unbiased estimator of its figure, and its values are the same to
the last bit here, in reports and in accumulators. Those whose name ends in ``_posterior``, `bayes_at_n` and
`probability_above`, rest on a prior instead: they are model-based, take any k, and are never mixed with the others.
"""

from kofn.estimators.bootstrap import BootstrapMean, bootstrap_mean
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
from kofn.estimators.posterior import (
    at_least_m_of_k_posterior,
    bayes_at_n,
    pass_at_k_posterior,
    pass_hat_k_posterior,
    probability_above,
)
from kofn.estimators.scores import best_of_k, median_of_k, order_statistic_of_k, quantile_of_k, worst_of_k

__all__ = [
    "BootstrapMean",
    "at_least_m_of_k",
    "at_least_m_of_k_posterior",
    "bayes_at_n",
    "best_of_k",
    "bootstrap_mean",
    "exactly_m_of_k",
    "expected_attempts",
    "g_pass_at_k",
    "learnability",
    "median_of_k",
    "mg_pass_at_k",
    "order_statistic_of_k",
    "pass_at_k",
    "pass_at_k_posterior",
    "pass_hat_k",
    "pass_hat_k_posterior",
    "probability_above",
    "quantile_of_k",
    "worst_of_k",
]
