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
const counted = (number, thing, things = `${thing}s`) => `${count(number)} ${number === 1 ? thing : things}`;

// ---- the address of a node or a partition: page.html#node=NAME, page.html#part=NAME ----

function writeAddress(name, kind = "node") {
  if (location.protocol === "about:") return;  // the frame of a notebook has no address
  const address = name == null ? location.pathname + location.search : `#${kind}=${encodeURIComponent(name)}`;
  history.replaceState(null, "", address);
}

// The name in the page's address, or null.
function nameInAddress(kind = "node") {
  const start = `#${kind}=`;
  if (!location.hash.startsWith(start)) return null;
  try {
    return decodeURIComponent(location.hash.slice(start.length));
  } catch {
    return null;  // not an address of ours
  }
}

// Scrolls the page to an element that is mostly out of view.
function bringIntoView(element) {
  const box = element.getBoundingClientRect();
  const seen = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
  if (seen < Math.min(box.height, innerHeight) / 2) element.scrollIntoView({ block: "center" });
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

// A colour of a legend and what it means: one thing, which no line ends within.
const entry = (kind, words, style) => make("span", { class: "entry" }, make("span", { class: `key ${kind}`, style }), words);

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
    this.seen = { width: 0, height: 0, isMoved: false };  // the canvas, when the picture was last placed
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
    this.show();
    this.on.opened();
    return true;
  }

  // Opens the view of a node; or, where that is not drawn, the nearest above it that is.
  openAt(id) {
    let view = this.nodes.get(id)?.[VIEW];
    while (view != null && !this.data.views[view].svg) view = this.data.views[view].parent;
    if (view != null) this.open(view);
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

  // The boxes that a node reads ("from") or that read it ("to"), through junctions and ports. Of a model in
  // groups the data have the neighbours of each node, wherever they are drawn.
  neighboursOf(id, direction) {
    if (this.data.beside) return this.neighboursInData(Number(id.slice(1)), direction);
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

  neighboursInData(id, direction) {
    if (!this.readers) {
      this.readers = new Map();
      for (const [i, read] of this.data.beside.entries()) {
        for (const other of read) this.readers.set(other, [...(this.readers.get(other) || []), this.data.node_ids[i]]);
      }
      this.read = new Map(this.data.node_ids.map((one, i) => [one, this.data.beside[i]]));
    }
    const found = (direction === "from" ? this.read : this.readers).get(id) || [];
    return found.filter((other) => this.nodes.has(other)).map((other) => `n${other}`);
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

  // The whole drawing where its labels can be read then; else its top, in a size in which they can.
  show() {
    const size = this.pictureSize();
    const whole = Math.min(this.canvas.clientWidth / size.width, this.canvas.clientHeight / size.height);
    this.fit(whole >= 0.4 ? 0.02 : 0.8);
  }

  // The whole drawing; or its top, where it would be smaller than the least scale, with the first box
  // in the middle.
  fit(least) {
    const size = this.pictureSize();
    const scale = Math.min(this.canvas.clientWidth / size.width, this.canvas.clientHeight / size.height, 1.2);
    this.place.scale = Math.max(scale, least);
    this.place.x = (this.canvas.clientWidth - size.width * this.place.scale) / 2;
    this.place.y = 0;
    this.seen = { width: this.canvas.clientWidth, height: this.canvas.clientHeight, isMoved: false };
    this.movePicture();
    const first = scale < least ? this.topmostBox() : null;
    if (!first) return;
    const outer = this.canvas.getBoundingClientRect();
    this.place.x += outer.left + outer.width / 2 - (first.left + first.width / 2);
    this.movePicture();
  }

  // The canvas has another size: what was chosen, or else in the middle, is in the middle.
  resized() {
    const chosen = this.canvas.querySelector(".node.chosen");
    if (chosen) return this.centre(chosen);
    if (!this.seen.isMoved) return this.show();
    this.place.x += (this.canvas.clientWidth - this.seen.width) / 2;
    this.place.y += (this.canvas.clientHeight - this.seen.height) / 2;
    this.noteMoved();
    this.movePicture();
  }

  noteMoved() {
    this.seen = { width: this.canvas.clientWidth, height: this.canvas.clientHeight, isMoved: true };
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(Math.max(this.place.scale * factor, 0.02), 8);
    this.place.x = x - (x - this.place.x) * scale / this.place.scale;
    this.place.y = y - (y - this.place.y) * scale / this.place.scale;
    this.place.scale = scale;
    this.noteMoved();
    this.movePicture();
  }

  centre(element) {
    this.noteMoved();
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
      this.noteMoved();
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
      if (!event.ctrlKey && !event.metaKey) return;  // the page scrolls
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

  // The drawing as a file, with the page's colours written into it, a title, and the entries of a legend.
  save(name, title, entries) {
    const picture = this.canvas.firstChild.cloneNode(true);
    const own = [...this.canvas.querySelectorAll("path, polygon, ellipse, rect, text")];
    for (const [i, element] of [...picture.querySelectorAll("path, polygon, ellipse, rect, text")].entries()) {
      const style = getComputedStyle(own[i]);
      element.setAttribute("fill", style.fill);
      element.setAttribute("stroke", style.stroke);
      if (!own[i].closest(".titles")) continue;
      element.setAttribute("stroke-width", style.strokeWidth);
      element.setAttribute("paint-order", "stroke");  // the halo is behind the letters
      element.setAttribute("stroke-linejoin", "round");
    }
    picture.style.transform = "";
    picture.style.background = getComputedStyle(document.body).backgroundColor;
    addHead(picture, title, entries);
    download(`${fileName(name)}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(picture));
  }
}

// A name that every file system takes.
const fileName = (name) => name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 120);

// Makes room above a picture, and writes the title and the legend there.
function addHead(picture, title, entries) {
  const svg = (tag, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text != null) element.textContent = text;
    return element;
  };
  const ink = getComputedStyle(document.body).color, font = "Helvetica,Arial,sans-serif";
  const box = picture.viewBox.baseVal;
  const width = Math.max(box.width, 420);
  const head = [];
  let [x, y] = [8, 18];
  head.push(svg("text", { x, y, fill: ink, "font-size": 14, "font-weight": "bold", "font-family": font }, title));
  y += 18;
  for (const one of entries) {
    const words = one.textContent.trim(), room = 24 + words.length * 5.6;
    if (x > 8 && x + room > width) [x, y] = [8, y + 16];
    const style = getComputedStyle(one.querySelector(".key"));
    head.push(svg("rect", { x, y: y - 9, width: 11, height: 11, rx: 2, fill: style.backgroundColor, stroke: style.borderTopColor }));
    head.push(svg("text", { x: x + 16, y, fill: ink, "font-size": 10, "font-family": font }, words));
    x += room;
  }
  const height = y + 12;
  const group = svg("g", { class: "head", transform: `translate(${box.x} ${box.y - height})` });
  group.append(...head);
  picture.append(group);
  picture.setAttribute("viewBox", `${box.x} ${box.y - height} ${width} ${box.height + height}`);
  picture.setAttribute("width", `${width}pt`);
  picture.setAttribute("height", `${box.height + height}pt`);
}

// ---- a strip: the parts of a split in call order ----

const kLeastWidth = 4;  // pixels of a part that can be seen and hit

// A part has a name, a kind ("acc", "cpu"), or a target's colour, and what is seen of it by the mouse. Where
// there are more parts than there is room for, some share a column: it is as high in each colour as their share.
class Strip {
  constructor(outer, parts, chosen) {
    Object.assign(this, { outer, parts, chosen, scale: 1, by: null, at: null, strip: make("div", { class: "strip" }) });
    this.note = make("p", { class: "controls columns", hidden: "" });
    outer.classList.add("timeline");
    outer.replaceChildren(this.strip);
    outer.after(this.note);
    outer.addEventListener("wheel", (event) => {
      if (event.deltaY === 0 || (!event.ctrlKey && !event.metaKey)) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.003), event.clientX - outer.getBoundingClientRect().left);
    }, { passive: false });
    this.strip.addEventListener("keydown", (event) => this.moveFocus(event));
  }

  // One stop for the Tab key; arrows go from part to part.
  moveFocus(event) {
    const to = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (to == null) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...this.strip.children];
    const next = Math.min(Math.max(buttons.indexOf(event.target) + to, 0), buttons.length - 1);
    for (const [i, button] of buttons.entries()) button.tabIndex = i === next ? 0 : -1;
    buttons[next].focus();
  }

  mark(chosen) {
    this.at = chosen;
    for (const [i, button] of [...this.strip.children].entries()) {
      const [first, last] = this.columns[i];
      button.classList.toggle("chosen", chosen != null && first <= chosen && chosen <= last);
    }
  }

  // What is at x pixels from the left stays there.
  zoom(factor, x = this.outer.clientWidth / 2) {
    const at = (this.outer.scrollLeft + x) / this.strip.clientWidth;
    this.scale = Math.min(Math.max(this.scale * factor, 1), Math.max(this.parts.length, 1));
    this.draw();
    this.outer.scrollLeft = at * this.strip.clientWidth - x;
  }

  // Widths by this field of the parts: a number, or a pair of a number and its text.
  size(by) {
    this.by = by;
    this.draw();
  }

  draw() {
    const sizes = this.parts.map((part) => Math.max(0, Array.isArray(part[this.by]) ? part[this.by][0] : part[this.by]));
    const width = this.outer.clientWidth * this.scale;
    this.strip.style.width = `${this.scale * 100}%`;
    const isMerged = this.parts.length * kLeastWidth > width;
    this.columns = isMerged ? this.mergedColumns(sizes, width) : this.parts.map((_, i) => [i, i]);
    this.strip.classList.toggle("many", this.parts.length > 150);
    const least = Math.max(...sizes, 1e-9) / 200;
    this.strip.replaceChildren(...this.columns.map(([first, last], i) => {
      const button = first === last ? this.buttonOf(first) : this.columnOf(first, last, sizes);
      const size = sizes.slice(first, last + 1).reduce((sum, one) => sum + Math.max(one, isMerged ? 0 : least), 0);
      button.style.flexGrow = size / least;
      button.tabIndex = i === 0 ? 0 : -1;
      return button;
    }));
    const shared = this.columns.filter(([first, last]) => first !== last).length;
    this.note.hidden = shared === 0;
    this.note.textContent = `${count(this.parts.length)} parts in ${count(this.columns.length)} columns, ` +
      "each as high in a colour as its share; a click shows them apart";
    this.mark(this.at);
    this.hideNarrowNames();
  }

  // Parts in turn, as [first, last], each of at least the width that can be hit.
  mergedColumns(sizes, width) {
    const all = sizes.reduce((sum, one) => sum + one, 0) || 1;
    const least = all * kLeastWidth / width;
    const columns = [];
    let first = 0, sum = 0;
    for (let i = 0; i < sizes.length; ++i) {
      if (sizes[i] >= least && sum > 0) {
        columns.push([first, i - 1]);
        [first, sum] = [i, 0];
      }
      sum += sizes[i];
      if (sum < least) continue;
      columns.push([first, i]);
      [first, sum] = [i + 1, 0];
    }
    if (first < sizes.length) columns.push([first, sizes.length - 1]);
    return columns;
  }

  buttonOf(index) {
    const part = this.parts[index];
    return make("button", {
      type: "button", class: kindOf(part), title: `${part.name}: ${part.more || counted(part.nodes, "node")}`,
      onclick: () => this.chosen(index),
    }, part.name);
  }

  columnOf(first, last, sizes) {
    const kinds = new Map();
    for (let i = first; i <= last; ++i) {
      const kind = kindOf(this.parts[i]);
      kinds.set(kind, (kinds.get(kind) || 0) + sizes[i]);
    }
    const all = [...kinds.values()].reduce((sum, one) => sum + one, 0) || 1;
    const inOrder = [...kinds].sort(([a], [b]) => (a === "cpu") - (b === "cpu") || kOrder.compare(a, b));
    const layers = inOrder.map(([kind, size]) => make("i", { class: kind, style: `height:${size / all * 100}%` }));
    return make("button", {
      type: "button", class: "column",
      title: `${count(last - first + 1)} parts, ${this.parts[first].name} to ${this.parts[last].name}`,
      onclick: (event) => this.zoom(4, event.target.closest("button").offsetLeft - this.outer.scrollLeft),
    }, ...layers);
  }

  // A name that has no room is not shown: the tooltip and the table have it.
  hideNarrowNames() {
    const buttons = [...this.strip.children];
    const narrow = buttons.filter((button) => button.scrollWidth > button.clientWidth);
    for (const button of narrow) button.classList.add("narrow");
  }
}

// The class of a part's colour.
function kindOf(part) {
  return part.target != null ? targetKind(part.target) : part.kind || (part.acc ? "acc" : "cpu");
}

// There are as many colours of targets.
const targetKind = (target) => `target${target % 6}`;

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

  // What is not known is last, however the rest is sorted.
  sortedRows() {
    const table = this.tables[this.shown];
    if (this.column == null) return table.rows();
    const column = table.columns[this.column];
    const keyOf = (row) => {
      const text = column.cell(row), key = (column.sort || column.cell)(row);
      return key == null || text === "?" || text === "-" ? null : key;
    };
    const keys = new Map(table.rows().map((row) => [row, keyOf(row)]));
    const order = (x, y) => typeof x === "number" ? x - y : kOrder.compare(x, y);
    return [...keys.keys()].sort((a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      if (x == null || y == null) return (x == null) - (y == null);
      return order(x, y) * (this.falling ? -1 : 1);
    });
  }

  show() {
    const table = this.tables[this.shown];
    const rows = this.sortedRows();
    const heads = table.columns.map((one, i) => make("th", {
      class: one.number && "number", "aria-sort": i !== this.column ? "none" : this.falling ? "descending" : "ascending",
    }, make("button", { type: "button", onclick: () => this.sortBy(i) },
      one.title + (i === this.column ? (this.falling ? " \u2193" : " \u2191") : ""))));
    const body = rows.slice(0, kMostRows).flatMap((row) => this.elementsOf(table, row));
    const tabs = Object.keys(this.tables).map((name) => make("button", {
      type: "button", "aria-pressed": String(name === this.shown), onclick: () => this.select(name),
    }, `${name} (${count(Math.max(0, this.tables[name].rows().length - (this.tables[name].notCounted || 0)))})`));
    const save = make("button", { type: "button", id: "save-csv", title: "this table as a file",
      onclick: () => this.save() }, "CSV");
    this.outer.replaceChildren(make("nav", {}, ...tabs, make("span", { class: "spring" }), save),
      make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body))),
      table.legend ? make("p", { class: "controls" }, table.legend) : "",
      rows.length > kMostRows ? make("p", {}, `the first ${count(kMostRows)} of ${count(rows.length)}`) : "");
  }

  // A row, and below it what there is to say of it, over the whole width.
  elementsOf(table, row) {
    const mark = table.mark && table.mark(row), note = table.note && table.note(row);
    const cells = table.columns.map((one) => {
      const cell = one.cell(row);
      const isLong = typeof cell === "string" && cell.length > 40;
      return make("td", { class: one.number ? "number" : isLong && "long" }, cell);
    });
    const first = make("tr", { class: mark }, ...cells);
    if (!note) return [first];
    return [first, make("tr", { class: `more ${mark || ""}` }, make("td", { colspan: cells.length }, make("div", {}, note)))];
  }

  // By a column; the other way round; as at first.
  sortBy(column) {
    const isNumber = Boolean(this.tables[this.shown].columns[column].number);
    const isLast = this.column === column && this.falling !== isNumber;
    this.falling = this.column === column ? !this.falling : isNumber;
    this.column = isLast ? null : column;
    this.show();
  }

  save() {
    const table = this.tables[this.shown];
    const text = (cell) => csvCell(cell instanceof Node ? cell.textContent : String(cell));
    const value = (one, row) => one.csv ? csvCell(one.csv(row)) : text(one.cell(row));
    const rows = [table.columns.map((one) => csvCell(one.title + (one.unit ? ` (${one.unit})` : ""))),
      ...this.sortedRows().map((row) => table.columns.map((one) => value(one, row)))];
    download(`${fileName(`${document.title.split(" - ")[0]}-${this.shown}`)}.csv`, "text/csv", rows.map((row) => row.join(",") + "\r\n").join(""));
  }
}

const kMostRows = 2000;
const kOrder = new Intl.Collator("en", { numeric: true });

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
