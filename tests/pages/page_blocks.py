"""Fenced blocks of the project's pages, what of them is a command, and what is not run for a stated reason."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_RUN = pathlib.Path(__file__).with_name("not_run.txt")

# What a block may be. Those of the first line are run; cpp has to stand in a source file; text is output, or a form.
LANGUAGES = {"sh", "console", "python", "cpp", "toml", "json", "text", "ini", "c", "mermaid"}


def all_pages():
    """README.md, CONTRIBUTING.md and everything below docs/, as paths from the root."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page.relative_to(ROOT) for page in pages]


@dataclasses.dataclass
class Block:
    language: str
    text: str
    line: int  # of the page, where it begins
    prose: str  # the paragraph before it


@dataclasses.dataclass
class Command:
    words: str  # without its comment, continued lines joined
    line: int
    shown: list  # the lines of output that the page shows below it


def read_blocks(page):
    """Fences may be indented, as in lists; the text comes without that."""
    blocks, prose, fence = [], [], None
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        found = re.fullmatch(r"( *)```(\w*).*", line)
        if fence is None and found:
            fence, lines = found, []
            begin = number
        elif fence is not None and found and not found[2]:
            indent = len(fence[1])
            text = "".join(f"{text[indent:] if text[:indent].isspace() else text}\n" for text in lines)
            blocks.append(Block(fence[2], text, begin, "\n".join(prose)))
            prose, fence = [], None
        elif fence is not None:
            lines.append(line)
        else:
            prose.append(line)
    if fence is not None:
        raise ValueError(f"{page}:{begin}: a block that does not end")
    return blocks


def without_comment(line):
    """Shell's: a # at the beginning of a word, outside of quotes."""
    quote = None
    for at, character in enumerate(line):
        if quote:
            quote = None if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (at == 0 or line[at - 1].isspace()):
            return line[:at].rstrip()
    return line.rstrip()


def commands_of(block):
    """Each line of sh; in a console those behind a $ alone, the others being what it printed."""
    out, open_line = [], False
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        text = without_comment(line)
        if open_line:
            out[-1].words = f"{out[-1].words[:-1].rstrip()} {text.strip()}"
        elif block.language == "sh" or line.startswith("$ "):
            words = text[2:] if block.language == "console" else text
            if not words:
                continue
            out.append(Command(words, number, []))
        else:
            if out:
                out[-1].shown.append(line)
            continue
        open_line = out[-1].words.endswith("\\")
    return out


@dataclasses.dataclass
class Exemption:
    pattern: str
    reason: str

    def fits(self, text):
        return re.search(self.pattern, text, re.MULTILINE) is not None


def read_exemptions(path=NOT_RUN):
    """Lines of a pattern and a reason; # and empty lines are for people."""
    out = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        pattern, separator, reason = line.partition("  |  ")
        if not separator or not reason.strip():
            raise ValueError(f"{path.name}:{number}: a pattern, then '  |  ', then the reason")
        out.append(Exemption(pattern.strip(), reason.strip()))
    return out


def exemption_of(text, exemptions):
    return next((e for e in exemptions if e.fits(text)), None)
