"use strict";
// What the scripts of all pages share. All text from the model reaches the page as text nodes, never as
// markup; the drawings are Graphviz's own SVG.

const [NAME, OP, PART, VIEW, REASON, TYPE, SCOPE, BECAUSE, ATTRIBUTES, BODIES, BODY_NODES] =
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const byId = (id) => document.getElementById(id);
let data = null;

// Calls `start` with the page's data there. Long data are compressed: base64 of gzip.
async function readData() {
  const element = byId("data");
  if (element.type === "application/json") return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function startWithData(start) {
  readData().then((read) => { data = read; start(); }, (why) => {
    document.querySelector("main").prepend(
      make("p", {}, `This browser cannot read the page's data (${why}): the text below has all of it.`));
  });
}

// ---- making elements ----

// make("td", {class: "number"}, "12", child...)
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

const link = (text, go) => make("button", { class: "link", type: "button", onclick: go }, text);
const count = (number) => number.toLocaleString("en-US");
const counted = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;

// ---- the address of a node: page.html#node=NAME ----

const kAddress = "#node=";

function writeAddress(name) {
  const address = name == null ? location.pathname + location.search : kAddress + encodeURIComponent(name);
  history.replaceState(null, "", address);
}

// The name in the page's address, or null.
function nameInAddress() {
  if (!location.hash.startsWith(kAddress)) return null;
  try {
    return decodeURIComponent(location.hash.slice(kAddress.length));
  } catch {
    return null;  // not an address of ours
  }
}

// ---- facts ----

function terms(pairs) {
  const list = make("dl");
  for (const [term, value] of pairs) {
    if (value == null || value === "") continue;
    list.append(make("dt", {}, term), make("dd", {}, value));
  }
  return list;
}

// "npu", "CPU"; where there is one accelerator, "accelerator".
function deviceOf(part) {
  return part.on || (part.acc ? "accelerator" : "CPU");
}

// A card for each share of the model.
function showCoverage(outer, shares) {
  outer.replaceChildren(...shares.map((one) => make("div", { class: "card" },
    make("b", {}, one.text), make("span", {}, one.what),
    make("div", { class: "bar" }, make("i", { style: `width:${one.ratio * 100}%` })))));
}

// ---- a drawing: one view at a time, moved and scaled as a whole ----

// `data` has views, nodes and node_ids. `on` has what the page does: node(id) and group(view) when a box
// is clicked, opened() when another view is shown.
class Drawing {
  constructor(canvas, data, on) {
    Object.assign(this, { canvas, data, on, view: 0 });
    this.place = { x: 0, y: 0, scale: 1 };
    this.boxes = new Map();  // of the open view, by id
    this.edges = { from: new Map(), to: new Map() };  // of the open view: by id of a box, those beside it
    this.nodes = new Map(data.node_ids.map((id, i) => [id, data.nodes[i]]));
    this.listenToPointer();
  }

  // False if the view is open already.
  open(view) {
    if (this.view === view && this.canvas.firstChild) return false;
    this.view = view;
    const drawn = new DOMParser().parseFromString(this.data.views[view].svg, "image/svg+xml");
    this.canvas.replaceChildren(document.importNode(drawn.documentElement, true));
    this.readEdges();
    for (const title of this.canvas.querySelectorAll("g[class] > title")) title.remove();
    this.raiseTitles();
    this.boxes = new Map([...this.canvas.querySelectorAll("g.node")].map((box) => [box.id, box]));
    this.fit(0.8);
    this.on.opened();
    return true;
  }

  // Opens the view of a node, if that is drawn.
  openAt(id) {
    const node = this.nodes.get(id);
    if (node && this.data.views[node[VIEW]].svg) this.open(node[VIEW]);
  }

  // Graphviz names an edge by its ends, "n0->n1", before the names are taken away as tooltips.
  readEdges() {
    this.edges = { from: new Map(), to: new Map() };
    const add = (map, key, value) => map.set(key, [...(map.get(key) || []), value]);
    for (const title of this.canvas.querySelectorAll("g.edge > title")) {
      const ends = title.textContent.split("->").map((end) => end.split(":")[0]);
      add(this.edges.from, ends[1], ends[0]);
      add(this.edges.to, ends[0], ends[1]);
    }
  }

  // The boxes that a node reads ("from") or that read it ("to"), through junctions and ports.
  neighboursOf(id, direction) {
    const found = new Set(), seen = new Set([id]), open = [id];
    while (open.length) {
      for (const other of this.edges[direction].get(open.pop()) || []) {
        if (seen.has(other)) continue;
        seen.add(other);
        if (/^[ng]\d+$/.test(other)) found.add(other);
        else open.push(other);
      }
    }
    return [...found];
  }

  // Titles of partitions stand in front of the edges that cross them.
  raiseTitles() {
    const titles = document.createElementNS("http://www.w3.org/2000/svg", "g");
    titles.classList.add("titles");
    titles.append(...this.canvas.querySelectorAll(".cluster text"));
    this.canvas.querySelector(".graph")?.append(titles);
  }

  movePicture() {
    const svg = this.canvas.firstChild;
    svg.style.transform = `translate(${this.place.x}px, ${this.place.y}px) scale(${this.place.scale})`;
  }

  // The drawing's size as Graphviz gives it, in pixels.
  pictureSize() {
    const box = this.canvas.firstChild.viewBox.baseVal;
    return { width: box.width * 4 / 3, height: box.height * 4 / 3 };
  }

  topmostBox() {
    let top = null;
    for (const box of this.boxes.values()) {
      const rectangle = box.getBoundingClientRect();
      if (!top || rectangle.top < top.top) top = rectangle;
    }
    return top;
  }

  // The whole drawing; or its top, where it would be smaller than the least scale, with the first box
  // in the middle.
  fit(least) {
    const size = this.pictureSize();
    const scale = Math.min(this.canvas.clientWidth / size.width, this.canvas.clientHeight / size.height, 1.2);
    this.place.scale = Math.max(scale, least);
    this.place.x = (this.canvas.clientWidth - size.width * this.place.scale) / 2;
    this.place.y = 0;
    this.movePicture();
    const first = scale < least ? this.topmostBox() : null;
    if (!first) return;
    const outer = this.canvas.getBoundingClientRect();
    this.place.x += outer.left + outer.width / 2 - (first.left + first.width / 2);
    this.movePicture();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(Math.max(this.place.scale * factor, 0.02), 8);
    this.place.x = x - (x - this.place.x) * scale / this.place.scale;
    this.place.y = y - (y - this.place.y) * scale / this.place.scale;
    this.place.scale = scale;
    this.movePicture();
  }

  centre(element) {
    if (this.place.scale < 0.6) this.place.scale = 0.9;
    this.movePicture();
    const outer = this.canvas.getBoundingClientRect();
    const inner = element.getBoundingClientRect();
    this.place.x += outer.left + outer.width / 2 - (inner.left + inner.width / 2);
    this.place.y += outer.top + outer.height / 2 - (inner.top + inner.height / 2);
    this.movePicture();
  }

  listenToPointer() {
    let grip = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      grip = { x: event.clientX - this.place.x, y: event.clientY - this.place.y, moved: false, id: event.pointerId };
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!grip || grip.id !== event.pointerId) return;
      const x = event.clientX - grip.x, y = event.clientY - grip.y;
      if (!grip.moved && Math.hypot(x - this.place.x, y - this.place.y) < 4) return;
      if (!grip.moved) this.canvas.setPointerCapture(event.pointerId);
      grip.moved = true;
      this.canvas.classList.add("dragged");
      [this.place.x, this.place.y] = [x, y];
      this.movePicture();
    });
    const release = (event) => {
      const clicked = grip && !grip.moved && event.type === "pointerup";
      grip = null;
      this.canvas.classList.remove("dragged");
      if (clicked) this.clickAt(event.target);
    };
    this.canvas.addEventListener("pointerup", release);
    this.canvas.addEventListener("pointercancel", release);
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
  }

  clickAt(target) {
    const box = target.closest("g.node");
    if (!box) return;
    const number = Number(box.id.slice(1));
    if (box.id.startsWith("n")) this.on.node(number);
    else if (box.id.startsWith("g")) this.on.group(number);
    else if (!box.id.endsWith("_")) this.on.node(Number(box.id.split("_")[1]));
  }

  // The box of a node in the open view: its own, or the group's that it is in.
  boxOf(id) {
    const node = this.nodes.get(id);
    if (!node) return null;
    let view = node[VIEW];
    if (view === this.view) return this.boxes.get(`n${id}`);
    while (view != null && this.data.views[view].parent !== this.view) view = this.data.views[view].parent;
    return view == null ? null : this.boxes.get(`g${view}`);
  }

  // Where the open view is: those above it, each to go to.
  showPath(path, go) {
    const steps = [];
    const views = this.data.views;
    for (let view = this.view; view != null; view = views[view].parent) steps.unshift(view);
    const items = steps.map((view) => view === this.view
      ? make("b", {}, views[view].title || "model")
      : link(views[view].title || "model", () => go(view)));
    path.replaceChildren(...items.flatMap((item, i) => i === 0 ? [item] : ["\u203a", item]));
  }

  // Marks one node, or none, and those that `isHit` takes: null for no filter.
  mark(chosen, isHit, moveThere) {
    for (const old of this.canvas.querySelectorAll(".chosen")) old.classList.remove("chosen");
    const box = chosen != null ? this.boxOf(chosen) : null;
    if (box) box.classList.add("chosen");
    this.canvas.classList.toggle("filtered", isHit != null);
    for (const old of this.canvas.querySelectorAll(".hit")) old.classList.remove("hit");
    if (isHit) for (const [id, node] of this.nodes) if (isHit(node)) this.boxOf(id)?.classList.add("hit");
    const target = box || this.canvas.querySelector(".hit");
    if (moveThere && target) this.centre(target);
  }

  // The drawing as a file, with the page's colours written into it.
  save(name) {
    const picture = this.canvas.firstChild.cloneNode(true);
    const own = [...this.canvas.querySelectorAll("path, polygon, ellipse, text")];
    for (const [i, element] of [...picture.querySelectorAll("path, polygon, ellipse, text")].entries()) {
      const style = getComputedStyle(own[i]);
      element.setAttribute("fill", style.fill);
      element.setAttribute("stroke", style.stroke);
    }
    picture.style.transform = "";
    picture.style.background = getComputedStyle(document.body).backgroundColor;
    download(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(picture));
  }
}

// ---- a strip: the parts of a split in call order ----

// A part has a name, a kind ("acc", "cpu"), or colours of its own, and what is seen of it by the mouse.
class Strip {
  constructor(outer, parts, chosen) {
    Object.assign(this, { outer, parts, scale: 1, strip: make("div", { class: "strip" }) });
    outer.classList.add("timeline");
    outer.replaceChildren(this.strip);
    this.strip.classList.toggle("many", parts.length > 150);
    const isNamed = parts.length <= 2000;
    this.strip.replaceChildren(...parts.map((part, index) => make("button", {
      type: "button", class: part.kind || (part.acc ? "acc" : "cpu"),
      style: part.fill ? `background:${part.fill};border-color:${part.line};color:#1c2227` : null,
      title: `${part.name}: ${part.more || counted(part.nodes, "node")}`, onclick: () => chosen(index),
    }, isNamed ? part.name : "")));
    outer.addEventListener("wheel", (event) => {
      if (event.deltaY === 0) return;  // sideways: it scrolls
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.003), event.clientX - outer.getBoundingClientRect().left);
    }, { passive: false });
  }

  mark(chosen) {
    for (const [part, button] of [...this.strip.children].entries()) {
      button.classList.toggle("chosen", chosen === part);
    }
  }

  // What is at x pixels from the left stays there.
  zoom(factor, x = this.outer.clientWidth / 2) {
    const [outer, strip] = [this.outer, this.strip];
    const at = (outer.scrollLeft + x) / strip.clientWidth;
    this.scale = Math.min(Math.max(this.scale * factor, 1), Math.max(this.parts.length, 1));
    strip.style.width = `${this.scale * 100}%`;
    this.hideNarrowNames();
    outer.scrollLeft = at * strip.clientWidth - x;
  }

  // Widths by this field of the parts: a number, or a pair of a number and its text.
  size(by) {
    const sizes = this.parts.map((part) => Array.isArray(part[by]) ? part[by][0] : part[by]);
    const least = Math.max(...sizes, 1e-9) / 200;
    for (const [i, button] of [...this.strip.children].entries()) {
      button.style.flexGrow = Math.max(sizes[i], least) / least;
    }
    this.hideNarrowNames();
  }

  // A name that has no room is not shown: the tooltip and the table have it.
  hideNarrowNames() {
    const buttons = [...this.strip.children];
    for (const button of buttons) button.classList.remove("narrow");
    const narrow = buttons.filter((button) => button.scrollWidth > button.clientWidth);
    for (const button of narrow) button.classList.add("narrow");
  }
}

// ---- tables ----

// Tables of which one is shown. Each has its rows and columns; a column its title, a cell's text, what it
// sorts by (else the text), whether it is a number.
class Tables {
  // `sorted`: the column that a table is sorted by at first; null: none.
  constructor(outer, tables, first, sorted) {
    Object.assign(this, { outer, tables, sorted, shown: first, column: sorted, falling: false });
  }

  select(name) {
    Object.assign(this, { shown: name, column: this.sorted, falling: false });
    this.show();
  }

  sortedRows() {
    const table = this.tables[this.shown];
    if (this.column == null) return table.rows();
    const column = table.columns[this.column];
    const key = column.sort || column.cell;
    return table.rows().sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (this.falling ? -1 : 1);
    });
  }

  show() {
    const table = this.tables[this.shown];
    const rows = this.sortedRows();
    const heads = table.columns.map((one, i) => make("th", {
      class: one.number && "number", "aria-sort": i !== this.column ? "none" : this.falling ? "descending" : "ascending",
    }, make("button", { type: "button", onclick: () => this.sortBy(i) },
      one.title + (i === this.column ? (this.falling ? " \u2193" : " \u2191") : ""))));
    const body = rows.slice(0, kMostRows).map((row) => make("tr", { class: table.mark && table.mark(row) },
      ...table.columns.map((one) => make("td", { class: one.number && "number" }, one.cell(row)))));
    const tabs = Object.keys(this.tables).map((name) => make("button", {
      type: "button", "aria-pressed": String(name === this.shown), onclick: () => this.select(name),
    }, name));
    const save = make("button", { type: "button", id: "save-csv", title: "this table as a file",
      onclick: () => this.save() }, "CSV");
    this.outer.replaceChildren(make("nav", {}, ...tabs, make("span", { class: "spring" }), save),
      make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body))),
      rows.length > kMostRows ? make("p", {}, `the first ${count(kMostRows)} of ${count(rows.length)}`) : "");
  }

  sortBy(column) {
    const isNumber = this.tables[this.shown].columns[column].number;
    this.falling = this.column === column ? !this.falling : Boolean(isNumber);
    this.column = column;
    this.show();
  }

  save() {
    const table = this.tables[this.shown];
    const text = (cell) => csvCell(cell instanceof Node ? cell.textContent : String(cell));
    const rows = [table.columns.map((one) => csvCell(one.title)),
      ...this.sortedRows().map((row) => table.columns.map((one) => text(one.cell(row))))];
    download(`${this.shown}.csv`, "text/csv", rows.map((row) => row.join(",") + "\r\n").join(""));
  }
}

const kMostRows = 2000;

// ---- taking things along ----

// A page from a file may lack the clipboard: then the text is selected and copied as by hand.
async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { readonly: "" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "copied";
}

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const csvCell = (text) => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
