"""What the oracle raises where kofn must raise too."""

from __future__ import annotations


class OracleError(Exception):
    """The records, the header or the arguments are wrong: no report exists."""


class RefusalError(Exception):
    """Statistics were asked for that cannot be given (spec 4.4, 5.3, 6.1, 6.2): `labels` are those refused."""

    def __init__(self, labels: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(labels)))
        self.labels = labels
