"""Reference of the Python package, from its sources and the stub of the extension: nothing is imported."""

import ast
import dataclasses
import inspect
import pathlib
import re

# The modules that programs import, in the order of the navigation.
MODULES = (
    "tessera", "tessera.results", "tessera.ttnn", "tessera.cnn", "tessera.ncps", "tessera.ncps.wirings", "tessera.nki",
    "tessera.nki.language", "tessera.nki.isa", "tessera.mlx", "tessera.mlx_profile", "tessera.compat",
)  # fmt: skip


@dataclasses.dataclass
class Member:
    name: str
    nodes: list[ast.AST]  # several for overloads
    module: str


class Package:
    """Sources and stubs by the name of their module; where a name is defined is followed through imports."""

    def __init__(self, sources: pathlib.Path, stubs: pathlib.Path) -> None:
        self.files: dict[str, pathlib.Path] = {}
        for root, pattern in ((stubs, "*.pyi"), (sources, "*.py")):
            for path in sorted(root.rglob(pattern)):
                words = ["tessera", *path.relative_to(root).with_suffix("").parts]
                self.files[".".join(words).removesuffix(".__init__")] = path
        self.trees: dict[str, ast.Module] = {}

    def tree(self, module: str) -> ast.Module:
        if module not in self.trees:
            self.trees[module] = ast.parse(self.files[module].read_text(encoding="utf-8"))
        return self.trees[module]

    def definitions(self, module: str) -> dict[str, Member]:
        """What a module defines itself, without what it imports."""
        out: dict[str, Member] = {}
        for node in self.tree(module).body:
            names: list[str] = []
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names = [node.target.id]
            elif isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            for name in names:
                out.setdefault(name, Member(name, [], module)).nodes.append(node)
        return out

    def imports(self, module: str) -> dict[str, tuple[str, str]]:
        """Names that a module imports from the package, each with its module and its name there."""
        out = {}
        package = module if self.files[module].stem == "__init__" else module.rpartition(".")[0]
        for node in ast.walk(self.tree(module)):
            if not isinstance(node, ast.ImportFrom):
                continue
            base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            source = node.module if node.level == 0 else ".".join(filter(None, [base, node.module]))
            if source and source.split(".")[0] == "tessera":
                for alias in node.names:
                    if alias.name == "*" and source in self.files:
                        for name in self.public(source):
                            out[name] = (source, name)
                    else:
                        out[alias.asname or alias.name] = (source, alias.name)
        return out

    def find(self, module: str, name: str) -> Member | None:
        for _ in range(10):
            if module not in self.files:
                return None
            if name in (own := self.definitions(module)):
                return own[name]
            module, name = self.imports(module).get(name, ("", ""))
        return None

    def public(self, module: str) -> list[str]:
        """Names of `__all__`, or every one without an underscore."""
        for node in self.tree(module).body:
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
                try:
                    return list(ast.literal_eval(node.value))
                except ValueError:
                    break
        own = [name for name in self.definitions(module) if not name.startswith("_")]
        return own or sorted(name for name in self.imports(module) if not name.startswith("_"))


def docstring(node: ast.AST) -> str:
    text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) else None
    return markdown(text or "")


def markdown(text: str) -> str:
    """Double backticks become code; angle brackets outside of code do not become HTML."""
    text = inspect.cleandoc(text).replace("``", "`")
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [part.replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_") for part in parts[::2]]
    return "".join(parts)


def annotation(text: str) -> str:
    return re.sub(r"\b(?:tessera\._tessera|_tessera|numpy\.typing|numpy|collections\.abc|typing|os)\.", "", text)


def signature(node: ast.FunctionDef) -> str:
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^(self|cls)(: [^,]+)?(, )?(/(, )?)?", "", arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = annotation(f"{node.name}({arguments}){returns}")
    if len(line) > 96 and arguments:
        depth, pieces, piece = 0, [], ""
        for letter in annotation(arguments):
            depth += (letter in "[({") - (letter in "])}")
            if letter == "," and depth == 0:
                pieces.append(piece.strip())
                piece = ""
            else:
                piece += letter
        pieces.append(piece.strip())
        line = f"{node.name}(\n" + "".join(f"    {each},\n" for each in pieces) + f"){annotation(returns)}"
    return line


def is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id in ("property", "cached_property") for d in node.decorator_list)


def function(nodes: list[ast.FunctionDef], level: int, owner: str = "") -> str:
    name = f"{owner}.{nodes[0].name}" if owner else nodes[0].name
    lines = "\n".join(signature(node) for node in nodes)
    text = next((found for node in nodes if (found := docstring(node))), "")
    return "\n\n".join(filter(None, ["#" * level + f" `{name}`", f"```text\n{lines}\n```", text]))


def class_(node: ast.ClassDef, level: int) -> str:
    bases = [annotation(ast.unparse(base)) for base in node.bases]
    shown = f"class {node.name}" + (f"({', '.join(bases)})" if bases else "")
    parts = ["#" * level + f" `{node.name}`", f"```text\n{shown}\n```", docstring(node)]
    methods: dict[str, list[ast.FunctionDef]] = {}
    fields: list[str] = []
    for position, item in enumerate(node.body):
        if isinstance(item, ast.FunctionDef):
            special = item.name.startswith("_") and item.name not in ("__init__", "__call__")
            setter = any(isinstance(d, ast.Attribute) for d in item.decorator_list)
            if special or setter:
                continue
            if is_property(item):
                kind = annotation(ast.unparse(item.returns)) if item.returns else ""
                fields.append(f"| `{item.name}` | {code(kind)} | {' '.join(docstring(item).split())} |")
            else:
                methods.setdefault(item.name, []).append(item)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_"):
            after = node.body[position + 1] if position + 1 < len(node.body) else None
            words = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            told = " ".join(markdown(str(words)).split()) if isinstance(words, str) else ""
            fields.append(f"| `{item.target.id}` | {code(annotation(ast.unparse(item.annotation)))} | {told} |")
    if fields:
        parts.append("| Attribute | Type | |\n|---|---|---|\n" + "\n".join(fields))
    parts += [function(nodes, level + 1, node.name) for nodes in methods.values()]
    return "\n\n".join(filter(None, parts))


def code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def page(package: Package, module: str) -> str:
    parts = [f"# {module}", docstring(package.tree(module))]
    values = []
    functions, classes = [], []
    for name in package.public(module):
        member = package.find(module, name)
        if member is None:
            continue
        node = member.nodes[0]
        if isinstance(node, ast.ClassDef):
            classes.append(class_(node, 3))
        elif isinstance(node, ast.FunctionDef):
            functions.append(function([n for n in member.nodes if isinstance(n, ast.FunctionDef)], 3))
        elif isinstance(node, ast.AnnAssign):
            values.append(f"| `{name}` | {code(annotation(ast.unparse(node.annotation)))} |")
        else:
            values.append(f"| `{name}` | |")
    for title, members in (("Functions", functions), ("Classes", classes)):
        if members:
            parts += [f"## {title}", *members]
    if values:
        parts += ["## Values", "| Name | Type |\n|---|---|\n" + "\n".join(values)]
    return "\n\n".join(filter(None, parts)) + "\n"


def pages(sources: pathlib.Path, stubs: pathlib.Path) -> dict[str, str]:
    package = Package(sources, stubs)
    modules = [module for module in MODULES if module in package.files]
    index = [
        "# Python",
        "The modules of the package with signatures and docstrings, generated from its sources and stubs.",
        "| Module | |\n|---|---|\n"
        + "\n".join(f"| [{m}]({m}.md) | {docstring(package.tree(m)).partition(chr(10))[0]} |" for m in modules),
    ]
    out = {"reference/python/index.md": "\n\n".join(index) + "\n"}
    for module in modules:
        out[f"reference/python/{module}.md"] = page(package, module)
    return out
