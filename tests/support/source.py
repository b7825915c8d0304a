"""Reads the house's own source: its files, what they import, what their `__all__` promises."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "otpy"


@dataclass(frozen=True, slots=True)
class Import:
    """One imported thing: a whole module, or one name of a `from … import` and what it is called here."""

    module: str
    name: str | None
    alias: str
    line: int
    typing_only: bool


class Module:
    """One file of the package, parsed once."""

    def __init__(self, name: str, source: str, *, is_package: bool = False) -> None:
        """Parse it; `name` is dotted, as `otpy.core.spec`."""
        self.name = name
        self.is_package = is_package
        self.tree = ast.parse(source)

    @cached_property
    def imports(self) -> list[Import]:
        """Everything it imports, at any depth."""
        return list(self._walk(self.tree, typing_only=False))

    @property
    def exported(self) -> list[str] | None:
        """The names in its `__all__`, or None without one."""
        for node in self.tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                    return [str(name) for name in ast.literal_eval(value)]
        return None

    @property
    def defined(self) -> set[str]:
        """Its own public classes and functions."""
        kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        return {node.name for node in self.tree.body if isinstance(node, kinds) and not node.name.startswith("_")}

    @property
    def bound(self) -> set[str]:
        """Every name its top level binds, public or not."""
        stored = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and _is_store(node)}
        return self.defined | stored | {item.alias for item in self.imports}

    @property
    def contents(self) -> set[str]:
        """What a reader would call public in it: definitions, and in a package's front door what it brings in."""
        if not self.is_package:
            return self.defined
        brought = {item.alias for item in self.imports if item.name and item.module.startswith("otpy")}
        return self.defined | {name for name in brought if not name.startswith("_")}

    def _walk(self, node: ast.AST, *, typing_only: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Import(names=names):
                    yield from (Import(item.name, None, _alias(item), child.lineno, typing_only) for item in names)
                case ast.ImportFrom(names=names):
                    base = self._base(child)
                    yield from (Import(base, item.name, _alias(item), child.lineno, typing_only) for item in names)
                case ast.If(test=test) if ast.unparse(test).endswith("TYPE_CHECKING"):
                    yield from self._walk(child, typing_only=True)
                case _:
                    yield from self._walk(child, typing_only=typing_only)

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        kept = parts[: len(parts) - node.level + 1]
        return ".".join([*kept, node.module] if node.module else kept)


@cache
def house() -> dict[str, Module]:
    """Every module under `otpy/`, by dotted name."""
    return {module.name: module for module in map(_read, sorted(PACKAGE.rglob("*.py")))}


def tests_that_say(words: str) -> Iterator[tuple[str, ast.Module]]:
    """Each file of tests with these words in it, by its path from the root; only these are parsed."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text()
        if words in source:
            yield str(path.relative_to(ROOT)), ast.parse(source)


def is_called(node: ast.expr, dotted: str) -> bool:
    """Whether an expression is this dotted name; of most the last word tells already that it is not."""
    return isinstance(node, ast.Attribute) and dotted.endswith(f".{node.attr}") and ast.unparse(node) == dotted


def _read(path: Path) -> Module:
    dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return Module(dotted, path.read_text(), is_package=path.name == "__init__.py")


def _alias(item: ast.alias) -> str:
    return item.asname or item.name.partition(".")[0]


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
