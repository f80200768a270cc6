"""Rows as text, HTML and data frames: what results of the package have in common."""
from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from typing import Any


class Rows:
    """A result with rows of named values. Prints as a table; notebooks show HTML."""

    def _rows_and_title(self) -> tuple[str, list[dict[str, Any]], list[str]]:
        """Title, rows, and lines below them."""
        raise NotImplementedError

    def __str__(self) -> str:
        title, rows, notes = self._rows_and_title()
        return "\n".join([title, *text_table(rows), *notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title, rows, notes = self._rows_and_title()
        return f"<div><p>{html.escape(title)}</p>{html_table(rows)}{''.join(f'<p>{html.escape(n)}</p>' for n in notes)}</div>"


def data_frame(rows: Sequence[dict[str, Any]]) -> Any:
    """A pandas.DataFrame. Raises ImportError where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_dataframe() needs pandas: pip install pandas") from None
    return pandas.DataFrame(list(rows))


def source_of(where: Mapping[str, Any]) -> str:
    """ "model.py:12", relative where that lies below the working directory; the module's path where no line is known."""
    if where.get("line"):
        return f"{where['file'].removeprefix(os.path.join(os.getcwd(), ''))}:{where['line']}"
    return f"module {where['module']}" if where.get("module") else ""


def shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def text_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    names = list(rows[0])
    cells = [names, *[[shown(r.get(n)) for n in names] for r in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    right = [all(isinstance(r.get(n), (int, float, type(None))) for r in rows) for n in names]
    return ["  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)).rstrip() for row in cells]


def html_table(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(n)}</th>" for n in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(shown(v))}</td>" for v in row.values()) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
