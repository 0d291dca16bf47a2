#!/usr/bin/env python3
"""Opens reports of plans in a real browser and uses them: no console errors, nothing loaded from elsewhere, sorting,
selecting, keys, light and dark, 1280 pixels and a phone.

    check_plan_page.py [--screenshots DIR] (--tessera PROGRAM | PAGE...)

With --tessera the page is made first, for a small network. Exits 77 where there is no Chromium.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import chromium

SKIPPED = 77
SCREENS = {
    "light": dict(width=1280, height=900),
    "dark": dict(width=1280, height=900, dark=True),
    "phone": dict(width=390, height=844, phone=True),
    "phone_dark": dict(width=390, height=844, phone=True, dark=True),
}

# Words that are seen on a ground that is too like them, as the guidelines for accessibility count it.
CONTRAST = """(() => {
  const light = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const luminance = (rgb) => 0.2126 * light(rgb[0]) + 0.7152 * light(rgb[1]) + 0.0722 * light(rgb[2]);
  const numbers = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c[3] === 1 && !e.matches("i, .bar")) return c;
    }
    return [255, 255, 255, 1];
  };
  const bad = [];
  for (const element of document.querySelectorAll("p, dd, dt, h1, h2, h3, a, li, td, th, summary, button, .row span")) {
    if (!element.textContent.trim() || !element.offsetParent) continue;
    const a = luminance(numbers(getComputedStyle(element).color)), b = luminance(ground(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(bad)];
})()"""

COLUMN = """((name) => {
  const table = document.getElementById("steps-table");
  const at = [...table.tHead.rows[0].cells].findIndex((c) => c.textContent.startsWith(name));
  return { sort: table.tHead.rows[0].cells[at].getAttribute("aria-sort"),
           values: [...table.tBodies[0].rows].map((r) => r.cells[at].dataset.v ?? r.cells[at].textContent) };
})"""

PRESS = """((name) => [...document.querySelectorAll("#steps-table thead button")]
  .find((b) => b.textContent.startsWith(name)))"""


def enter(page, field, value):
    """As if somebody had typed or dragged."""
    page.run(
        f"(() => {{ const f = document.getElementById('{field}'); f.value = {json.dumps(value)};"
        "f.dispatchEvent(new Event('input')); })()"
    )


class Check:
    def __init__(self):
        self.failures = []

    def that(self, holds, what):
        if not holds:
            self.failures.append(what)
            print(f"FAILED: {what}")


def check_sorting(page, check):
    def numbers(name):
        column = page.run(f"{COLUMN}({name!r})")
        return column["sort"], [float(v) for v in column["values"] if v != ""], column["values"]

    page.run(f"{PRESS}('time').click()")
    sort, values, raw = numbers("time")
    down = sort == "descending" and values == sorted(values, reverse=True)
    check.that(down, f"a press on the heading sorts down: {sort} {values[:5]}")
    check.that("" not in raw[: len(values)], "steps without a time come last")
    page.run(f"{PRESS}('time').focus()")
    page.key("Enter")
    sort, values, raw = numbers("time")
    check.that(sort == "ascending" and values == sorted(values), f"Enter on the heading sorts up: {sort} {values[:5]}")
    check.that("" not in raw[: len(values)], "steps without a time come last, sorted up too")
    page.run(f"{PRESS}('node').click()")
    column = page.run(f"{COLUMN}('node')")
    check.that(column["values"] == sorted(column["values"]), "names are sorted")
    page.run(f"{PRESS}('#').click()")
    page.run(f"{PRESS}('#').click()")
    sort, values, _ = numbers("#")
    check.that(values == sorted(values), "and back to the order it runs in")


def check_filter(page, check, steps):
    word = steps[0]["op"]
    expected = page.run(
        "[...document.getElementById('steps-table').tBodies[0].rows]"
        f".filter((r) => r.textContent.toLowerCase().includes({json.dumps(word.lower())})).length"
    )
    enter(page, "filter", word)
    shown = page.run("[...document.getElementById('steps-table').tBodies[0].rows].filter((r) => !r.hidden).length")
    check.that(0 < shown == expected, f"the filter '{word}' leaves {expected} rows, not {shown}")
    enter(page, "filter", "")


def check_selection(page, check, report):
    steps, cores = report["steps"], report["grid"][0] * report["grid"][1]
    title = "document.getElementById('one-title').textContent"
    longest = max(range(len(steps)), key=lambda i: (steps[i]["kernel_ns"], -i))
    check.that(page.run(title) == f"{longest + 1}. {steps[longest]['node']}", "the longest step is shown first")
    last = len(steps) - 1
    page.run(f"document.getElementById('row-{last}').click()")
    check.that(page.run(title).endswith(steps[last]["node"]), "a click on a row selects its step")
    page.run("document.getElementById('graph').focus()")
    page.key("Home")
    check.that(page.run(title).endswith(steps[0]["node"]), "Home selects the first step")
    if last > 0:
        page.key("ArrowDown")
        check.that(page.run(title).endswith(steps[1]["node"]), "the arrow keys go from step to step")
    enter(page, "slider", len(steps))
    check.that(page.run(title).endswith(steps[last]["node"]), "the slider selects a step")
    check.that(page.run("document.querySelectorAll('#cores .cell').length") == cores, f"there are {cores} cores")
    slow = page.run(
        "(() => { const s = document.getElementById('slider'), begin = performance.now();"
        "for (let i = 1; i <= 20; ++i) { s.value = i; s.dispatchEvent(new Event('input')); }"
        "return (performance.now() - begin) / 20; })()"
    )
    check.that(slow < 100, f"selecting a step takes {slow:.0f} ms")
    for i in (longest, 0):
        page.run(f"document.getElementById('row-{i}').click()")
        working = page.run("document.querySelectorAll('#cores .cell.works').length")
        wanted = steps[i]["cores"]
        check.that(working == wanted, f"{working} cores of {steps[i]['node']} are marked, not {wanted}")
        marked = page.run(f"document.querySelectorAll('tr.on[data-step=\"{i}\"], .row.on[data-step=\"{i}\"]').length")
        check.that(marked == 2, "row and table mark the step")
        if steps[i]["fullest"] is not None:
            band = page.run("Number(document.getElementById('l1-band').getAttribute('width'))")
            check.that(band > 0, "L1 marks the step")


def check_page(path, page, check, screenshots):
    for name, screen in SCREENS.items():
        page.show(**screen)
        page.open(path)
        check.that(page.problems == [], f"{name}: the console says {page.problems}")
        check.that(len(page.requests) == 1, f"{name}: asked for {page.requests}")
        wide = page.run("document.documentElement.scrollWidth")
        check.that(wide <= screen["width"], f"{name}: the page is {wide} pixels wide")
        bad = page.run(CONTRAST)
        check.that(bad == [], f"{name}: too little contrast: {bad[:6]}")
        if screenshots:
            for part in ("top", "time", "network", "memory", "steps", "roof", "others"):
                there = f"document.getElementById('{part}').scrollIntoView()"
                page.run("window.scrollTo(0, 0)" if part == "top" else there)
                page.screenshot(screenshots / f"{path.stem}_{name}_{part}.png")
        if name in ("light", "phone"):
            report = json.loads(page.run("document.getElementById('report').textContent"))
            times = page.run(f"{COLUMN}('time')")["values"]
            planned = [step["kernel_ns"] for step in report["steps"]]
            check.that([float(t or 0) for t in times] == planned, "the table has the plan's times")
            check_sorting(page, check)
            check_filter(page, check, report["steps"])
            check_selection(page, check, report)
    check.that(page.problems == [], f"after use the console says {page.problems}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--tessera", type=pathlib.Path, help="makes the page")
    parser.add_argument("--screenshots", type=pathlib.Path, help="folder for pictures of it")
    arguments = parser.parse_args()
    if chromium.find() is None:
        print("skipped: there is no chromium (tools/setup browser)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        pages = list(arguments.pages)
        if arguments.tessera:
            pages.append(pathlib.Path(folder) / "resnet18.html")
            words = ["plan", "resnet18", "--device", "wormhole_n150", "--quiet", "--html", pages[-1]]
            subprocess.run([arguments.tessera, *words], check=True, stdout=subprocess.DEVNULL)
        if arguments.screenshots:
            arguments.screenshots.mkdir(parents=True, exist_ok=True)
        check = Check()
        with chromium.Page() as page:
            for path in pages:
                check_page(path, page, check, arguments.screenshots)
    print(f"pages: {len(pages)}, failures: {len(check.failures)}")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
