"""Configuration of the site; ``make docs`` builds it, offline, with warnings as errors."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import reference
from sphinx_gallery.sorting import ExampleTitleSortKey

project = "sfumato"
author = "the sfumato developers"
copyright = author
release = version = importlib.metadata.version("sfumato")

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["templates", "**/GALLERY_HEADER.rst", "sg_execution_times.rst"]
templates_path = ["templates"]

# Links. Types in docstrings are words, such as "array-like", and no links; all other
# references must lead somewhere.
nitpicky = True
nitpick_ignore_regex = [(r"py:(class|obj)", r".*")]
suppress_warnings = ["config.cache"]  # A class that sorts examples cannot be stored.

# Pages in Markdown.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

# The reference, from the docstrings.
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_math_renderer = "mathml"

# The gallery.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    # Programs that need a cluster, or large libraries. It is matched with names, or with paths.
    "ignore_pattern": r"(?:^|/)(?!plot_)[^/]*\.py$",
    "within_subsection_order": ExampleTitleSortKey,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "doc_module": ("sfumato",),
    "backreferences_dir": "gallery/backreferences",
    "reference_url": {"sfumato": None},
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
}

# The look.
html_theme = "pydata_sphinx_theme"
html_title = "sfumato"
html_static_path = ["static"]
html_css_files = ["sfumato.css"]
html_favicon = "static/mark.svg"
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {"index": [], "changelog": [], "cite": []}
html_theme_options = {
    "logo": {"image_light": "static/mark.svg", "image_dark": "static/mark.svg", "text": "sfumato"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "article_header_start": ["breadcrumbs"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}


def setup(app):
    """Write the pages that follow from the code and from the folder, before any is read."""
    app.connect("config-inited", lambda app, config: reference.write(Path(app.srcdir)), 1)
