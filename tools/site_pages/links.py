"""Every link and picture of the built site leads to a file of it, and every fragment to an element of that file."""

import html.parser
import pathlib
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.resources: list[str] = []  # what the browser loads without being asked

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.ids.add(value)
            elif value and (name == "src" or (name == "href" and tag in ("a", "link"))):
                self.links.append(value)
                if name == "src" or ("rel", "stylesheet") in attrs:
                    self.resources.append(value)


def broken_links(site: pathlib.Path) -> list[str]:
    """One line for each link that leads nowhere, and for each script or style of another site: pages open without a network.

    Links to other sites are not followed.
    """
    pages: dict[pathlib.Path, Page] = {}
    for path in site.rglob("*.html"):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path] = page
    broken = []
    for path, page in sorted(pages.items()):
        if path.name == "404.html":  # its links are absolute: it is shown under any address
            continue
        broken += [
            f"{path.relative_to(site)}: {link} is loaded from another site"
            for link in page.resources
            if urllib.parse.urlsplit(link).netloc
        ]
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            fragment = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(site)}: {link} leads nowhere")
            elif fragment and target in pages and fragment not in pages[target].ids | {"__top"}:
                broken.append(f"{path.relative_to(site)}: {link}: no such place in {target.relative_to(site)}")
    return broken
