"""Which words are ours alone, though the field has one? Lists them in every text that a user meets.

    python tests/tools/words.py [PATH ...] [--count] [--warn]

Takes: seconds.

Read are README.md, CONTRIBUTING.md, SECURITY.md, CHANGELOG.md, docs and notebooks (prose: no code, tables or formulas),
the docstrings of public names, and the texts in the code: errors, help of the command line, words of reports and pages.
Public is what a package exports or the reference lists. Phrases that mislead about privacy are looked for in all of
these files and in the benchmarks, in tables and comments too. It prints the place, the
word with what to say, and the sentence. The exit status is 1 if it finds a sentence.
``--warn`` lists sentences of more than 35 words too: read them aloud; some are right.

The style that no program checks: subject, verb, object; a condition stays in the sentence of its claim; name the actor;
one term per concept; a header is a noun with its unit; the positive statement first, one negation per sentence; privacy
is a property of a mechanism ("X is (epsilon, delta)-DP"); docstrings begin with a verb or a noun and hold alone.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
LONG = 35  # words; longer sentences are listed, and no error
# Words of our own for which the field has one, by the word to say: one term for each concept.
BANNED = {
    "label error rate": r"\bwrong labels?\b|\bhow often (?:\w+ ){1,4}(?:is|are) (?:right|wrong)\b"
    r"|\blabels? (?:is|are) right\b",
    "disagreement rate": r"\bnot the majority\b",
    "privacy budget": r"\ball (?:\w+ )?may cost\b",
    "single-label guarantee": r"\bone label by itself\b|\bone label gives away\b",
    "aggregator": r"\bcollectors?\b"
    r"|\b(?:who|whoever|the one who|the one that) (?:(?:sees|collects) (?:all |the )*votes|collects them)\b",
    "affected": r"\breached (?:voters?|votes?|groups?)\b"
    r"|\b(?:change|record|person|patient)s? (?:may |can )?reach(?:es)?\b",
    "neighbouring data sets": r"\bone change\b|\bon either side\b",
    "randomness": r"\b(?:new|own|exact|real|shared) coin\b|\bcoins\b(?<!fair coins)",
    "trained with DP": r"\bmade private once\b|\bprivacy was given\b",
    "non-private": r"\b(?:voters?|teachers?|models?) (?:that |who )?(?:(?:is|are) )?not private\b|\bwithout privacy\b",
    "output noise, or local noise": r"\bnoise (?:at|in) the (?:labels?|majority|counts?|votes?)\b",
    "noise function, or release probabilities": r"\btables? of (?:the )?noise\b",
    "verify": r"\bwith proof\b|\bjudg(?:e|es|ed|ing)\b",
    "achieve": r"\battain(?:s|ed|ing)?\b",
    "rounded conservatively": r"\ba hair\b",
    "pure-DP epsilon": r"\blargest loss\b",
    "fixed in advance, or fully adaptive": r"\bsettled\b|\balong the way\b",
    "covers": r"\bpay(?:s|ing)? for (?:the |all )?(?:voters|models)\b|\bprices? of the voters\b",
    "Bayes rule with constant gamma": r"\bbest rules?\b",
    "probability": r"\bchances?\b",
    "integer": r"\bwhole numbers?\b",
    "fix": r"\bmend(?:s|ed|ing)?\b|\brepair(?:s|ed|ing)?\b",
    "killed": r"\brefused mistakes?\b",
    "subpackage, or layer": r"\b(?:rooms?|floors?)\b(?! of)",
    "now": r"\bat hand\b",
    "no one": r"\bnobody\b",
    # "X is no number" for "X is not a number"; "there is no default" reads well.
    "is not a": r"(?<!there )\bis no\b(?! (?:longer|more|less|larger|smaller|greater|worse|better)\b)",
    "a noun": r"\bone that\b|\bthose that\b",
    # But in questions and headings.
    "a noun for what is": r"\bwhat is\b(?![^.!]*\?)(?! (?:wrong|certified|assumed|proved)\b)(?!(?: \w+){1,3}$)",
    "states": r"\bsaid\b",
}
# Phrases that mislead about privacy, looked for in tables, comments, headings and benchmarks too.
MISLEADING = {
    "safe side": r"\b(?:un)?safe side\b",  # counted against the guarantee, or rounded conservatively
    "failure probability": r"\bfailure probabilit",  # delta: a larger loss can be more likely than delta
    # Differential privacy bounds the effect of one record, not what somebody learns: say "is (epsilon, delta)-DP".
    "learns at most": r"\b(?:learns?|tells?) (?:\w+ ){0,3}(?:at most|up to)\b|\btells? everybody\b|\bmay learn\b"
    r"|\baggregator learns?\b|\blearns? in all\b",
}
WORD = re.compile(r"[A-Za-z0-9][\w'-]*")
# A sentence ends at a mark with a space behind it; not at "e.g. ", "K. Li", or "..., ".
END = re.compile(r"(?<=[.!?:])[*_)\"']*\s+(?=[*_(\"'`\[]*(?:[A-Z0-9`]|code\b|darrm\b))")
ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|cf|al|Fig|vs|Sec|Dr|[A-Z])|\.\.)\.$")
OPERATORS = re.compile(r" [=<>+*/-] | [<>]= |\^")
FIGURE = re.compile(r"(?<![\w.])\d[\d.,]*(?!\w)")  # a list of names and figures is read as a table
TEXT_WORDS = 4  # a string in the code is a text from this many words on


class Found(NamedTuple):
    """A sentence to rewrite: its file, the line of its paragraph, what is wrong, and the sentence."""

    path: str
    line: int
    wrong: str
    sentence: str


class Paragraph(NamedTuple):
    """Text without markup, and the line where it begins."""

    line: int
    text: str


def sentences(text: str) -> Iterator[str]:
    """Sentences of a paragraph, white space and markup evened out."""
    rest = ""
    for part in END.split(" ".join(text.split())):
        rest = f"{rest} {part}".strip()
        if not ABBREVIATED.search(rest):
            yield rest
            rest = ""
    if rest:
        yield rest


def faults(sentence: str) -> list[str]:
    """Words of our own in a sentence, each with what to say."""
    found = ((say, re.search(pattern, sentence, re.IGNORECASE)) for say, pattern in BANNED.items())
    return [f'"{match[0]}": say {say}' for say, match in found if match]


def long(sentence: str, most: int) -> bool:
    """Whether a sentence has more words than that, and is not a formula or a list of figures."""
    count = len(WORD.findall(sentence))
    formula, figures = len(OPERATORS.findall(sentence)) >= count / 8, len(FIGURE.findall(sentence)) >= count / 5
    return count > most and not formula and not figures


def plain(text: str) -> str:
    """Without formulas, addresses and code, each of which counts as a word."""
    text = re.sub(r"<!--.*?-->", "", text)
    text = re.sub(r"``.+?``|`[^`]+`(?:_\b)?|\$[^$]+\$", "code", text, flags=re.DOTALL)
    text = re.sub(r"\bcode(?:, (?:and |or )?code)+\b", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"https?://\S+", "address", text)


def blocks(lines: Sequence[tuple[int, str]]) -> Iterator[Paragraph]:
    """Paragraphs and items of lists."""
    gathered: list[tuple[int, str]] = []
    for number, line in [*lines, (0, "")]:
        item = re.match(r"\s*(?:[*+-]|\d+[.)])\s+|#+\s|>\s?", line)
        if gathered and (item or not line.strip()):
            yield Paragraph(gathered[0][0], plain("\n".join(text for _, text in gathered)))
            gathered = []
        if line.strip():
            gathered.append((number, line[item.end() :] if item else line))


def of_markdown(text: str) -> Iterator[Paragraph]:
    """Prose of a page: without code, tables, formulas, and directives but notes."""
    kept: list[tuple[int, str]] = []
    fence, prose, in_list, before = "", True, False, ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(`{3,}|:{3,}|\$\$)(.*)", line)
        if mark and not fence and not (mark[1] == "$$" and line.count("$$") > 1):
            fence, prose = mark[1], mark[2].strip().startswith(("{note}", "{warning}", "{tip}", "{admonition}"))
            line = ""
        elif fence and line.strip().startswith(fence):
            fence, prose, line = "", True, ""
        code = line.startswith("    ") and not before.strip() and not in_list
        code = code or (line.startswith("    ") and bool(kept) and kept[-1][1] == "" and not in_list)
        if re.match(r"\s*(?:[*+-]|\d+\.)\s", line) and not code:
            in_list = True
        elif line.strip() and not line.startswith(" "):
            in_list = False
        table = line.lstrip().startswith(("|", "<", "$$", "+--")) or re.match(r"\s*:\w+:|\([\w-]+\)=", line)
        kept.append((number, line if prose and not code and not table else ""))
        before = line
    yield from blocks(kept)


def of_docstring(text: str, first: int) -> Iterator[Paragraph]:
    """Prose of a docstring: without examples, literal blocks, headings and the types of parameters."""
    kept: list[tuple[int, str]] = []
    example, literal = False, False
    lines = text.splitlines()
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        example = line.lstrip().startswith((">>>", "$ ")) or (example and bool(line.strip()))
        literal = bool(kept and kept[-1][1].rstrip().endswith("::")) or (
            literal and (not line or line.startswith("  "))
        )
        names = re.match(r"\s*\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)* : ", line) or re.match(r"\s*\w+$", line)
        heading = re.match(r"\s*(?:-{3,}|\.\. )", line) or re.match(r"\s*-{3,}", below)
        kept.append((first + number, "" if example or literal or names or heading else line))
    yield from blocks(kept)


def of_template(text: str) -> Iterator[Paragraph]:
    """Words of a web page: without tags, styles, scripts, and what is filled in."""
    text = re.sub(r"<(style|script|svg)\b.*?</\1>|{%.*?%}|{#.*?#}", _blank, text, flags=re.DOTALL)
    text = re.sub(r"{{.*?}}", lambda filled: "X" + _blank(filled), text, flags=re.DOTALL)
    text = re.sub(r"</?(?:a|b|i|em|strong|code|sub|sup|span|var|abbr)\b[^>]*>", _blank, text)
    parts, first = re.split(r"(<[^>]*>)", text), 1
    for part in parts:
        if part.strip() and not part.startswith("<"):
            yield Paragraph(first, plain(part))
        first += part.count("\n")


def _blank(found: re.Match[str]) -> str:
    """The line breaks of a match, so that lines keep their numbers."""
    return "\n" * found[0].count("\n")


def exported(stub: Path) -> Iterator[str]:
    """Full names of what the stub of a package imports."""
    for node in _tree(stub).body:
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def public(root: Path) -> set[str]:
    """Full names that packages export, those that the reference lists, and the modules of which it shows the text."""
    listed = {
        name
        for page in (root / "docs").rglob("*.md")
        for name in re.findall(r"^\.\. auto\w+:: (darrm[\w.]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    faces = {name for path in (root / "darrm").rglob("__init__.pyi") for name in exported(path)}
    return listed | faces


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _joined(node: ast.expr) -> str | None:
    """The text of a string; what is filled in is a word."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = (str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _joined(node.left), _joined(node.right)
        return None if left is None and right is None else f"{left or 'X'}{right or 'X'}"
    return None


def _texts(node: ast.AST) -> Iterator[Paragraph]:
    """Strings of some words in the code that are not docstrings, and not keys: those are names, as in JSON."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Dict | ast.Subscript):
        for child in node.values if isinstance(node, ast.Dict) else [node.value]:
            yield from _texts(child)
        return
    if isinstance(node, ast.expr) and (text := _joined(node)) is not None:
        if len(WORD.findall(text)) >= TEXT_WORDS and not text.startswith("import "):
            yield Paragraph(node.lineno, plain(re.sub(r"<[^>]+>", " ", text)))
        return
    for child in ast.iter_child_nodes(node):
        yield from _texts(child)


def of_code(path: Path, module: str, names: set[str], *, commands: bool) -> Iterator[Paragraph]:
    """Docstrings of public names in a module, of a command for every function, and its texts."""
    tree = _tree(path)

    def walk(node: ast.AST, name: str, shown: bool) -> Iterator[Paragraph]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            full = f"{name}.{child.name}"
            visible = not child.name.startswith("_") or child.name == "__call__"
            if (full in names or shown or (commands and child.decorator_list)) and visible:
                yield from docstring(child)
                if isinstance(child, ast.ClassDef):
                    yield from walk(child, full, True)

    def docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Paragraph]:
        if text := ast.get_docstring(node, clean=True):
            yield from of_docstring(text, node.body[0].lineno)

    if module in names or path.name == "__init__.py":
        yield from docstring(tree)
    yield from walk(tree, module, module in names)
    yield from _texts(tree)


def written(path: Path, *kinds: str) -> str:
    """The text of a file; of a notebook only its cells (of some ``kinds``), each line at its number in the file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    lines, end = [""] * (text.count("\n") + 1), 0
    for cell in json.loads(text)["cells"]:
        for line in cell["source"]:
            stored = json.dumps(line, ensure_ascii=False)
            end = text.index(stored, end) + len(stored)
            if not kinds or cell["cell_type"] in kinds:
                lines[text.count("\n", 0, end)] = line.rstrip("\n")
    return "\n".join(lines)


def paragraphs(path: Path, root: Path, names: set[str]) -> Iterator[Paragraph]:
    """All paragraphs of a file that a user meets."""
    if path.suffix in (".md", ".ipynb"):
        yield from of_markdown(written(path, "markdown"))
    elif path.suffix == ".html":
        yield from of_template(path.read_text(encoding="utf-8"))
    else:
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[1:] if parts[0] == "solvers" else parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield from of_code(path, module, names, commands="cli" in parts)


def files(root: Path) -> list[Path]:
    """All that users read: the pages at the root, the documentation, the notebooks, the code."""
    found = [root / page for page in PAGES]
    found += sorted((root / "docs").rglob("*.md")) + sorted((root / "notebooks").glob("*.*"))
    code = [
        path
        for folder in ("darrm", "solvers")
        for kind in ("py", "html")
        for path in (root / folder).rglob(f"*.{kind}")
    ]
    return [path for path in [*found, *sorted(code)] if path.is_file() and "_build" not in path.parts]


def read(root: Path, paths: Sequence[Path] = ()) -> Iterator[Found]:
    """All sentences of the files, or of those under ``paths``, nothing held against them yet."""
    names = public(root)
    for path in files(root):
        if paths and not any(path.is_relative_to(chosen.resolve()) for chosen in paths):
            continue
        shown = path.relative_to(root).as_posix()
        for paragraph in paragraphs(path, root, names):
            yield from (Found(shown, paragraph.line, "", sentence) for sentence in sentences(paragraph.text))


def misleading(root: Path, paths: Sequence[Path] = ()) -> Iterator[Found]:
    """Phrases that mislead about privacy, wherever they stand in a file, over ends of lines and of strings too."""
    searched = [
        *files(root),
        root / "CITATION.cff",
        *sorted((root / "benchmarks").rglob("*.py")),
        *sorted((root / "tests" / "tools").rglob("*.py")),
    ]
    for path in searched:
        if not path.is_file() or path.name == Path(__file__).name:
            continue
        if paths and not any(path.is_relative_to(chosen.resolve()) for chosen in paths):
            continue
        text = written(path)
        for phrase, pattern in MISLEADING.items():
            between = r"(?:\s|[#\"f>])+"  # a line of a comment, string or quotation may end here
            for match in re.finditer(pattern.replace(" ", between), text, re.IGNORECASE):
                line = text.count("\n", 0, match.start()) + 1
                yield Found(path.relative_to(root).as_posix(), line, f'misleading "{phrase}"', match[0])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders [everything]")
    parser.add_argument("--long", type=int, default=LONG, help="words beyond which a sentence is long [%(default)s]")
    parser.add_argument("--warn", action="store_true", help="print long sentences too")
    parser.add_argument("--count", action="store_true", help="print how many there are in each file")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    root = chosen.root.resolve()
    every = list(read(root, chosen.paths))
    found = [one._replace(wrong=", ".join(of)) for one in every if (of := faults(one.sentence))]
    found += misleading(root, chosen.paths)
    if chosen.count:
        for path, count in Counter(one.path for one in found).most_common():
            print(f"{count:5} {path}")
    else:
        for one in found:
            print(f"{one.path}:{one.line}: {one.wrong}: {one.sentence}")
    warned = [one for one in every if long(one.sentence, chosen.long)]
    if chosen.warn:
        for one in warned:
            print(f"{one.path}:{one.line}: {len(WORD.findall(one.sentence))} words: {one.sentence}")
    print(f"{len(found)} sentences to rewrite; {len(warned)} of more than {chosen.long} words", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
