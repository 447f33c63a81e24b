"""How Sphinx builds the site: ``make docs``."""

import os
import sys
from pathlib import Path

from lordclust import __version__

ROOT = Path(__file__).parents[1]
# The gallery's style; read when matplotlib is imported, so set before.
os.environ["MATPLOTLIBRC"] = str(ROOT / "examples" / "matplotlibrc")
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

project = "lordclust"
author = "The lordclust developers"
project_copyright = f"{author}, BSD 3-Clause"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "mathml",
    "plain_docstrings",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
highlight_language = "none"
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings state them
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "reset_modules": (),  # the defaults would undo the style
    "image_srcset": ["2x"],
    "thumbnail_size": (560, 320),
    "within_subsection_order": "gallery_order.StoryOrder",
    "write_computation_times": False,  # they depend on the machine
    "min_reported_time": 3600,
    "download_all_examples": False,
    "remove_config_comments": True,
    "doc_module": ("lordclust",),
    "backreferences_dir": "api/backreferences",
    "log_level": {"backreference_missing": "info"},  # not every name has an example
}

html_theme = "pydata_sphinx_theme"
html_title = "lordclust"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {name: [] for name in ("index", "install")}
