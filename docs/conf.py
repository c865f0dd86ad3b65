"""Sphinx configuration: Markdown pages, a gallery of executed examples, API reference from docstrings."""

from importlib.metadata import version as installed

project = "whoknows"
author = "The whoknows developers"
copyright = "2026, The whoknows developers"
version = release = installed("whoknows")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
html_theme = "pydata_sphinx_theme"
html_title = "whoknows"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": True, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"]}
html_sidebars = {"index": [], "tutorial": [], "gallery/*": []}  # these need the width
html_static_path = ["_static"]
html_css_files = ["wide.css"]

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections state the types
napoleon_google_docstring = False
napoleon_use_rtype = False

GALLERY = [
    "spammers.py",
    "llm_judges.py",
    "radiologists.py",
    "texts.py",
    "own_classifier.py",
    "digits.py",
    "whom_to_ask.py",
    "million_items.py",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": ".py",  # execute all
    "within_subsection_order": GALLERY.index,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,  # they differ between machines
    "show_signature": False,
}
