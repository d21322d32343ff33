"""Formulas as MathML, made when the pages are built: they need no script and no network."""

import re
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

DOUBLE_STRUCK = dict(zip("CNQRZ", "ℂℕℚℝℤ", strict=True))


def mathml(formula: str, display: str) -> str:
    """Convert a formula of LaTeX to MathML.

    Browsers do not know the attribute that makes letters double-struck, but they know the letters.
    """
    text = latex2mathml.converter.convert(formula, display=display)
    pattern = r'<mi mathvariant="double-struck">(\w)</mi>'
    return re.sub(pattern, lambda found: f"<mi>{DOUBLE_STRUCK[found[1]]}</mi>", text)


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in the line."""
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the writer of formulas."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
