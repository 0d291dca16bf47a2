"""The pages of docs/ as the site wants them: links that lead out of docs/ go to pages that show those files."""

import pathlib
import re

# Documents of the repository that are pages of the site too.
DOCUMENTS = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}
NOT_FOUND_BY_SEARCH = "---\nsearch:\n  exclude: true\n---\n\n"
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".py": "python", ".toml": "toml", ".json": "json", ".sh": "sh"}
LINK = re.compile(r"(!?\[[^\]\n]*(?:\n[^\]\n]*)?\]\()([^)#\s]+)(#[^)\s]*)?((?:\s+\"[^\"]*\")?\))")


class Staging:
    """Pages by their path in the site, as text; other files of docs/ (pictures) as bytes."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.pages: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.sources: set[str] = set()

    def add_documents(self) -> None:
        docs = self.root / "docs"
        for path in sorted(docs.rglob("*")):
            if path.is_file():
                place = path.relative_to(docs).as_posix()
                if path.suffix == ".md":
                    self.pages[place] = self.with_links(path, place)
                else:
                    self.files[place] = path.read_bytes()
        for document, place in DOCUMENTS.items():
            if place not in self.pages:
                self.pages[place] = self.with_links(self.root / document, place)
        for source in sorted(self.sources):
            self.pages[f"source/{source}.md"] = self.source_page(source)

    def with_links(self, path: pathlib.Path, place: str) -> str:
        up = "../" * place.count("/")

        def turned(match: re.Match[str]) -> str:
            before, target, anchor, after = match[1], match[2], match[3] or "", match[4]
            if "://" in target or target.startswith("mailto:"):
                return match[0]
            resolved = (path.parent / target).resolve()
            if not resolved.is_relative_to(self.root) or not resolved.exists():
                return match[0]  # the strict build names it
            within = resolved.relative_to(self.root).as_posix()
            if within in DOCUMENTS:
                return f"{before}{up}{DOCUMENTS[within]}{anchor}{after}"
            if within.startswith("docs/"):
                return f"{before}{up}{within.removeprefix('docs/')}{anchor}{after}"
            self.sources.add(within)
            return f"{before}{up}source/{within}.md{after}"

        fences = re.split(r"(^```.*?^```[^\n]*$)", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        fences[::2] = [LINK.sub(turned, part) for part in fences[::2]]
        return "".join(fences)

    def source_page(self, source: str) -> str:
        path = self.root / source
        if path.is_dir():
            names = sorted(f"{p.name}/" if p.is_dir() else p.name for p in path.iterdir() if not p.name.startswith("."))
            return f"{NOT_FOUND_BY_SEARCH}# {source}/\n\n" + "\n".join(f"- `{name}`" for name in names) + "\n"
        text = path.read_text(encoding="utf-8")
        fence = "~~~~"
        return f"{NOT_FOUND_BY_SEARCH}# {path.name}\n\n`{source}`\n\n{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"

    def write(self, folder: pathlib.Path) -> None:
        for place, text in self.pages.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, encoding="utf-8")
        for place, data in self.files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(data)
