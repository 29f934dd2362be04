"""Views: what a reader sees, and what hostile names cannot do."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from snapshots import NAN, from_snapshot, grouped, snapshot, tasks

from kofn import Run
from kofn.errors import ArgumentError
from kofn.views import FORMS, numbers, table
from kofn.views.text import Style, columns

if TYPE_CHECKING:
    from kofn import Report

TABLE = """\
kofn report: r1

statistic   value   tasks  0                  1
──────────  ─────  ──────  ────────────────────
pass@1      0.333       3  ██████▋·············
pass^5      0.000       3  ····················
mean_score  0.650  2 of 3

source       run.jsonl
policy       score_threshold.v1 (threshold 0.8)
denominator  requested rollouts (how many were requested: declared by the run)
tasks        3
rollouts     15 requested, 13 recorded, 2 missing
status       11 succeeded, 1 errored, 0 cancelled, 1 unfinished
evidence     11 scored, 1 indeterminate, 10 scorable
successes    5 of 15 requested (33.3 %)
registry     5 passed, 5 failed, 2 unscorable
diagnosis    0 reliable, 2 unreliable, 1 incapable, 0 unscorable

task  n  recorded  successes  diagnosis   pass@1  pass^5  mean_score  scored
────  ─  ────────  ─────────  ──────────  ──────  ──────  ──────────  ──────
a     5         5          2  unreliable   0.400   0.000       0.600       5
b     5         5          3  unreliable   0.600   0.000       0.700       5
c     5         3          0  incapable    0.000   0.000           -       0

task   best  worst  spread
────  ─────  ─────  ──────
a     0.850  0.350   0.500
b     0.950  0.450   0.500
c         -      -       -

omitted
  mean_duration  no rollout recorded a duration

notes
  - mean_score is over 2 of 3 tasks
"""

GROUPS = """\
suite     pass@1  pass^5  mean_score  tasks  requested  recorded  missing
────────  ──────  ──────  ──────────  ─────  ─────────  ────────  ───────
math       0.333   0.000   0.650 (2)      3         15        13        2
untagged   0.200       -           -      3         15        13        2
no suite   0.200       -           -      3         15        13        2
all        0.333   0.000   0.650 (2)      3         15        13        2
"""

MARKDOWN = """\
## kofn report: r1

| statistic  | value |  tasks |
| ---------- | ----: | -----: |
| pass@1     | 0.333 |      3 |
| pass^5     | 0.000 |      3 |
| mean_score | 0.650 | 2 of 3 |

- **source**: run.jsonl
- **policy**: score_threshold.v1 (threshold 0.8)
"""


@pytest.fixture(name="report")
def fixture_report() -> Report:
    return from_snapshot(snapshot())


def test_the_table(report: Report) -> None:
    assert table.render(report, per_task=True, style=Style()) == TABLE
    assert "task  n" not in table.render(report, style=Style())


def test_groups_in_the_table() -> None:
    text = table.render(from_snapshot(grouped()), style=Style())
    assert GROUPS in text
    assert "mean_score (untagged)  no rollout recorded a score" in text
    assert "mean_score (no suite)  no rollout recorded a score" in text


def test_figures_of_groups_stand_beside_their_intervals_and_are_never_cut() -> None:
    passed = {"wide-enough-to-be-cut-" * 3: [[0, 1], [1, 1], [0, 0]], "b": [[1, 1]]}
    records = [
        {"task": f"{tag}{i}", "rollout": j, "tags": {"suite": tag}, "passed": bool(it)}
        for tag, tasks in passed.items()
        for i, task in enumerate(tasks)
        for j, it in enumerate(task)
    ]
    report = Run.from_records(records).report(["pass@1", "pass@2", "pass_rate"], by="suite")
    lines = report.render("table").splitlines()
    assert max(map(columns, lines)) <= 80
    group = report.groups["wide-enough-to-be-cut-" * 3]
    for label in report:
        low, high = group[label].interval or (NAN, NAN)
        cell = f"{group[label].value:.3f} [{low:.3f} .. {high:.3f}]"
        assert any(f"{label} [95 %]" in line for line in lines)
        assert sum(cell in line for line in lines) >= 1
    # One task has no interval.
    assert any(line.startswith("b ") and "1.000 [" not in line for line in lines)


def test_markdown(report: Report) -> None:
    text = report.render("markdown", per_task=True)
    assert text.startswith(MARKDOWN)
    assert "### Tasks" in text
    assert "- **mean_duration**: no rollout recorded a duration" in text


def test_csv_is_tidy_and_exact() -> None:
    report = from_snapshot(grouped())
    rows = list(csv.DictReader(io.StringIO(report.render("csv", per_task=True))))
    assert list(rows[0])[:7] == ["group", "task", "kind", "name", "value", "n_tasks", "note"]
    assert list(rows[0])[7:] == ["low", "high", "confidence", "method", "standard_error", "noise"]

    def value(**where: str) -> str:
        (row,) = [row for row in rows if row.items() >= where.items()]
        return row["value"]

    assert value(group="", task="", kind="statistic", name="pass@1") == repr(1 / 3)
    assert value(group="", task="a", kind="statistic", name="pass@1") == "0.4"
    assert value(group="suite=math", task="", kind="count", name="registry.passed") == "5"
    assert value(group="suite", task="d", kind="count", name="n") == "5"
    assert value(kind="context", name="policy") == "score_threshold.v1"
    assert not [row for row in rows if (row["task"], row["name"]) == ("c", "mean_score")]
    assert {row["note"] for row in rows if row["kind"] == "omitted" and not row["group"]} == {
        "no rollout recorded a duration"
    }
    assert "a" not in {row["task"] for row in csv.DictReader(io.StringIO(report.render("csv")))}


class Elements(HTMLParser):
    """Collects elements and text, and checks that they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_can_be_read_aloud() -> None:
    parser = Elements()
    parser.feed(from_snapshot(grouped()).render("html", per_task=True))
    assert parser.open == []
    names = {name for name, _ in parser.seen}
    assert {"caption", "th", "main", "h1", "title"} <= names
    assert not names & {"script", "link", "img", "iframe"}
    assert all("scope" in found for name, found in parser.seen if name == "th")
    assert not any(key in found for _, found in parser.seen for key in ("src", "href", "onload"))
    assert ("html", {"lang": "en"}) in parser.seen
    for text in ("pass^5", "2 of 3", "11 succeeded, 1 errored", "no rollout recorded a duration", "no suite"):
        assert text in parser.text
    assert from_snapshot(snapshot())._repr_html_().startswith('<div class="kofn-report">')


def test_latex(report: Report) -> None:
    text = report.render("latex", per_task=True)
    assert r"pass\textasciicircum{}5 & 0.000 & 3 \\" in text
    assert r"mean\_score & 0.650 & 2 of 3 \\" in text
    assert "11 succeeded, 1 errored" in text
    assert text.count("{") == text.count("}")
    for name in ("table", "tabular", "longtable"):
        assert text.count(f"\\begin{{{name}}}") == text.count(f"\\end{{{name}}}") == 1


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_denominators_and_the_rule(report: Report, form: Any) -> None:
    text = report.render(form).replace("\\_", "_")
    words = ["tasks", "requested", "recorded", "missing", "succeeded", "errored", "scored", "indeterminate"]
    for word in [*words, "score_threshold.v1", "0.8", "pass@1", "mean_duration"]:
        assert word in text, word


@pytest.mark.parametrize("form", FORMS)
def test_every_form_takes_a_report_without_anything(form: Any) -> None:
    empty = snapshot(policy=None, statistics=[], omitted=[], notes=[], counts={"tasks": 0}, tasks=tasks([]))
    assert from_snapshot(empty).render(form, per_task=True)


def test_an_unknown_form_is_refused(report: Report) -> None:
    with pytest.raises(ArgumentError, match="table, markdown, csv, html, latex"):
        report.render("pdf")  # type: ignore[arg-type]


# -- numbers (spec 8.4)


@given(st.floats(0, 1))
def test_rounding_never_reaches_the_ends(value: float) -> None:
    text = numbers.share(value)
    assert (text == "0.000") is (value == 0)
    assert (text == "1.000") is (value == 1)
    bar = table.bar(value, Style())
    assert columns(bar) == 20
    assert (bar == "█" * 20) is (value == 1)
    assert (bar == "·" * 20) is (value == 0)


@given(st.floats(-1e300, 1e300))
def test_any_number_shows_zero_and_one_only_where_they_are(value: float) -> None:
    text = numbers.number(value)
    assert (text == "0.000") is (value == 0)
    assert (text == "1.000") is (value == 1)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.06, abs=0)


@given(st.integers(1, 10**7), st.data())
def test_percents_too(whole: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, whole))
    text = numbers.percent(part, whole)
    assert (text == "0 %") is (part == 0)
    assert (text == "100 %") is (part == whole)
    assert not re.fullmatch(r"0\.0 %|100\.0 %", text)
    if text[0] not in "<>":
        assert abs(float(text[:-2]) - 100 * part / whole) <= 0.0500001


def test_nearly_one_in_every_form() -> None:
    near = snapshot(statistics=[("pass@1", 0.99999, 3), ("coverage", 0.00001, 3), ("mean_score", 0.99999, 3)])
    report = from_snapshot(near)
    for form in ("table", "markdown", "latex", "html"):
        text = report.render(form)
        assert "1.000" not in text
        assert "0.000" not in text
        assert "100" not in text.replace("11", "")
    assert ",0.99999," in report.render("csv")


# -- hostile names

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "line\nbreak\r\ttab",
    "\u202eright to left",
    "\x00\x07\x7f\x9b",
    "a|b|c",
    "<script>alert(1)</script>",
    '"quoted", and comma',
    "日本語のタスク" * 9,
    "e\u0301\u0301\u0301 combining",
    "x" * 500,
    "\\end{document}",
    "[bracket]*star*",
    "\u2028\u2029\x85",
    "👩‍👩‍👧‍👦 family",
    "`code` **bold** @user",
]


def hostile() -> dict[str, Any]:
    size = len(HOSTILE)
    part = tasks(HOSTILE, n=[4] * size, successes=[2] * size, statistics={"pass@1": [0.5] * size})
    return snapshot(
        run={"id": HOSTILE[0], "sources": HOSTILE[:3]},
        tasks=part,
        notes=HOSTILE,
        omitted=[(f"metric_mean:{name}", name) for name in HOSTILE],
        by="\x1b]0;title\x07",
        groups=[(name, snapshot(tasks=part)) for name in HOSTILE[:6]],
    )


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "cp437"])
def test_a_table_stays_a_table(encoding: str, width: int) -> None:
    can = encoding == "utf-8"
    text = table.render(from_snapshot(hostile()), per_task=True, style=Style(encoding, can, width=width))
    text.encode(encoding)
    lines = text.split("\n")
    assert max(map(columns, lines)) <= width
    assert all(line.isprintable() for line in lines)
    assert len([line for line in lines if line.startswith("x" * 6)]) >= 1


def test_bars_and_boxes_need_an_encoding(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    text = str(report)
    assert text.isascii()
    assert "#######" in text
    assert "0.333" in text


def test_colours_only_on_a_terminal_that_wants_them(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Style.of(Terminal()).color
    assert not Style.of(io.StringIO()).color
    colored = table.render(report, per_task=True, style=Style(color=True))
    assert re.sub("\x1b\\[[0-9]+m", "", colored) == TABLE
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Style.of(Terminal()).color
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not Style.of(Terminal()).color
    assert not Style.of(None).color


def test_markdown_and_latex_rows_stay_rows() -> None:
    report = from_snapshot(hostile() | {"by": None, "groups": None})
    text = report.render("markdown", per_task=True)
    rows = text[text.index("### Tasks") :].split("### Omitted")[0].strip().split("\n")[2:]
    assert len(rows) == len(HOSTILE) + 2
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert "<script>" not in text
    assert "`code`" not in text.replace("\\`", "")
    latex = report.render("latex", per_task=True)
    assert "\\end{document}" not in latex
    assert latex.isprintable() is False  # newlines alone
    assert all(line.isprintable() for line in latex.split("\n"))
    assert not re.search(r"^[\[*]", latex, re.MULTILINE)


def test_html_holds_no_markup_of_others() -> None:
    parser = Elements()
    parser.feed(from_snapshot(hostile()).render("html", per_task=True))
    assert parser.open == []
    assert "script" not in {name for name, _ in parser.seen}
    assert "<script>alert(1)</script>" in parser.text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", parser.text)


def test_csv_gives_names_back_as_they_are() -> None:
    rows = csv.DictReader(io.StringIO(from_snapshot(hostile()).render("csv", per_task=True), newline=""))
    assert {row["task"] for row in rows} - {""} == set(HOSTILE)


@given(st.text(max_size=60), st.integers(1, 30), st.booleans())
@example("\u2e80\x1f", 3, True)  # a wide character, and one column left for it
@example("\u2e80\u2e80", 1, True)
def test_text_fits(text: str, width: int, unicode: bool) -> None:
    style = Style("utf-8" if unicode else "ascii", unicode)
    shown = style.show(text)
    assert shown.isprintable()
    assert columns(style.fit(shown, width)) <= width
    wrapped = style.wrap(shown, max(width, 2))
    assert all(columns(line) <= max(width, 2) for line in wrapped)
    assert "".join(wrapped).replace(" ", "") == shown.replace(" ", "")


def test_nan_never_shows() -> None:
    report = from_snapshot(snapshot(tasks=tasks(["a"], n=[1], mean=[NAN], statistics={"pass@1": [NAN]})))
    for form in FORMS:
        assert "nan" not in report.render(form, per_task=True).lower()
