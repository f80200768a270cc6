#!/usr/bin/env python3
"""Writes docs/api.md from the docstrings of the installed package; --check: writes nothing, fails with the difference.

Fails where a public name has no docstring, or an argument is not described.
"""
import difflib
import re
import sys
from pathlib import Path

import griffe

FILE = Path(__file__).resolve().parents[1] / "docs/api.md"
MODULES = ("corten", "corten.quantizer")
HEAD = """# API reference

Written by `tools/api_reference.py` from the docstrings, so `help(corten.compile)` says the same. [python.md](python.md) is the guide.
"""


class Reference:
    def __init__(self):
        self.lines = []
        self.missing = []

    def module(self, name):
        module = griffe.load(name, docstring_parser="google", resolve_aliases=True)
        members = {export: target(module[export]) for export in map(str, module.exports)}
        members = dict(sorted(members.items(), key=lambda entry: entry[1].is_class))  # functions first
        links = [f"[{m}](#{slug(f'{name}.{m}')})" for m in members]
        self.lines += ["", f"**{name}**: {' · '.join(links)}"]
        return [(f"{name}.{m}", obj) for m, obj in members.items()]

    def entry(self, path, obj):
        self.lines += ["", f"## {path}", ""]
        if obj.is_class:
            self.class_(path, obj)
        else:
            self.function(path, obj)

    def class_(self, path, obj):
        public = {n: target(m) for n, m in obj.members.items() if not n.startswith("_") or n == "__call__"}
        bases = [str(b) for b in obj.bases if str(b) not in ("Rows", "object")]
        self.text(f"class {path}" + (f"({', '.join(bases)})" if bases else ""), obj)
        described = {a.name for s in sections(obj) if s.kind is griffe.DocstringSectionKind.attributes for a in s.value}
        fields = {n: m for n, m in public.items() if m.is_attribute and n not in described}
        if fields and not described:
            self.lines += [""]
        for name, field in fields.items():
            self.lines.append(f"- `.{name}`{kind_of(field)}: {one_line(self.doc(f'{path}.{name}', field))}")
        for name, method in public.items():
            if method.is_function:
                short = path.rsplit(".", 1)[1]
                title = f"{short.lower()}(...)" if name == "__call__" else f"{short}.{name}"
                self.lines += ["", f"### {title}", ""]
                self.function(short.lower() if name == "__call__" else f"{short}.{name}", method)

    def function(self, path, obj):
        self.text(path + signature(obj), obj)
        described = {a.name for s in sections(obj) if s.kind is griffe.DocstringSectionKind.parameters for a in s.value}
        for p in parameters(obj):
            if described and p.name.lstrip("*") not in {d.lstrip("*") for d in described}:
                self.missing.append(f"{path}: argument {p.name}")

    def text(self, declared, obj):
        self.doc(obj.path, obj)
        self.lines += ["```python", declared, "```"]
        kinds = griffe.DocstringSectionKind
        for s in sections(obj):
            if s.kind is kinds.text:
                self.lines += ["", s.value]
            elif s.kind in (kinds.parameters, kinds.attributes):
                dot = "." if s.kind is kinds.attributes else ""
                self.lines += ["", *(f"- `{dot}{item.name}`{annotation_of(item, obj)}: {one_line(item.description)}" for item in s.value)]
            elif s.kind is kinds.returns:
                self.lines += ["", f"Returns {one_line(' '.join(r.description for r in s.value))}"]
            elif s.kind is kinds.raises:
                self.lines += ["", *(f"- raises `{item.annotation}`: {one_line(item.description)}" for item in s.value)]
            else:
                raise SystemExit(f"{obj.path}: the reference has no form for a section of {s.kind.value}")

    def doc(self, path, obj):
        if not obj.docstring or not obj.docstring.value.strip():
            self.missing.append(path)
            return ""
        return obj.docstring.value


def target(obj):
    return obj.final_target if obj.is_alias else obj


def sections(obj):
    return obj.docstring.parse("google") if obj.docstring else []


def parameters(obj):
    return [p for p in obj.parameters if p.name != "self" and p.name != "cls"]


def signature(obj):
    """One line where that fits, else an argument per line."""
    words, keyword_only = [], False
    for p in parameters(obj):
        if p.kind is griffe.ParameterKind.keyword_only and not keyword_only:
            keyword_only = True
            if not any(q.kind is griffe.ParameterKind.var_positional for q in obj.parameters):
                words.append("*")
        star = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(p.kind, "")
        default = f" = {p.default}" if p.default is not None and not star else ""
        words.append(star + p.name + (f": {p.annotation}" if p.annotation else "") + default)
    end = f" -> {obj.returns}" if obj.returns else ""
    line = f"({', '.join(words)}){end}"
    return line if len(line) < 90 else "(\n" + "".join(f"    {w},\n" for w in words) + f"){end}"


def annotation_of(item, obj):
    """Types of arguments stand in the signature already."""
    return kind_of(target(obj.members[item.name])) if obj.is_class and item.name in obj.members else ""


def kind_of(field):
    return f" (`{field.annotation}`)" if getattr(field, "annotation", None) else ""


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def slug(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def main():
    reference = Reference()
    reference.lines.append(HEAD.rstrip())
    for path, obj in [entry for name in MODULES for entry in reference.module(name)]:
        reference.entry(path, obj)
    if reference.missing:
        raise SystemExit("no docstring:\n  " + "\n  ".join(reference.missing))
    text = "\n".join(reference.lines) + "\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text)
        return
    before = FILE.read_text() if FILE.exists() else ""
    difference = list(difflib.unified_diff(before.splitlines(True), text.splitlines(True), "docs/api.md", "the docstrings"))
    if difference:
        raise SystemExit("".join(difference) + "docs/api.md is not what the docstrings say: run tools/api_reference.py")


if __name__ == "__main__":
    main()
