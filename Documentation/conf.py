# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Settings of Sphinx for `make html`. No extension needs the network.

project = "kdapl"
copyright = "the authors of kdapl"

# conformance.rst includes these files.
exclude_patterns = ["conformance"]

html_theme = "alabaster"
html_theme_options = {
    "description": "The Direct Access Transport API on Linux",
    "page_width": "72em",
    "body_max_width": "none",
}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_static_path = []
html_copy_source = False
smartquotes = False
highlight_language = "none"
nitpicky = True
