"""The tree of calls as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from autodiff.explanation.call_tree import Call
from autodiff.explanation.svg import tape_as_svg
from autodiff.explanation.text import COLOURS, DEEPEST, costs, heading, remark, runs, signature

if TYPE_CHECKING:
    from autodiff.explanation.report import Explanation

_STYLE = """<style>
.autodiff-explain { font: 13px/1.5 system-ui, sans-serif; }
.autodiff-explain ul { list-style: none; margin: 0; padding-left: 1.4em; }
.autodiff-explain summary { cursor: pointer; }
.autodiff-explain code { font-weight: 600; }
.autodiff-explain .kind { border-radius: 3px; color: #fff; font-size: 11px; padding: 0 5px; }
.autodiff-explain .cost { color: #00695c; }
.autodiff-explain .where { color: #888; }
.autodiff-explain .why { color: #b26a00; }
</style>"""


def page(explanation: Explanation) -> str:
    """Return a page with the tree and the drawing of the tape."""
    title = escape(explanation.root.name)
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        f"<title>{title}</title></head><body>{tree_as_html(explanation)}<div>{tape_as_svg(explanation)}</div></body></html>\n"
    )


def tree_as_html(explanation: Explanation) -> str:
    """Return the tree as an HTML fragment with its own style."""
    reasons = "".join(f"<li class='why'>{escape(reason)}</li>" for reason in explanation.zeros)
    zeros = f"<p>Where derivatives become zero:</p><ul>{reasons}</ul>" if reasons else ""
    return (
        f"{_STYLE}<div class='autodiff-explain'><strong>{escape(heading(explanation))}</strong>"
        f"{_list(explanation.root, explanation.has_memory)}{zeros}</div>"
    )


def _list(call: Call, has_memory: bool, depth: int = 0) -> str:
    if not call.children:
        return ""
    if depth == DEEPEST:
        return "<ul><li>…</li></ul>"
    items = "".join(_item(child, n, has_memory, depth) for child, n in runs(call.children))
    return f"<ul>{items}</ul>"


def _item(call: Call, n: int, has_memory: bool, depth: int) -> str:
    parts = [
        f"<code>{escape(call.name)}</code>{f' ×{n}' if n > 1 else ''}",
        f"<span class='kind' style='background:{COLOURS[call.kind]}'>{call.kind}</span>",
        escape(signature(call)),
        f"<span class='cost'>{escape(costs(call, has_memory))}</span>",
        f"<span class='where'>{escape(call.where)}</span>",
        f"<span class='why'>{escape(remark(call))}</span>",
    ]
    text = " ".join(parts)
    if not call.children:
        return f"<li>{text}</li>"
    below = _list(call, has_memory, depth + 1)
    return f"<li><details open><summary>{text}</summary>{below}</details></li>"
