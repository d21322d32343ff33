"""How Sphinx builds the pages: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

from chainrules_core import __version__  # noqa: E402 - found by the line above

project = "ChainRules for Python"
author = "The ChainRules for Python authors"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "absent",
    "constructs",
    "coverage_map",
    "mathml",
    "measured",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "_templates",
    "examples/**/*.py",
    "examples/*.ipynb",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
]
nitpicky = True
# Parameters, and names of other libraries, whose lists of links need a network
nitpick_ignore_regex = [("py:obj", r"(?!autodiff|chainrules).*"), ("py:class", r"numpy\..*")]

# Markdown pages
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Notebooks run when the pages are built
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

# The reference: one page for each public name, from its docstring
autosummary_generate = [str(page) for page in sorted((HERE / "reference").glob("*.rst"))]
autodoc_typehints = "none"
default_role = "autolink"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

# The gallery: the scripts run, and their figures become pictures and thumbnails
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["examples"],
    "filename_pattern": r"/(?!torch_)\w+\.py$",  # PyTorch is too large to build pages with
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "min_reported_time": 60,
}

# The pages
html_theme = "pydata_sphinx_theme"
html_title = project
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["filter.js"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",  # all links and the search in one row
    "secondary_sidebar_items": {  # none beside wide tables
        "**": ["page-toc"],
        **{page: [] for page in ("start/coming-from", "benchmarks", "gradbench", "coverage")},
    },
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {"examples/index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
