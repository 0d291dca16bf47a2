"""Reference of the C++ library: Doxygen reads the installed headers, and its XML becomes a page for each header."""

import itertools
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree

DOXYFILE = """
INPUT = {headers}
STRIP_FROM_PATH = {root}
STRIP_FROM_INC_PATH = {root}
INCLUDE_PATH = {root}
GENERATE_XML = YES
HAVE_DOT = NO
GENERATE_HTML = NO
GENERATE_LATEX = NO
XML_PROGRAMLISTING = NO
OUTPUT_DIRECTORY = {out}
INPUT_FILTER = "python3 {filter}"
EXTRACT_ALL = YES
QUIET = YES
WARNINGS = NO
JAVADOC_AUTOBRIEF = YES
MULTILINE_CPP_IS_BRIEF = NO
AUTOLINK_SUPPORT = NO
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = TSR_API=
EXCLUDE_SYMBOLS = std *::detail *::internal
"""

# Comments of this project are plain ones: those above a declaration and those behind it become Doxygen's.
FILTER = r'''
import re, sys
lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
for i, line in enumerate(lines):
    if re.match(r"\s*// ?(NOLINT|---)", line):
        continue
    if re.match(r"\s*//(?!/)", line):
        end = i
        while end < len(lines) and re.match(r"\s*//", lines[end]):
            end += 1
        if end < len(lines) and lines[end].strip():
            lines[i] = re.sub(r"//", "///", line, count=1)
    elif re.search(r"\S.*;\s+// ", line) or re.search(r"[,}]\s+// ", line):
        lines[i] = re.sub(r"\s// ", " ///< ", line, count=1)
sys.stdout.write("\n".join(lines))
'''


def head_comment(header: pathlib.Path) -> str:
    """The comment that a header begins with, which says what it is about; indented lines of it are code."""
    lines = header.read_text(encoding="utf-8").splitlines()
    comment: list[str] = []
    for line in lines:
        if line.startswith("//"):
            comment.append(line.removeprefix("//").removeprefix(" "))
        elif comment or (line and not line.startswith("#pragma")):
            break
    parts: list[str] = []
    for is_code, group in itertools.groupby(comment, lambda line: line.startswith("  ")):
        text = list(group)
        parts.append("```cpp\n" + "\n".join(text) + "\n```" if is_code else escape(" ".join(text).strip()))
    return "\n\n".join(part for part in parts if part)


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[^.])[.:;](?:\s|$)|\n", text, maxsplit=1)[0]


def words(element: ElementTree.Element | None) -> str:
    """The text of a description, as Markdown."""
    if element is None:
        return ""
    paragraphs = [" ".join("".join(p.itertext()).split()) for p in element.iter("para")]
    return "\n\n".join(escape(p) for p in paragraphs if p)


def escape(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([<*_\[\]|])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def plain(element: ElementTree.Element | None) -> str:
    """Code as it is written here: no blanks inside angle brackets, none before & and *."""
    text = " ".join("".join(element.itertext()).split()) if element is not None else ""
    return re.sub(r" ([&*>])", r"\1", re.sub(r"([&*])(?=\w)", r"\1 ", re.sub(r"< ", "<", text)))


def declaration(member: ElementTree.Element) -> str:
    kind = member.get("kind")
    name = member.findtext("name") or ""
    if kind == "enum":
        values = ", ".join(plain(value.find("name")) for value in member.iter("enumvalue"))
        return f"enum class {name} {{ {values} }};"
    if kind == "typedef":
        return f"using {name} = {plain(member.find('type'))};" if "using" in (member.findtext("definition") or "") else (
            plain(member.find("definition")) + ";"
        )
    prefix = "static " if member.get("static") == "yes" else ""
    parts = [prefix + plain(member.find("type")), name + plain(member.find("argsstring"))]
    line = " ".join(part for part in parts if part).strip().replace("TSR_API ", "")
    if kind == "variable":
        line += f" {plain(member.find('initializer'))}" if member.find("initializer") is not None else ""
    template = member.find("templateparamlist")
    if template is not None:
        kinds = ", ".join(f"{plain(p.find('type'))} {plain(p.find('declname'))}".strip() for p in template.iter("param"))
        line = f"template <{kinds}>\n{line}"
    return line + ";"


def member_text(member: ElementTree.Element) -> str:
    told = "\n\n".join(filter(None, [words(member.find("briefdescription")), words(member.find("detaileddescription"))]))
    return f"```cpp\n{declaration(member)}\n```" + (f"\n\n{told}" if told else "")


def is_shown(member: ElementTree.Element) -> bool:
    return member.get("prot", "public") == "public" and member.get("kind") in ("function", "variable", "enum", "typedef")


def compound(element: ElementTree.Element) -> str:
    """A class or struct with its public members."""
    name = (element.findtext("compoundname") or "").removeprefix("tessera::")
    told = "\n\n".join(filter(None, [words(element.find("briefdescription")), words(element.find("detaileddescription"))]))
    parts = [f"### {element.get('kind')} `{name}`", told]
    members = [member for member in element.iter("memberdef") if is_shown(member)]
    fields = [member for member in members if member.get("kind") == "variable"]
    if fields:
        rows = []
        for field in fields:
            said = " ".join([words(field.find("briefdescription")), words(field.find("detaileddescription"))]).split()
            value = plain(field.find("initializer"))
            shown = f"{plain(field.find('type'))} {field.findtext('name')} {value}".strip().replace("|", "\\|")
            rows.append(f"| `{shown}` | {' '.join(said)} |")
        parts.append("| Field | |\n|---|---|\n" + "\n".join(rows))
    parts += [member_text(member) for member in members if member.get("kind") != "variable"]
    return "\n\n".join(filter(None, parts))


def pages(root: pathlib.Path, scratch: pathlib.Path) -> dict[str, str]:
    listed = (root / "tessera/installed_headers.txt").read_text(encoding="utf-8").splitlines()
    headers = [line.partition("#")[0].strip() for line in listed]
    headers = [header if header.startswith("tessera/") else f"tessera/{header}" for header in headers if header]
    scratch.mkdir(parents=True, exist_ok=True)
    filter_ = scratch / "comments.py"
    filter_.write_text(FILTER, encoding="utf-8")
    doxyfile = DOXYFILE.format(
        headers=" ".join(str(root / header) for header in headers), root=root, out=scratch, filter=filter_
    )
    subprocess.run(["doxygen", "-"], input=doxyfile, text=True, check=True, cwd=root)

    by_header: dict[str, dict[str, list[str]]] = {header: {} for header in headers}
    for path in sorted((scratch / "xml").glob("*.xml")):
        for element in ElementTree.parse(path).getroot().iter("compounddef"):
            kind = element.get("kind")
            if kind in ("class", "struct"):
                header = place(element, root)
                if header in by_header and "<" not in (element.findtext("compoundname") or ""):
                    by_header[header].setdefault("Types", []).append(compound(element))
            elif kind == "namespace":
                for member in element.iter("memberdef"):
                    header = place(member, root)
                    if header in by_header and is_shown(member):
                        title = {"enum": "Enumerations", "function": "Functions"}.get(member.get("kind") or "", "Names")
                        by_header[header].setdefault(title, []).append(member_text(member))

    rows = []
    out = {}
    for header, groups in by_header.items():
        name = header.removeprefix("tessera/").removesuffix(".h").replace("/", "-")
        told = head_comment(root / header)
        parts = [f"# {header.removeprefix('tessera/')}", f"```cpp\n#include <{header}>\n```", told]
        for title in ("Types", "Enumerations", "Functions", "Names"):
            if title in groups:
                parts += [f"## {title}", *groups[title]]
        out[f"reference/cpp/{name}.md"] = "\n\n".join(filter(None, parts)) + "\n"
        rows.append(f"| [`{header}`]({name}.md) | {first_sentence(told)} |")
    index = (
        "# C++\n\nThe headers that programs may include, generated from the headers themselves. "
        "`tessera/tessera.h` includes all of them.\n\n| Header | |\n|---|---|\n" + "\n".join(rows) + "\n"
    )
    return {"reference/cpp/index.md": index, **out}


def place(element: ElementTree.Element, root: pathlib.Path) -> str:
    location = element.find("location")
    file = location.get("file", "") if location is not None else ""
    return file.removeprefix(f"{root}/")
