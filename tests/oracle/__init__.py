"""A slow, exact reading of the semantics in plain Python: what kofn's reports are judged by.

Nothing here knows how kofn computes. Records are plain dicts in the native form, arithmetic is in fractions, and
each rule cites its clause. `oracle.report` is the door; `oracle.check` says whether a report agrees with it.
"""

from oracle.errors import OracleError, RefusalError
from oracle.records import Rollout, rollouts
from oracle.report import Options, Value, report

__all__ = ["Options", "OracleError", "RefusalError", "Rollout", "Value", "report", "rollouts"]
