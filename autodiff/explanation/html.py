"""The report as HTML: no script, nothing from a network, and the colours of the page around it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from autodiff.explanation.flame import flame_as_svg
from autodiff.explanation.svg import tape_as_svg
from autodiff.explanation.text import COLOURS, DEEPEST, cells, costs, heading, headings, signature
from autodiff.explanation.totals import Row, Total

if TYPE_CHECKING:
    from autodiff.explanation.report import Explanation

_STYLE = """<style>
.autodiff-explain { font: 13px/1.5 system-ui, sans-serif; }
.autodiff-explain ul { list-style: none; margin: 0; padding-left: 1.4em; }
.autodiff-explain summary { cursor: pointer; }
.autodiff-explain code { font-weight: 600; }
.autodiff-explain .kind { border-radius: 3px; color: #fff; font-size: 11px; padding: 0 5px; }
.autodiff-explain .where { opacity: 0.6; }
.autodiff-explain .why { border-bottom: 1px dotted #e65100; }
.autodiff-explain table { border-collapse: collapse; margin: 0.5em 0; }
.autodiff-explain td, .autodiff-explain th { padding: 0 0.8em 0 0; text-align: right; }
.autodiff-explain td:first-child, .autodiff-explain th:first-child { text-align: left; }
</style>"""
_MOST = 20  # rows of a table
_ROWS = 500  # … and of the tree


def page(explanation: Explanation) -> str:
    """Return a page with the report and the drawing of the tape."""
    title = escape(explanation.root.name)
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='color-scheme' content='light dark'>"
        f"<title>{title}</title></head><body>{report_as_html(explanation)}"
        f"<div>{tape_as_svg(explanation)}</div></body></html>\n"
    )


def report_as_html(explanation: Explanation) -> str:
    """Return the tree, the totals and the flame graph as an HTML fragment with its own style."""
    reasons = "".join(f"<li class='why'>{escape(reason)}</li>" for reason in explanation.zeros)
    zeros = f"<p>Where derivatives become zero:</p><ul>{reasons}</ul>" if reasons else ""
    has_memory = explanation.has_memory
    rows = [_ROWS]
    return (
        f"{_STYLE}<div class='autodiff-explain'><strong>{escape(heading(explanation))}</strong>"
        f"{_list(explanation.tree, has_memory, rows)}{zeros}"
        f"<details open><summary>Totals by line</summary>"
        f"{_table('Line', explanation.lines, has_memory)}</details>"
        f"<details><summary>Totals by function</summary>"
        f"{_table('Function', explanation.functions, has_memory)}</details>"
        f"<details open><summary>Flame graph</summary>{flame_as_svg(explanation.tree)}</details>"
        "</div>"
    )


def _table(title: str, totals: list[Total], has_memory: bool) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in headings(title, has_memory))
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in cells(totals[:_MOST], has_memory)
    )
    more = f"<p>{len(totals) - _MOST} more</p>" if len(totals) > _MOST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _list(row: Row, has_memory: bool, left: list[int], depth: int = 0) -> str:
    """Return the children of a row as a list, as long as there are rows left."""
    if not row.children:
        return ""
    if depth == DEEPEST or left[0] <= 0:
        return "<ul><li>…</li></ul>"
    items = []
    for child in row.children:
        if left[0] <= 0:
            items.append("<li>…</li>")
            break
        left[0] -= 1
        items.append(_item(child, has_memory, left, depth))
    return f"<ul>{''.join(items)}</ul>"


def _item(row: Row, has_memory: bool, left: list[int], depth: int) -> str:
    parts = [
        f"<code>{escape(row.name)}</code>{f' ×{row.count}' if row.count > 1 else ''}",
        f"<span class='kind' style='background:{COLOURS[row.kind]}'>{row.kind}</span>",
        escape(signature(row)),
        escape(costs(row, has_memory)),
        f"<span class='where'>{escape(row.where)}</span>",
        f"<span class='why'>{escape(row.note)}</span>" if row.note else "",
    ]
    text = " ".join(part for part in parts if part)
    if not row.children:
        return f"<li>{text}</li>"
    below = _list(row, has_memory, left, depth + 1)
    return f"<li><details open><summary>{text}</summary>{below}</details></li>"
