"""Sphinx configuration: Markdown pages, API reference from docstrings."""

from importlib.metadata import version as installed

project = "whoknows"
author = "The whoknows developers"
copyright = "2026, The whoknows developers"
version = release = installed("whoknows")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "whoknows"
html_sidebars = {"**": []}

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections state the types
napoleon_google_docstring = False
napoleon_use_rtype = False
