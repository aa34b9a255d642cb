"""Sphinx configuration; ``make docs`` builds into docs/_build."""

import re
import sys
from pathlib import Path

import click

import darrm
from darrm.cli import app as commands

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import links  # noqa: E402

project = "darrm"
author = "The darrm developers"
copyright = "The darrm developers"
version = release = darrm.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "links",
    "sphinx_design",
    "sphinx_click",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
nb_execution_mode = "off"  # notebooks hold their outputs, and `make notebooks` compares them
nb_merge_streams = True
myst_heading_anchors = 4
highlight_language = "text"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_title = f"darrm {release}"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
intersphinx_mapping = links.inventories(HERE / "_build" / "inventories")

# Notebooks live beside docs/, where Jupyter users look for them; here they become pages, beside those they link to.
(HERE / "notebooks").mkdir(exist_ok=True)
for copied in (HERE / "notebooks").iterdir():
    if copied.is_file() and not (HERE.parent / "notebooks" / copied.name).exists():
        copied.unlink()
for notebook in (HERE.parent / "notebooks").glob("*.ipynb"):
    copied = HERE / "notebooks" / notebook.name
    text = notebook.read_text(encoding="utf-8").replace("](../docs/", "](../")
    if not copied.exists() or copied.read_text(encoding="utf-8") != text:
        copied.write_text(text, encoding="utf-8")


def mark_formulas(app, what, name, obj, options, lines):
    """Show the indented formulas of a docstring's opening as they are written, not as quoted prose."""
    sections = [i for i, line in enumerate(lines) if set(line) == {"-"}]
    for i in reversed(range(1, sections[0] if sections else len(lines))):
        if lines[i].startswith("    ") and not lines[i - 1]:
            before = next((line for line in reversed(lines[:i]) if line), "")
            if not before.startswith(" ") and not before.endswith("::"):
                lines[i:i] = ["::", ""]


# What users type, in the help of a command: options, commands, functions, lists such as A1,A2,... or votes:FILE.csv.
PART = r"(?:\.\.\.|\.?[\w-]+(?:\.\w+)*)"
TYPED = re.compile(
    rf"(?<![\w`./-])(?:darrm (?:{'|'.join(commands.commands)})\b(?: --\w[\w-]*| create\b)*|darrm(?:\.\w+)+|--\w[\w-]*"
    rf"|{PART}(?:(?:,|:|/|://){PART})+|\w*\.(?:csv|html|jsonl?|lp|mps|parquet)\b)"
)


def show_help(app, context, lines):
    """Show help as the terminal does: what users type as code, and what is marked to keep its lines as a block."""
    marked = [line.startswith("| ") for line in lines]
    for i in reversed(range(len(lines))):
        if not marked[i]:
            lines[i] = TYPED.sub(r"``\g<0>``", lines[i])
        else:
            lines[i] = "    " + lines[i][2:]
            if i == 0 or not marked[i - 1]:
                lines[i:i] = ["::", ""]


def show_options(app, context, lines):
    """Show options with the placeholders and defaults of the terminal, which the extension rewrites."""
    lines.clear()
    for option in context.command.params:
        if isinstance(option, click.Option) and not option.hidden:
            typed, text = option.get_help_record(context)
            lines += [f".. option:: {typed}", "", "    " + TYPED.sub(r"``\g<0>``", text), ""]


def setup(app):
    app.connect("autodoc-process-docstring", mark_formulas, priority=100)
    for part in ("description", "epilog"):
        app.connect(f"sphinx-click-process-{part}", show_help)
    app.connect("sphinx-click-process-options", show_options)
    # The usage names the arguments; the extension would say no more than whether each is required.
    app.connect("sphinx-click-process-arguments", lambda app, context, lines: lines.clear())


exclude_patterns = ["_build", "joss"]  # the paper for a journal has another format
nitpicky = False
