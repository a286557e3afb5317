"""Sphinx's settings. scripts/docs runs Doxygen and Sphinx with them."""
import pathlib
import re
from xml.etree import ElementTree

from docutils import nodes
from sphinx.util import logging

ROOT = pathlib.Path(__file__).resolve().parent.parent

project = "Strake"
author = "the authors of Strake"
release = re.search(r"project\(\s*\w+\s+VERSION\s+([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)

extensions = ["myst_parser", "breathe"]
exclude_patterns = ["requirements.txt", "profiles"]
suppress_warnings = ["myst.header"]  # a page may begin below another's level

# `[text](page.md#a-heading)` is checked: page and heading must exist.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

breathe_projects = {"strake": str(ROOT / "build" / "docs" / "doxygen" / "xml")}
breathe_default_project = "strake"
breathe_default_members = ("members",)
primary_domain = "cpp"
# Attributes that Sphinx's parser of C++ does not know.
cpp_id_attributes = ["STRAKE_API", "STRAKE_LOCAL", "STRAKE_VIEW_FN"]

html_theme = "furo"
html_title = f"Strake {release}"


def check_api(app):
    """docs/reference/cpp.md shows every class, function and enumeration of the public headers."""
    page = (ROOT / "docs" / "reference" / "cpp.md").read_text()
    shown = set(re.findall(r"^```\{doxygen\w+\} (strake::\w+)", page, re.M))
    for name in sorted(declared(pathlib.Path(breathe_projects["strake"])) - shown):
        logging.getLogger(__name__).warning("reference/cpp.md does not show %s", name)


def declared(xml):
    space = ElementTree.parse(xml / "namespacestrake.xml").getroot()
    names = {inner.text for inner in space.iter("innerclass") if inner.text.count("::") == 1}
    for member in space.iter("memberdef"):
        if member.get("kind") in ("function", "enum", "typedef"):
            names.add("strake::" + member.findtext("name"))
    return names


def drop_titles(app, doctree):
    """Overloads that share a comment are a group without a name; its title would say only that."""
    for title in list(doctree.findall(nodes.rubric)):
        if title.astext() == "Unnamed Group":
            title.parent.remove(title)


def setup(app):
    app.connect("builder-inited", check_api)
    app.connect("doctree-read", drop_titles)
