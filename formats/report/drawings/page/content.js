// The page of a comparison, a check of many models, stages or advice: drawings side by side, then tables.

const panes = [];  // {drawing, strip, split} of each drawing
const chosen = { node: null, found: null };
let overview = null, tables = null;
let needle = "";  // what is searched for, in lower case

// ---- drawings ----

// Of a picture there are no nodes to choose.
const dataOf = (one) => one.split || { views: [{ title: one.title, parent: null, svg: one.svg }], nodes: [], node_ids: [] };

function makePane(one) {
  const canvas = make("div", { class: one.split ? "canvas" : "canvas picture" });
  const path = make("nav", { class: "path" });
  const pane = { split: one.split, drawing: null, strip: null, canvas };
  const button = (text, title, go) => make("button", { type: "button", title, onclick: go }, text);
  const timeline = one.split ? make("div", {}) : null;
  const element = make("section", { class: "pane" }, make("h2", { title: one.title }, one.title), timeline,
    make("div", { class: "controls" }, one.split ? path : null, make("span", { class: "spring" }),
      make("span", { class: "together" },
        button("+", "zoom in: also by Ctrl and the wheel", () => pane.drawing.zoom(1.3)),
        button("\u2212", "zoom out", () => pane.drawing.zoom(1 / 1.3)),
        button("fit", "whole drawing", () => pane.drawing.fit(0.02)),
        button("SVG", "this drawing as a file", () => pane.drawing.save(one.title, one.title, keysOf(pane))))),
    make("div", { class: "graph-box" }, canvas),
    one.legend ? make("p", { class: "controls" }, one.legend) : null);
  pane.drawing = new Drawing(canvas, dataOf(one), {
    node: (id) => chooseNode(pane.drawing.nodes.get(id)?.[NAME]),
    group: (view) => { if (dataOf(one).views[view].svg) pane.drawing.open(view); },
    opened: () => { if (one.split) pane.drawing.showPath(path, (view) => pane.drawing.open(view)); markAll(false); },
  });
  if (one.split) pane.strip = new Strip(timeline, one.split.parts, (part) => showPart(pane, part));
  if (one.split?.devices) canvas.classList.add("devices");
  pane.open = () => {
    pane.drawing.open(0);
    const size = pane.drawing.pictureSize();
    element.classList.toggle("wide", !one.split && size.width > 2.5 * size.height);
    if (!one.split) fitPicture(pane);
    if (pane.strip) pane.strip.size("nodes");
    new ResizeObserver(() => one.split ? pane.drawing.resized() : fitPicture(pane)).observe(canvas);
  };
  panes.push(pane);
  return element;
}

// A picture is seen whole where its words can be read then, in a frame no higher than it is.
function fitPicture(pane) {
  const drawing = pane.drawing, size = drawing.pictureSize(), room = pane.canvas.clientWidth;
  drawing.fit(0.02);
  const whole = Math.min(room / size.width, 1);
  drawing.place.scale = whole >= 0.5 ? whole : 0.65;
  drawing.place.x = Math.max((room - size.width * drawing.place.scale) / 2, 0);
  drawing.movePicture();
  const height = size.height * drawing.place.scale;
  pane.canvas.parentElement.style.height = `min(${Math.ceil(Math.max(height + 8, 120))}px, 80vh)`;
}

const keysOf = (pane) => pane.split ? [...byId("keys").querySelectorAll(".entry")] : [];

function markAll(moveThere) {
  const names = chosen.found || moved();
  for (const pane of panes) {
    const id = chosen.node == null ? null : idOf(pane, chosen.node);
    const isHit = names.size ? (node) => names.has(node[NAME]) : null;
    pane.drawing.mark(id, isHit, moveThere);
  }
}

// Nodes that rows of tables go to: those that differ stand out.
let movedNames = null;
function moved() {
  if (!movedNames) movedNames = new Set(data.tables.flatMap((table) => table.rows.map((row) => row.node)).filter(Boolean));
  return movedNames;
}

function idOf(pane, name) {
  for (const [id, node] of pane.drawing.nodes) if (node[NAME] === name) return id;
  return null;
}

// The node of this name in each drawing that has it, and what is known of it there.
function chooseNode(name) {
  if (name == null) return;
  chosen.node = name;
  for (const pane of panes) {
    const id = idOf(pane, name);
    if (id != null) pane.drawing.openAt(id);
    pane.strip?.mark(id == null ? null : pane.drawing.nodes.get(id)[PART]);
  }
  markAll(true);
  bringIntoView(panes[0].canvas);
  writeAddress(name);
  const facts = panes.filter((pane) => pane.split).map((pane, i) => factsOf(pane, data.drawings[i].title, name));
  byId("side").replaceChildren(make("h3", {}, name), ...facts.flat());
}

function factsOf(pane, title, name) {
  const id = idOf(pane, name);
  const node = id == null ? null : pane.drawing.nodes.get(id);
  const part = node && pane.split.parts[node[PART]];
  return [make("h4", {}, title), node ? terms([
    ["op type", node[OP]],
    ["runs on", deviceOf(part)],
    ["why", node[REASON] ? node[REASON][1] : part.acc ? "supported" : ""],
    ["partition", link(part.name, () => showPart(pane, node[PART]))],
    ["outputs", node[TYPE]],
  ]) : make("p", {}, "It is not in this model, or not on the page.")];
}

function showPart(pane, index) {
  const part = pane.split.parts[index];
  Object.assign(chosen, { node: null, found: new Set() });
  for (const node of pane.drawing.nodes.values()) if (node[PART] === index) chosen.found.add(node[NAME]);
  pane.strip.mark(index);
  markAll(true);
  byId("side").replaceChildren(make("h3", {}, part.name), terms([
    ["runs on", deviceOf(part)], ["nodes", count(part.nodes)], ["bytes in", part.in[1]],
    ["bytes out", part.out[1]], ["parameters", part.parameters[1]], ["work", part.flops[1]],
  ]));
}

// ---- tables ----

const kWorth = { "": 1, B: 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30,
  TiB: 2 ** 40, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

// What "1,204", "-12 KiB", "3.4 MFLOP", "79.2%" or "1.2 ms" is worth; null: it is no number.
function amountOf(text) {
  const found = /([+-]?)([\d,]*\.?\d+)\s*(\w*)/.exec(text);
  if (!found) return null;
  const unit = found[3].replace(/FLOPs?$|\/s$/, "");
  return Number(found[2].replaceAll(",", "")) * (found[1] === "-" ? -1 : 1) * (kWorth[unit] || 1);
}

// A number alone is written into a file without what is for the eye.
function csvOf(text) {
  return /^[+-]?[\d,]*\.?\d+$/.test(text) ? text.replaceAll(",", "") : text;
}

// A share has a bar behind it, in place of one of letters.
function cellOf(told) {
  const text = told.replace(/^[#=]+\s+(?=[\d.]+%$)/, "");
  if (/^[#=]+$/.test(text)) return make("span", { class: "letters", style: `--letters:${text.length}`, title: text });
  const share = /^(\d+(?:\.\d+)?)%/.exec(text);
  if (!share) return text;
  const failed = text.endsWith(" FAIL");
  return make("span", { class: failed ? "share fails" : "share", style: `--share:${share[1]}%` }, text);
}

const isFound = (row) => !needle || [...row.cells, row.note || ""].some((cell) => cell.toLowerCase().includes(needle));

function tableOf(table) {
  return {
    rows: () => table.rows.filter(isFound),
    mark: (row) => row.fails ? "fails" : null,
    note: (row) => row.note,
    legend: table.legend,
    notCounted: table.not_counted,
    columns: table.columns.map((title, i) => ({
      title, number: table.numbers[i],
      sort: table.numbers[i] ? (row) => amountOf(row.cells[i]) : (row) => row.cells[i],
      cell: (row) => i === 0 && row.node && panes.length ? link(row.cells[0], () => chooseNode(row.node))
        : cellOf(row.cells[i]),
      csv: (row) => csvOf(row.cells[i]),
    })),
  };
}

function search() {
  needle = byId("search").value.trim().toLowerCase();
  chosen.found = null;
  if (needle) {
    chosen.found = new Set();
    for (const pane of panes) {
      for (const node of pane.drawing.nodes.values()) {
        if (node[NAME].toLowerCase().includes(needle) || node[OP].toLowerCase().includes(needle)) chosen.found.add(node[NAME]);
      }
    }
  }
  if (panes.length) markAll(chosen.found?.size === 1);
  matchAt = -1;
  showMatches();
  tables?.show();
}

// "2 of 17", beside the search.
function showMatches() {
  const found = chosen.found && panes.some((pane) => pane.split) ? chosen.found.size : null;
  byId("matches").textContent = found == null ? "" : found === 0 ? "none"
    : matchAt < 0 ? counted(found, "match", "matches") : `${count(matchAt + 1)} of ${count(found)}`;
}

function searchFor(text) {
  byId("search").value = text;
  search();
}

let matchAt = -1;
function chooseMatch(step) {
  const names = [...(chosen.found || moved())];
  if (!names.length || !panes.length) return;
  matchAt = (matchAt + step + names.length) % names.length;
  chooseNode(names[matchAt]);
  showMatches();
}

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      chosen.node = null;
      matchAt = -1;
      searchFor("");
      byId("search").blur();
      writeAddress(null);
      byId("side")?.replaceChildren();
    } else if (event.key === "Enter" && event.target === byId("search")) {
      event.preventDefault();
      chooseMatch(event.shiftKey ? -1 : 1);
    } else if (event.key === "/" && !event.target.closest("input, textarea")) {
      event.preventDefault();
      byId("search").focus();
    }
  });
}

// What the colours of the drawings of splits mean.
function legendOf() {
  const devices = data.drawings.find((one) => one.split?.devices)?.split.devices;
  const accs = devices ? devices.filter((one) => one.target != null).map((one) => entry(targetKind(one.target), `on ${one.name}`))
    : [entry("acc", "on the accelerator")];
  return make("p", { id: "keys", class: "controls entries" }, ...accs, entry("kept", "supported, kept on the CPU"),
    entry("unsupported", "unsupported"), entry("cpu", "a group on the CPU"), entry("mixed", "a group with both: click to open it"));
}

// A comparison begins where the first difference is.
function showFirstMoved() {
  const first = [...moved()][0];
  if (first == null || nameInAddress() != null) return;
  for (const pane of panes) {
    const id = idOf(pane, first);
    const box = id == null ? null : (pane.drawing.openAt(id), pane.drawing.boxOf(id));
    if (box) pane.drawing.centre(box);
  }
}

// ---- start ----

function start() {
  const hasNodes = data.drawings.some((one) => one.split);
  const content = byId("content");
  showCoverage(byId("coverage"), data.coverage);
  const whole = make("div", {});
  if (data.strip.length) content.append(make("section", {}, make("h2", {}, "In call order"), whole));
  content.append(make("div", { class: "controls" }, make("input", {
    id: "search", type: "search", autocomplete: "off", oninput: search, "aria-label": "find",
    placeholder: hasNodes ? "find a node or op type  ( / )" : "find in the tables  ( / )" }),
    make("output", { id: "matches", for: "search" })));
  const sections = data.drawings.map(makePane);
  if (sections.length) {
    content.append(make("div", { class: "panes" }, ...sections,
      hasNodes ? make("aside", { id: "side", class: "beside" }) : null));
    if (hasNodes) content.append(legendOf());
  }
  content.append(make("section", {}, make("h2", {}, "Tables"), make("div", { id: "tables" })), ...data.notes.map((note) => make("p", {}, make("small", {}, note))));
  if (data.strip.length) {
    overview = new Strip(whole, data.strip, (part) => searchFor(data.strip[part].name));
    overview.size("amount");
  }
  for (const pane of panes) pane.open();
  showFirstMoved();
  const titled = data.tables.map((table) => [table.title, tableOf(table)]);
  if (titled.length) {
    tables = new Tables(byId("tables"), Object.fromEntries(titled), titled[0][0], null);
    tables.show();
  }
  listenToKeys();
  window.addEventListener("hashchange", () => chooseNode(nameInAddress()));
  window.addEventListener("resize", () => {
    overview?.size("amount");
    for (const pane of panes) pane.strip?.size("nodes");
  });
  chooseNode(nameInAddress());
}

startWithData(start);
