"""Two runs against each other on the same tasks: differences, how sure they are, and what they come to."""

from kofn.comparisons.comparison import Comparison
from kofn.comparisons.difference import Difference
from kofn.comparisons.many import Comparisons, compare_many
from kofn.comparisons.runs import compare

__all__ = ["Comparison", "Comparisons", "Difference", "compare", "compare_many"]
