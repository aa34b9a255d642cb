"""Sphinx configuration; ``make docs`` builds into docs/_build."""

import darrm

project = "darrm"
author = "The darrm developers"
copyright = "The darrm developers"
version = release = darrm.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"darrm {release}"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
exclude_patterns = ["_build"]
nitpicky = False
