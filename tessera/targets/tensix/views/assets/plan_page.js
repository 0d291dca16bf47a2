"use strict";
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const steps = report.steps, l1 = report.l1;
  const byId = (id) => document.getElementById(id);
  const letters = { "DRAM": "D", "L1 interleaved": "I", "height sharded": "H", "width sharded": "W", "block sharded": "B" };
  let selected = -1;

  const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
  const time = (ns) => {
    const units = ["ns", "us", "ms", "s"];
    let u = 0;
    while (ns >= 999.5 && u < 3) { ns /= 1000; ++u; }
    return `${Number(ns.toPrecision(3))} ${units[u]}`;
  };
  // Elements are made, never written as markup: names may hold anything.
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const svg = (tag, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // ---- one step
  const showStep = (step, index) => {
    byId("one-title").textContent = `${index + 1}. ${step.node}`;
    const list = make("dl");
    const line = (name, text) => { if (text) list.append(make("dt", {}, name), make("dd", {}, text)); };
    line("operator", `${step.op}${step.config ? ": " + step.config : ""}`);
    line("result", step.result);
    line("reads", step.reads.join(", "));
    line("types", [step.dtype, step.weights_dtype && `weights ${step.weights_dtype}`, step.fidelity].filter(Boolean).join(", "));
    if (step.kernel_ns > 0) {
      line("time", `${time(step.kernel_ns)}, ${(100 * step.share).toFixed(1)} % of all kernels, bound by ${step.bound_by}; ` +
        `${(100 * step.roof_fraction).toFixed(0)} % of its roof (predicted, ${step.basis})`);
    }
    if (step.pcc !== null) line("PCC", `${step.pcc.toFixed(6)} (simulated)`);
    line("L1", `peak ${count(step.l1_peak_bytes)} B: circular buffers ${count(step.circular_buffer_bytes)}, halo ` +
      `${count(step.halo_bytes)}, result ${count(step.output_bytes)}`);
    for (const move of step.moves) line(move.kind, `${move.value} to ${move.to}, ${time(move.ns)}${move.why ? ": " + move.why : ""}`);
    line("frees", step.frees.join(", "));
    line("chosen", step.why);
    line("note", step.note);
    const others = byId(`alt-${index}`);
    if (others) {
      const link = make("a", { href: `#alt-${index}` }, "what else was weighed");
      link.addEventListener("click", () => { others.open = true; });
      list.append(make("dt", {}, "others"), make("dd", {}, link));
    }
    const busy = make("div", { class: "busy" });
    const parts = Object.entries(step.busy_ns), most = Math.max(1, ...parts.map((p) => p[1]));
    for (const [part, ns] of parts) {
      const fill = make("i", { class: `b-${part}`, style: `width:${100 * ns / most}%` });
      busy.append(make("span", {}, part), make("span", { class: "bar" }, fill), make("span", { class: "n" }, time(ns)));
    }
    byId("one").replaceChildren(list, busy);
  };

  // ---- cores: every cell is a core's L1, circular buffers below, tensors above
  const perCore = (which) => {
    const out = [];
    for (const [cores, percent] of which === null ? [] : report.shares[which]) for (let i = 0; i < cores; ++i) out.push(percent);
    return out;
  };
  const columnWidth = 40, columnHeight = 30, gap = 4;
  let core = 0, showCore = () => {};
  const showCores = (step) => {
    const [columns, rows] = report.grid, works = perCore(step.working);
    const program = step.fullest === null ? null : l1.programs[step.fullest];
    const live = program === null ? [] : l1.buffers.filter((b) => b.first <= step.fullest && step.fullest < b.end && b.kind !== "small")
      .sort((a, b) => b.address - a.address).map((b) => ({ ...b, per: b.shares === null ? null : perCore(b.shares) }));
    const picture = svg("svg", { viewBox: `0 0 ${columns * (columnWidth + gap)} ${rows * (columnHeight + gap)}`, role: "application", tabindex: 0,
      "aria-label": `${step.cores} of ${columns * rows} cores work on ${step.node}; arrow keys choose one` });
    const cells = [], words = [];
    const range = l1.end_address - l1.base_address;
    const y = (address) => columnHeight * (1 - (address - l1.base_address) / range);
    for (let each = 0; each < columns * rows; ++each) {
      const left = each % columns * (columnWidth + gap) + gap / 2, top = Math.floor(each / columns) * (columnHeight + gap) + gap / 2;
      const group = svg("g", { transform: `translate(${left} ${top})` });
      const cell = svg("rect", { class: `cell${works[each] ? " works" : ""}`, width: columnWidth, height: columnHeight, rx: 3 });
      group.append(cell);
      const told = [`core ${each % columns}-${Math.floor(each / columns)}: ${works[each] ? "works" : "idle"}`];
      for (const b of live) {
        const holds = b.per === null ? 100 : b.per[each];
        const height = columnHeight * b.bytes / range;
        const look = b.kind === "working" ? "work" : `p-${letters[b.place]}`;
        group.append(svg("rect", { class: `part thin ${look}`, x: 2, width: columnWidth - 4, y: y(b.address + b.bytes), height }));
        if (holds > 0) group.append(svg("rect", { class: `part ${look}`, x: 2, width: (columnWidth - 4) * holds / 100, y: y(b.address + b.bytes), height }));
        told.push(`${b.value || b.label}: ${count(b.bytes)} B, ${holds} % filled`);
      }
      if (program !== null && program.circular_buffer_bytes > 0 && works[each]) {
        const height = columnHeight * program.circular_buffer_bytes / range;
        group.append(svg("rect", { class: "part cb", x: 2, width: columnWidth - 4, y: columnHeight - height, height }));
        told.push(`circular buffers: ${count(program.circular_buffer_bytes)} B`);
      }
      group.append(svg("title", {}, told.join("\n")));
      group.addEventListener("click", () => showCore(each));
      cells.push(cell);
      words.push(told.join("\n"));
      picture.append(group);
    }
    showCore = (index) => {
      cells[core].classList.remove("at");
      core = index;
      cells[core].classList.add("at");
      byId("core-words").textContent = words[core];
    };
    picture.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      if (core + by >= 0 && core + by < cells.length) showCore(core + by);
    });
    byId("cores").replaceChildren(picture);
    showCore(core);
    let note = `${step.cores} of ${columns * rows} cores work`;
    if (step.cores > 0 && !step.working_known) note += " (which ones the plan does not say: drawn from the first on)";
    if (program !== null) {
      note += `. At the fullest program (${program.op}): circular buffers ${count(program.circular_buffer_bytes)} B, tensors ` +
        `${count(program.tensor_bytes)} B, free ${count(program.free_bytes)} B, of it ${count(program.largest_free_bytes)} B in one piece. ` +
        "Pale: taken in lock step, but nothing lies there.";
    }
    byId("cores-note").textContent = note;
  };

  // ---- L1 over time
  const picture = byId("l1");
  const left = picture ? Number(picture.dataset.left) : 0, pitch = picture ? Number(picture.dataset.pitch) : 1;
  const programWords = (index) => {
    const p = l1.programs[index];
    return `program ${index + 1} of ${l1.programs.length}, ${p.op} for ${steps[p.step] ? steps[p.step].node : "?"}: circular buffers ` +
      `${count(p.circular_buffer_bytes)} B, tensors ${count(p.tensor_bytes)} B, free ${count(p.free_bytes)} B, largest free piece ` +
      `${count(p.largest_free_bytes)} B, L1_SMALL ${count(p.l1_small_bytes)} B`;
  };
  const showBand = (index) => {
    if (!picture) return;
    let first = -1, end = -1;
    l1.programs.forEach((p, i) => { if (p.step === index) { if (first < 0) first = i; end = i + 1; } });
    const band = byId("l1-band");
    band.setAttribute("x", left + pitch * Math.max(first, 0));
    band.setAttribute("width", first < 0 ? 0 : pitch * (end - first));
    const fullest = steps[index].fullest;
    byId("l1-words").textContent = fullest === null ? "" : programWords(fullest);
  };
  if (picture) {
    const programAt = (event) => {
      const box = picture.getBoundingClientRect();
      const at = Math.floor(((event.clientX - box.left) * picture.viewBox.baseVal.width / box.width - left) / pitch);
      return at >= 0 && at < l1.programs.length ? at : -1;
    };
    picture.addEventListener("mousemove", (event) => {
      const at = programAt(event);
      if (at >= 0) byId("l1-words").textContent = programWords(at);
    });
    picture.addEventListener("mouseleave", () => showBand(selected));
    picture.addEventListener("click", (event) => {
      const at = programAt(event);
      if (at >= 0) select(l1.programs[at].step, "l1");
    });
  }

  // ---- selection: one step, marked everywhere
  const graph = byId("graph"), box = graph.parentElement;
  const select = (index, from) => {
    if (!(index >= 0 && index < steps.length)) return;
    selected = index;
    for (const element of document.querySelectorAll(".on")) if (element.closest("[data-step]")) element.classList.remove("on");
    for (const element of document.querySelectorAll(`[data-step="${index}"]`)) element.classList.add("on");
    for (const row of graph.querySelectorAll("[role=option]")) row.setAttribute("aria-selected", String(row.id === `row-${index}`));
    graph.setAttribute("aria-activedescendant", `row-${index}`);
    if (from !== "graph-click") {
      const row = byId(`row-${index}`), top = row.offsetTop;
      if (top < box.scrollTop || top + 40 > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
    }
    byId("slider").value = index + 1;
    byId("slider").setAttribute("aria-valuetext", `${index + 1}: ${steps[index].node}`);
    showStep(steps[index], index);
    showCores(steps[index]);
    showBand(index);
  };
  document.addEventListener("click", (event) => {
    const go = event.target.closest("[data-go]"), of = event.target.closest("[data-of]"), step = event.target.closest("[data-step]");
    if (go) select(Number(go.dataset.go), "link");
    else if (of) select(Number(of.dataset.of), "graph-click");
    else if (step) select(Number(step.dataset.step), step.closest("#graph") ? "graph-click" : "picture");
  });
  graph.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -steps.length, End: steps.length }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    select(Math.min(steps.length - 1, Math.max(0, selected + by)), "keys");
  });
  byId("slider").addEventListener("input", (event) => select(Number(event.target.value) - 1, "slider"));
  byId("prev").addEventListener("click", () => select(selected - 1, "button"));
  byId("next").addEventListener("click", () => select(selected + 1, "button"));

  // ---- the table: sorted by a heading, filtered by words
  const body = byId("steps-table").tBodies[0], headings = [...byId("steps-table").tHead.rows[0].cells];
  const valueOf = (cell) => cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
  headings.forEach((heading, column) => heading.firstElementChild.addEventListener("click", () => {
    const numeric = heading.classList.contains("n"), now = heading.getAttribute("aria-sort");
    // Numbers begin with the largest, words with the first.
    const down = now === "none" ? numeric : now === "ascending";
    for (const each of headings) each.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map((row) => ({ row, value: valueOf(row.cells[column]) }));
    rows.sort((a, b) => {
      const without = (a.value === "") - (b.value === "");  // empty ones last, either way
      if (without !== 0) return without;
      const order = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
      return (down ? -order : order) || Number(a.row.dataset.step) - Number(b.row.dataset.step);
    });
    body.append(...rows.map((each) => each.row));
  }));
  const filter = byId("filter");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    byId("shown").textContent = words.length > 0 ? `${shown} of ${steps.length}` : "";
  });

  const longest = steps.reduce((best, step, i) => step.kernel_ns > steps[best].kernel_ns ? i : best, 0);
  if (steps.length > 0) select(longest, "start");
})();
