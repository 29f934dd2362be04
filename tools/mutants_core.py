"""Mutation test of the Rust core: every mutant in one build, chosen by an environment variable.

The mutants are of the kinds that cargo-mutants makes. It builds each on its own, which takes hours for what takes
minutes here; use it where a second opinion is wanted.

    pip install tree-sitter tree-sitter-rust
    python tools/mutants_core.py policies.rs tally --tests estimates tally kofn_core=policies,tally
    python tools/mutants_core.py policies.rs --only 17,52
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).parents[1]
COPY = Path(os.environ.get("MUTANTS", ROOT / "target/mutants"))
CORE = COPY / "rust/kofn-core"
OPERATORS = {
    "==": ["!="], "!=": ["=="], "<": ["==", ">", "<="], ">": ["==", "<", ">="], "<=": [">"], ">=": ["<"],
    "+": ["-", "*"], "-": ["+", "/"], "*": ["+", "/"], "/": ["%", "*"], "%": ["/", "+"],
    "<<": [">>"], ">>": ["<<"], "&": ["|", "^"], "|": ["&", "^"], "^": ["|", "&"],
}  # fmt: skip
INTEGERS = {f"{sign}{bits}" for sign in "ui" for bits in (8, 16, 32, 64, 128, "size")}
SWITCH = """
/// Which of `count` mutants from `first` on is chosen, from 1; 0 for none of them.
#[inline]
pub(crate) fn mutant(first: u32, count: u32) -> u32 {
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let chosen = *CHOSEN.get_or_init(|| std::env::var("MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(0));
    if chosen >= first && chosen < first + count { chosen - first + 1 } else { 0 }
}
"""
TIMEOUT = 10.0
MEMORY = 4 << 30


@dataclass
class Mutants:
    """What was changed, by number; `unviable` does not compile."""

    unviable: set[str]
    names: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    count: int = 0

    def allot(self, where: str, changes: list[str]) -> tuple[int, list[int]]:
        """Number the changes at one place; return the first number and which of them compile."""
        first = self.count + 1
        viable = []
        for at, change in enumerate(changes, 1):
            self.count += 1
            name = f"{where}: {change}"
            self.names.append(name)
            if name not in self.unviable:
                viable.append(at)
                self.numbers.append(self.count)
        return first, viable


class Rewriter:
    """Rewrites one file so that each place asks which of its mutants is chosen."""

    def __init__(self, file: str, source: bytes, mutants: Mutants) -> None:
        self.file, self.source, self.mutants = file, source, mutants
        self.function = ""

    def where(self, node: Node) -> str:
        return f"{self.file}:{node.start_point[0] + 1}:{node.start_point[1] + 1}"

    def text(self, node: Node) -> str:
        """Return a node's text with the mutants of everything within."""
        kind = node.type
        if kind in {
            "const_item",
            "static_item",
            "token_tree",
            "attribute_item",
            "array_type",
            "type_arguments",
        }:
            return self.plain(node)
        if kind in {"mod_item", "function_item"} and b"#[cfg(test)]" in self.before(node):
            return self.plain(node)
        rewrite = getattr(self, f"of_{kind}", None)
        return (rewrite(node) if rewrite else None) or self.within(node)

    def plain(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode()

    def before(self, node: Node) -> bytes:
        sibling, found = node.prev_sibling, b""
        while sibling is not None and sibling.type == "attribute_item":
            found += sibling.text or b""
            sibling = sibling.prev_sibling
        return found

    def within(self, node: Node, replaced: dict[int, str] | None = None) -> str:
        pieces, at = [], node.start_byte
        for child in node.children:
            pieces.append(self.source[at : child.start_byte].decode())
            pieces.append((replaced or {}).get(child.id) or self.text(child))
            at = child.end_byte
        pieces.append(self.source[at : node.end_byte].decode())
        return "".join(pieces)

    def choice(self, node: Node, changes: list[str], values: list[str], value: str) -> str:
        first, viable = self.mutants.allot(self.where(node), changes)
        arms = "".join(
            f"\n{at} => {values[at - 1].replace('/*M*/', f'/*m{first + at - 1}*/')}," for at in viable
        )
        return f"(match crate::mutant({first}, {len(changes)}) {{{arms}\n_ => {value} }})"

    def of_binary_expression(self, node: Node) -> str | None:
        left, operator, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
        op = operator.type
        if self.plain(left).lstrip("(").startswith("|"):
            return None  # the grammar puts a closure's end too early
        a, b = self.text(left), self.text(right)
        if op in {"&&", "||"}:
            other = "||" if op == "&&" else "&&"
            first, viable = self.mutants.allot(self.where(operator), [f"replace {op} with {other}"])
            if not viable:
                return None
            on = f"(crate::mutant({first}, 1) == 1)"
            return f"(((({a}) != {on}) {op} (({b}) != {on})) != {on})"  # De Morgan
        others = OPERATORS.get(op, [])
        return self.choice(
            operator,
            [f"replace {op} with {other}" for other in others],
            [f"(({a}) /*M*/{other} ({b}))" for other in others],
            f"(({a}) {op} ({b}))",
        )

    def of_array_expression(self, node: Node) -> str | None:
        length = node.child_by_field_name("length")
        return self.within(node, {length.id: self.plain(length)}) if length else None

    def of_compound_assignment_expr(self, node: Node) -> str:
        left, operator, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
        others = OPERATORS[operator.type.removesuffix("=")]
        a, b = self.text(left), self.text(right)
        return self.choice(
            operator,
            [f"replace {operator.type} with {other}=" for other in others],
            [f"{{ {a} /*M*/{other}= {b}; }}" for other in others],
            f"{{ {a} {operator.type} {b}; }}",
        )

    def of_unary_expression(self, node: Node) -> str | None:
        operator, operand = node.children[0].type, node.children[-1]
        if operator not in {"!", "-"}:
            return None
        inner = self.text(operand)
        return self.choice(node, [f"delete {operator}"], [f"/*M*/({inner})"], f"({operator}({inner}))")

    def of_match_block(self, node: Node) -> str | None:
        arms = [child for child in node.children if child.type == "match_arm"]
        open_ended = any(self.plain(arm.child_by_field_name("pattern")).strip() == "_" for arm in arms)
        replaced = {arm.id: self.arm(arm, open_ended) for arm in arms}
        return self.within(node, replaced)

    def arm(self, arm: Node, open_ended: bool) -> str:
        pattern = arm.child_by_field_name("pattern")
        guard = pattern.child_by_field_name("condition")
        if guard is not None and guard.type.startswith("let_"):
            return self.within(arm)
        shape = self.plain(pattern) if guard is None else self.plain(pattern.children[0])
        conditions = []
        if open_ended and shape.strip() != "_":
            first, viable = self.mutants.allot(self.where(arm), [f"delete match arm {shape}"])
            conditions += [f"crate::mutant({first}, 1) == 0"] if viable else []
        if guard is not None:
            changes = [f"replace match guard with {value}" for value in ("true", "false")]
            conditions.append(
                self.choice(guard, changes, ["/*M*/true", "/*M*/false"], f"({self.text(guard)})")
            )
        new = f"{shape} if {' && '.join(conditions)}" if conditions else shape
        return self.within(arm, {pattern.id: new})

    def of_function_item(self, node: Node) -> str:
        body, returned = node.child_by_field_name("body"), node.child_by_field_name("return_type")
        name = self.plain(node.child_by_field_name("name"))
        kind = self.plain(returned) if returned else "()"
        values = [] if kind.startswith("impl") or name == "default" else default_values(kind)
        where = f"replace {name} with"
        first, viable = self.mutants.allot(self.where(body), [f"{where} {value}" for value in values])
        arms = "".join(f"\n/*m{first + at - 1}*/ {at} => return {values[at - 1]}," for at in viable)
        head = f"{{ match crate::mutant({first}, {len(values)}) {{ {arms}\n _ => {{}} }}" if viable else "{"
        # What asks which mutant is chosen is no constant.
        replaced = {body.id: head + self.within(body)[1:]}
        replaced |= {
            c.id: self.plain(c).replace("const", " ") for c in node.children if c.type == "function_modifiers"
        }
        return self.within(node, replaced)


def default_values(kind: str) -> list[str]:
    """Return what a function of this type may return instead."""
    kind = " ".join(kind.split())
    if kind == "()":
        return ["()"]
    if kind == "bool":
        return ["true", "false"]
    if kind in INTEGERS:
        return ["0", "1", "-1"] if kind.startswith("i") else ["0", "1"]
    if kind == "f64":
        return ["0.0", "1.0", "-1.0"]
    if kind == "String":
        return ["String::new()", '"xyzzy".into()']
    if re.fullmatch(r"&('\w+ )?(str)", kind):
        return ['""', '"xyzzy"']
    if inner := re.fullmatch(r"Option<(.*)>", kind):
        return ["None", *(f"Some({value})" for value in default_values(inner[1]))]
    if inner := re.fullmatch(r"Result<(.*?)(, (Refusal|String|Clash|super::keys::Clash))?>", kind):
        return [f"Ok({value})" for value in default_values(inner[1])]
    if inner := re.fullmatch(r"Vec<(.*)>", kind):
        return ["vec![]", *(f"vec![{value}]" for value in default_values(inner[1]))]
    if kind.startswith("&"):
        return ["&[]"] if "[" in kind else []
    if inner := re.fullmatch(r"\((\w+), (\w+)\)", kind):
        pairs = zip(default_values(inner[1]), default_values(inner[2]), strict=False)
        return [f"({a}, {b})" for a, b in pairs]
    return ["Default::default()"]


def sources(chosen: list[str]) -> list[Path]:
    found = []
    for name in chosen:
        path = ROOT / "rust/kofn-core/src" / name
        found += sorted(set(path.glob("*.rs")) - {path / "tests.rs"}) if path.is_dir() else [path]
    return found


def write(files: list[Path], unviable: set[str]) -> Mutants:
    mutants = Mutants(unviable)
    parser = Parser(Language(tree_sitter_rust.language()))
    for path in files:
        source = path.read_bytes()
        name = str(path.relative_to(ROOT / "rust/kofn-core/src"))
        rewritten = Rewriter(name, source, mutants).text(parser.parse(source).root_node)
        (CORE / "src" / name).write_text(rewritten)
    return mutants


def build(files: list[Path]) -> tuple[Mutants, list[str]]:
    """Compile, leaving out what does not; return the mutants and the test programs."""
    COPY.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(COPY / "rust", ignore_errors=True)
    for name in ("rust", "Cargo.toml", "Cargo.lock"):
        source, target = ROOT / name, COPY / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
    library = CORE / "src/lib.rs"
    library.write_text(
        "#![allow(warnings, arithmetic_overflow, unconditional_panic)]\n" + library.read_text() + SWITCH
    )
    environment = os.environ | {"CARGO_TARGET_DIR": str(COPY / "target"), "CARGO_PROFILE_DEV_DEBUG": "none"}

    def cargo(*words: str) -> tuple[bool, list[dict[str, Any]]]:
        command = ["cargo", *words, "-p", "kofn-core", "--lib", "--tests", "--message-format=json"]
        done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True, check=False)
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return done.returncode == 0, messages

    unviable: set[str] = set()
    while True:
        mutants = write(files, unviable)
        compiles, messages = cargo("check")
        if compiles:
            _, messages = cargo("test", "--no-run")
            return mutants, [m["executable"] for m in messages if m.get("executable")]
        found = blame(messages, mutants)
        if not found:
            sys.exit("".join(m["message"]["rendered"] for m in messages if "message" in m)[:6000])
        unviable |= found


def blame(messages: list[dict[str, Any]], mutants: Mutants) -> set[str]:
    """Return the mutants at which the compiler's errors stand."""
    found = set()
    for message in messages:
        if message.get("reason") != "compiler-message" or message["message"]["level"] != "error":
            continue
        for span in message["message"]["spans"]:
            text = (COPY / span["file_name"]).read_bytes()
            near = re.search(rb"/\*m(\d+)\*/ ?$", text[: span["byte_start"]])
            line = text[text.rfind(b"\n", 0, span["byte_start"]) + 1 : span["byte_end"]]
            markers = [near[1]] if near else re.findall(rb"/\*m(\d+)\*/", line)
            if markers:
                found.add(mutants.names[int(markers[-1]) - 1])
                break
    return found


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def caught(number: int, programs: list[list[str]]) -> str:
    """Run the test programs with one mutant; return how it was noticed, or nothing."""
    environment = os.environ | {
        "MUTANT": str(number),
        "PROPTEST_CASES": os.environ.get("PROPTEST_CASES", "64"),
    }
    environment |= {
        "RUST_BACKTRACE": "0",
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    }
    for program in programs:
        try:
            done = subprocess.run(
                program,
                cwd=CORE,
                env=environment,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
                preexec_fn=limits,
            )
        except subprocess.TimeoutExpired:
            return "timeout"
        if done.returncode != 0:
            return "caught"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--tests", nargs="+", default=["estimates", "tally", "arithmetic", "kofn_core"],
        help="test programs in the order to try, each perhaps with the words of its tests: arithmetic=counts,scores",
    )  # fmt: skip
    given = parser.parse_args()
    mutants, built = build(sources(given.files))
    programs = []
    for name, _, words in (test.partition("=") for test in given.tests):
        programs += [
            [path, *words.split(",")] if words else [path]
            for path in built
            if Path(path).name.startswith(f"{name}-")
        ]
    numbers = [int(n) for n in given.only.split(",") if n] or mutants.numbers
    if how := caught(0, programs):
        sys.exit(f"the tests fail without a mutant ({how})")
    results: dict[str, int] = {}
    started = time.monotonic()
    for number in numbers:
        how = caught(number, programs)
        results[how or "survived"] = results.get(how or "survived", 0) + 1
        if not how:
            print(f"{number}  {mutants.names[number - 1]}", flush=True)
    print(
        f"{len(numbers)} mutants, {mutants.count - len(mutants.numbers)} do not compile; {results}; {time.monotonic() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
