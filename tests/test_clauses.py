"""Every clause has a test, every mark names a clause, and the committed table says so."""

from __future__ import annotations

import clauses


def test_every_clause_is_tested() -> None:
    found = clauses.collected()
    assert [clause for clause in clauses.CLAUSES if not found[clause]] == []
    assert set(found) == set(clauses.CLAUSES)


def test_the_table_is_up_to_date() -> None:
    assert clauses.TABLE.read_text(encoding="utf-8") == clauses.table(), "run `python tests/clauses.py`"
