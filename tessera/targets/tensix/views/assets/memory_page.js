"use strict";
(() => {
  const data = JSON.parse(document.getElementById("state").textContent);
  const svgns = "http://www.w3.org/2000/svg";
  const bytes = (n) => n.toLocaleString("en-US") + " B";
  const hex = (n) => "0x" + n.toString(16);

  // A segment is [kind, address, bytes, index, class, fill]; columns run from the lowest address up.
  const label = ([kind, , , index]) => {
    if (kind === "circular_buffer") return "CB " + data.circular_buffers[index];
    if (index < 0) return data.kinds[kind];
    return data.buffers[index] + (kind === "no_data" ? " (taken, nothing here)" : "");
  };
  const element = (tag, attributes, text) => {
    const node = document.createElementNS(svgns, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const painted = (segment, attributes) => {
    const node = element("rect", { ...attributes, class: segment[4] });
    if (segment[5]) node.setAttribute("fill", segment[5]);
    return node;
  };
  const target = (cell) => {
    const core = cell.dataset.core;
    if (core === undefined)
      return { title: "DRAM bank " + cell.dataset.bank, column: data.columns[data.banks[cell.dataset.bank]] };
    const x = core % data.grid[0], y = Math.floor(core / data.grid[0]);
    return { title: `L1 of core ${x},${y} (column ${x}, row ${y})`, column: data.columns[data.cores[core]] };
  };

  const shorten = (text, length) => (text.length > length ? text.slice(0, length - 1) + "\u2026" : text);

  // Heights are to scale, but for a least height that a line of text needs.
  function enlarge(cell) {
    for (const other of document.querySelectorAll(".cell.on")) other.classList.remove("on");
    cell.classList.add("on");
    const { title, column } = target(cell);
    document.getElementById("one-title").textContent = title;
    const least = 20, spare = Math.max(160, 560 - column.length * least);
    const total = column.reduce((sum, s) => sum + s[2], 0);
    const heights = column.map((s) => least + (spare * s[2]) / total);
    const height = heights.reduce((a, b) => a + b, 0) + 24;
    const place = document.getElementById("one");
    const width = Math.max(320, place.clientWidth);
    const svg = element("svg", { width, height, role: "img", "aria-label": title });
    let y = height - 12;
    column.forEach((segment, i) => {
      const top = y - heights[i];
      svg.append(painted(segment, { x: 82, y: top, width: 44, height: heights[i] }));
      svg.append(element("rect", { class: "edge", x: 82, y: top, width: 44, height: heights[i] }));
      svg.append(element("text", { class: "dim", x: 74, y: y + 4, "text-anchor": "end" }, segment[1].toLocaleString("en-US")));
      const middle = (top + y) / 2;
      const one_line = heights[i] < 34;
      const name = element("text", { x: 136, y: one_line ? middle + 4 : middle - 3 });
      const amount = one_line ? ", " + bytes(segment[2]) : "";
      name.textContent = shorten(label(segment), Math.floor((width - 136) / 7) - amount.length) + amount;
      name.append(element("title", {}, `${label(segment)}\n${bytes(segment[2])}\n${hex(segment[1])} to ${hex(segment[1] + segment[2])}`));
      svg.append(name);
      if (!one_line) svg.append(element("text", { class: "dim", x: 136, y: middle + 12 }, bytes(segment[2])));
      y = top;
    });
    svg.append(element("text", { class: "dim", x: 74, y: y + 4, "text-anchor": "end" }, total.toLocaleString("en-US")));
    place.replaceChildren(svg);
  }

  const tip = document.getElementById("tip");
  function show_tip(cell, event) {
    const { title, column } = target(cell);
    const heading = document.createElement("b");
    heading.textContent = title;
    const table = document.createElement("table");
    for (const segment of [...column].reverse()) {
      const row = table.insertRow();
      const swatch = element("svg", { width: 12, height: 12, class: "swatch" });
      swatch.append(painted(segment, { width: 12, height: 12 }));
      row.insertCell().append(swatch);
      const amount = row.insertCell();
      amount.className = "n";
      amount.textContent = bytes(segment[2]);
      row.insertCell().textContent = label(segment);
    }
    tip.replaceChildren(heading, table);
    tip.style.display = "block";
    const x = Math.min(event.clientX + 16, innerWidth - tip.offsetWidth - 8);
    const y = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8);
    tip.style.left = Math.max(8, x) + "px";
    tip.style.top = Math.max(8, y) + "px";
  }

  const cells = document.querySelectorAll(".cell");
  for (const cell of cells) {
    cell.addEventListener("click", () => enlarge(cell));
    cell.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      enlarge(cell);
    });
    cell.addEventListener("mousemove", (event) => show_tip(cell, event));
    cell.addEventListener("mouseleave", () => (tip.style.display = "none"));
  }
  if (cells.length > 0) enlarge(cells[0]);
})();
