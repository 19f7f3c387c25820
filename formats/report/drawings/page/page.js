"use strict";
// The page's script. All text from the model reaches the page as text nodes, never as markup; the
// drawings are Graphviz's own SVG.

const [NAME, OP, PART, VIEW, REASON, TYPE, SCOPE, BECAUSE, ATTRIBUTES, BODIES, BODY_NODES] =
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const byId = (id) => document.getElementById(id);
let data = null;
let nodeById = null;

// Long data are compressed: base64 of gzip.
async function readData() {
  const element = byId("data");
  if (element.type === "application/json") return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
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
const wordsOf = (code) => data.reasons.find((reason) => reason.code === code).words || "not told";
const counted = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;

// ---- state: the view that is open, what is chosen, what is filtered ----

// `found`: the nodes that the search finds, in model order, and which of them Enter chose last.
const state = { view: 0, chosen: null, filter: null, found: null, at: -1 };

function chooseNode(id) {
  const node = nodeById.get(id);
  if (!node) return;
  state.chosen = { node: id };
  if (data.views[node[VIEW]].svg) openView(node[VIEW], true);
  showNode(id);
  mark(true);
  writeAddress(node[NAME]);
}

// ---- the address of a node: page.html#node=NAME ----

const kAddress = "#node=";

function writeAddress(name) {
  const address = name == null ? location.pathname + location.search : kAddress + encodeURIComponent(name);
  history.replaceState(null, "", address);
}

function readAddress() {
  if (!location.hash.startsWith(kAddress)) return;
  let name = null;
  try {
    name = decodeURIComponent(location.hash.slice(kAddress.length));
  } catch {
    return;  // not an address of ours
  }
  for (const [id, node] of nodeById) if (node[NAME] === name) return chooseNode(id);
  showMessage(name, "No node of this name is on the page.");
}

function choosePart(part) {
  Object.assign(state, { chosen: { part }, found: null });
  showPart(part);
  const view = data.views.findIndex((one) => one.title === data.parts[part].name);
  openView(view >= 0 && data.views[view].svg ? view : state.view, true);
  mark(true);
}

// ---- the drawing: one view at a time, moved and scaled as a whole ----

const canvas = byId("canvas");
const place = { x: 0, y: 0, scale: 1 };
let boxes = new Map();  // of the open view, by id
let edges = { from: new Map(), to: new Map() };  // of the open view: by id of a box, those beside it

function openView(view, keepChosen) {
  if (state.view === view && canvas.firstChild) return;
  state.view = view;
  if (!keepChosen) state.chosen = null;
  const drawn = new DOMParser().parseFromString(data.views[view].svg, "image/svg+xml");
  canvas.replaceChildren(document.importNode(drawn.documentElement, true));
  readEdges();
  for (const title of canvas.querySelectorAll("g > title")) title.remove();
  raiseTitles();
  boxes = new Map([...canvas.querySelectorAll("g.node")].map((box) => [box.id, box]));
  colourBoxes();
  showPath();
  fit(0.8);
  mark(false);
  if (!keepChosen) showOverview();
}

// Graphviz names an edge by its ends, "n0->n1", before the names are taken away as tooltips.
function readEdges() {
  edges = { from: new Map(), to: new Map() };
  const add = (map, key, value) => map.set(key, [...(map.get(key) || []), value]);
  for (const title of canvas.querySelectorAll("g.edge > title")) {
    const ends = title.textContent.split("->").map((end) => end.split(":")[0]);
    add(edges.from, ends[1], ends[0]);
    add(edges.to, ends[0], ends[1]);
  }
}

// The boxes that a node reads ("from") or that read it ("to"), through junctions and ports.
function neighboursOf(id, direction) {
  const found = new Set(), seen = new Set([id]), open = [id];
  while (open.length) {
    for (const other of edges[direction].get(open.pop()) || []) {
      if (seen.has(other)) continue;
      seen.add(other);
      if (/^[ng]\d+$/.test(other)) found.add(other);
      else open.push(other);
    }
  }
  return [...found];
}

// Titles of partitions stand in front of the edges that cross them.
function raiseTitles() {
  const titles = document.createElementNS("http://www.w3.org/2000/svg", "g");
  titles.classList.add("titles");
  titles.append(...canvas.querySelectorAll(".cluster text"));
  canvas.querySelector(".graph").append(titles);
}

function movePicture() {
  const svg = canvas.firstChild;
  svg.style.transform = `translate(${place.x}px, ${place.y}px) scale(${place.scale})`;
}

// The drawing's size as Graphviz gives it, in pixels.
function pictureSize() {
  const box = canvas.firstChild.viewBox.baseVal;
  return { width: box.width * 4 / 3, height: box.height * 4 / 3 };
}

function topmostBox() {
  let top = null;
  for (const box of boxes.values()) {
    const rectangle = box.getBoundingClientRect();
    if (!top || rectangle.top < top.top) top = rectangle;
  }
  return top;
}

// The whole drawing; or its top, where it would be smaller than the least scale, with the first box
// in the middle.
function fit(least) {
  const size = pictureSize();
  const scale = Math.min(canvas.clientWidth / size.width, canvas.clientHeight / size.height, 1.2);
  place.scale = Math.max(scale, least);
  place.x = (canvas.clientWidth - size.width * place.scale) / 2;
  place.y = 0;
  movePicture();
  const first = scale < least ? topmostBox() : null;
  if (!first) return;
  const outer = canvas.getBoundingClientRect();
  place.x += outer.left + outer.width / 2 - (first.left + first.width / 2);
  movePicture();
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const scale = Math.min(Math.max(place.scale * factor, 0.02), 8);
  place.x = x - (x - place.x) * scale / place.scale;
  place.y = y - (y - place.y) * scale / place.scale;
  place.scale = scale;
  movePicture();
}

function centre(element) {
  if (place.scale < 0.6) place.scale = 0.9;
  movePicture();
  const outer = canvas.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  place.x += outer.left + outer.width / 2 - (inner.left + inner.width / 2);
  place.y += outer.top + outer.height / 2 - (inner.top + inner.height / 2);
  movePicture();
}

function listenToPointer() {
  let grip = null;
  canvas.addEventListener("pointerdown", (event) => {
    grip = { x: event.clientX - place.x, y: event.clientY - place.y, moved: false, id: event.pointerId };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip || grip.id !== event.pointerId) return;
    const x = event.clientX - grip.x, y = event.clientY - grip.y;
    if (!grip.moved && Math.hypot(x - place.x, y - place.y) < 4) return;
    if (!grip.moved) canvas.setPointerCapture(event.pointerId);
    grip.moved = true;
    canvas.classList.add("dragged");
    [place.x, place.y] = [x, y];
    movePicture();
  });
  const release = (event) => {
    const clicked = grip && !grip.moved && event.type === "pointerup";
    grip = null;
    canvas.classList.remove("dragged");
    if (clicked) clickAt(event.target);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
}

function clickAt(target) {
  const box = target.closest("g.node");
  if (!box) return;
  const number = Number(box.id.slice(1));
  if (box.id.startsWith("n")) chooseNode(number);
  else if (box.id.startsWith("g")) enterGroup(number);
  else if (!box.id.endsWith("_")) chooseNode(Number(box.id.split("_")[1]));
}

function enterGroup(view) {
  if (data.views[view].svg) return openView(view);
  showMessage(data.views[view].title, `${counted(data.views[view].nodes, "node")}: too many to draw. ` +
    "Search for a node by name, or draw the partition alone with cleave draw.");
}

// What is chosen and what the filter hits, in the drawing.
function mark(moveThere) {
  for (const old of canvas.querySelectorAll(".chosen")) old.classList.remove("chosen");
  const chosen = state.chosen?.node != null ? boxOf(state.chosen.node) : null;
  if (chosen) chosen.classList.add("chosen");
  for (const [part, button] of [...byId("strip").children].entries()) {
    button.classList.toggle("chosen", state.chosen != null && state.chosen.part === part);
  }
  const isHit = filterOf(state);
  canvas.classList.toggle("filtered", isHit != null);
  for (const old of canvas.querySelectorAll(".hit")) old.classList.remove("hit");
  if (isHit) for (const [id, node] of nodeById) if (isHit(node)) boxOf(id)?.classList.add("hit");
  const target = chosen || canvas.querySelector(".hit");
  if (moveThere && target) centre(target);
}

// Which nodes stand out: those that the search finds; else those of the reason that is filtered for, else of the partition chosen.
function filterOf({ filter, chosen, found }) {
  if (found && found.length) {
    const hits = new Set(found);
    return (node) => hits.has(node);
  }
  if (filter != null) return (node) => node[REASON] && node[REASON][0] === filter;
  if (chosen?.part != null) return (node) => node[PART] === chosen.part;
  return null;
}

// The box of a node in the open view: its own, or the group's that it is in.
function boxOf(id) {
  const node = nodeById.get(id);
  if (!node) return null;
  let view = node[VIEW];
  if (view === state.view) return boxes.get(`n${id}`);
  while (view != null && data.views[view].parent !== state.view) view = data.views[view].parent;
  return view == null ? null : boxes.get(`g${view}`);
}

function showPath() {
  const steps = [];
  for (let view = state.view; view != null; view = data.views[view].parent) steps.unshift(view);
  const items = steps.map((view) => view === state.view
    ? make("b", {}, data.views[view].title || "model")
    : link(data.views[view].title || "model", () => openView(view)));
  byId("path").replaceChildren(...items.flatMap((item, i) => i === 0 ? [item] : ["\u203a", item]));
}

// ---- colours by time, FLOPs or bytes ----

const heatOfNode = new Map();  // of the heat that is shown: id to [class, text]
let heat = null;

function offerHeats() {
  byId("color-by").append(...data.heat.map((one) => make("option", { value: one.key }, one.name)));
}

function chooseHeat() {
  heat = data.heat.find((one) => one.key === byId("color-by").value) || null;
  heatOfNode.clear();
  if (heat) data.node_ids.forEach((id, i) => heatOfNode.set(id, heat.nodes[i]));
  byId("heat-legend").hidden = !heat;
  byId("support-legend").hidden = Boolean(heat);
  byId("heat-legend").replaceChildren(...(heat ? heat.classes : []).flatMap((name, i) =>
    [make("span", { class: `key heat${i}` }), ` ${name}`]));
  colourBoxes();
}

function colourBoxes() {
  for (const [id, box] of boxes) {
    for (const old of [...box.classList]) if (old.startsWith("heat")) box.classList.remove(old);
    const amount = !heat ? null : id.startsWith("n") ? heatOfNode.get(Number(id.slice(1)))
      : id.startsWith("g") ? heat.views[Number(id.slice(1))] : null;
    if (amount) box.classList.add("heat", `heat${amount[0]}`);
  }
}

// ---- beside the drawing ----

const side = byId("side");

function terms(pairs) {
  const list = make("dl");
  for (const [term, value] of pairs) {
    if (value == null || value === "") continue;
    list.append(make("dt", {}, term), make("dd", {}, value));
  }
  return list;
}

function showMessage(title, text) {
  side.replaceChildren(make("h3", {}, title), make("p", {}, text));
}

// "npu", "CPU"; where there is one accelerator, "accelerator".
function deviceOf(part) {
  return part.on || (part.acc ? "accelerator" : "CPU");
}

function showNode(id) {
  const node = nodeById.get(id);
  const part = data.parts[node[PART]];
  const blamed = node[BECAUSE] == null ? null : nodeById.get(node[BECAUSE]);
  side.replaceChildren(make("h3", {}, node[NAME]), terms([
    ["op type", node[OP]],
    ["runs on", deviceOf(part)],
    ...whyNotOf(id).map((text) => ["not on", text]),
    ["why", node[REASON] ? node[REASON][1] : part.acc ? "supported" : ""],
    ["reason code", node[REASON] && node[REASON][0]],
    ["because of", blamed && link(blamed[NAME], () => chooseNode(node[BECAUSE]))],
    ["partition", link(part.name, () => choosePart(node[PART]))],
    ["outputs", node[TYPE]],
    ...data.heat.map((one) => [one.name, one.nodes[data.node_ids.indexOf(id)]?.[1]]),
    ["scope", node[SCOPE]],
    ["attributes", attributesOf(node)],
    ["reads", neighbourList(`n${id}`, "from")],
    ["read by", neighbourList(`n${id}`, "to")],
  ]), ...bodiesOf(node), make("p", {}, make("button", { type: "button", id: "copy-name",
    onclick: (event) => copyText(node[NAME], event.target) }, "copy name")));
}

function nameOfBox(box) {
  const number = Number(box.slice(1));
  return box.startsWith("n") ? nodeById.get(number)?.[NAME] : data.views[number].title;
}

const kMostNeighbours = 12;

function neighbourList(id, direction) {
  const beside = neighboursOf(id, direction).filter((box) => nameOfBox(box) != null);
  if (!beside.length) return null;
  const rows = beside.slice(0, kMostNeighbours).map((box) => make("li", {}, link(nameOfBox(box), () => {
    const number = Number(box.slice(1));
    if (box.startsWith("n")) chooseNode(number);
    else enterGroup(number);
  })));
  const more = beside.length - rows.length;
  return make("ol", { class: direction }, ...rows, more > 0 ? make("li", {}, `and ${count(more)} more`) : null);
}

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

// The drawing that is open, with the page's colours written into it.
function exportSvg() {
  const picture = canvas.firstChild.cloneNode(true);
  const own = [...canvas.querySelectorAll("path, polygon, ellipse, text")];
  for (const [i, element] of [...picture.querySelectorAll("path, polygon, ellipse, text")].entries()) {
    const style = getComputedStyle(own[i]);
    element.setAttribute("fill", style.fill);
    element.setAttribute("stroke", style.stroke);
  }
  picture.style.transform = "";
  picture.style.background = getComputedStyle(document.body).backgroundColor;
  download(`${document.title.split(" - ")[0]}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(picture));
}

const csvCell = (text) => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

function exportCsv() {
  const table = kTables[shown.table];
  const text = (cell) => csvCell(cell instanceof Node ? cell.textContent : String(cell));
  const rows = [table.columns.map((one) => csvCell(one.title)),
    ...sortedRows(table).map((row) => table.columns.map((one) => text(one.cell(row))))];
  download(`${shown.table}.csv`, "text/csv", rows.map((row) => row.join(",") + "\r\n").join(""));
}

// What targets say that do not run the node: "npu: ...".
function whyNotOf(id) {
  return (data.why_not && data.why_not[data.node_ids.indexOf(id)]) || [];
}

function attributesOf(node) {
  const rows = [];
  for (let i = 0; i < node[ATTRIBUTES].length; i += 2) {
    rows.push(make("tr", {}, make("td", {}, node[ATTRIBUTES][i]), make("td", {}, node[ATTRIBUTES][i + 1])));
  }
  return rows.length ? make("table", {}, make("tbody", {}, ...rows)) : null;
}

// The bodies of an If, Loop or Scan, each closed until it is clicked.
function bodiesOf(node) {
  const bodies = new Map();
  const listed = node[BODIES] || [];
  for (let i = 0; i < listed.length; i += 3) {
    const [body, name, op] = listed.slice(i, i + 3);
    if (!bodies.has(body)) bodies.set(body, []);
    bodies.get(body).push(make("li", {}, op, make("small", {}, ` ${name}`)));
  }
  const more = (node[BODY_NODES] || 0) - listed.length / 3;
  return [...bodies].map(([body, items]) => make("details", {},
    make("summary", {}, `${body}: ${counted(items.length, "node")}`), make("ol", {}, ...items)))
    .concat(more > 0 ? [make("small", {}, `and ${counted(more, "node")} more`)] : []);
}

function showPart(index) {
  const part = data.parts[index];
  side.replaceChildren(make("h3", {}, part.name), terms([
    ["runs on", deviceOf(part)],
    ["nodes", count(part.nodes)],
    ["takes in", part.in[1]],
    ["gives out", part.out[1]],
    ["parameters", part.parameters[1]],
    ["work", part.flops[1]],
    ["time", part.time && part.time[1]],
    ["link allows", part.acc && part.qps[0] >= 0 ? `${part.qps[1]} QPS${part.bottleneck ? ": the bottleneck" : ""}` : null],
    ["look at", part.hazards.join("; ")],
  ]));
}

function showOverview() {
  const causes = data.causes.slice(0, 12).map((cause) => make("li", {},
    link(cause.text, () => showCause(cause)), make("small", {}, ` ${counted(cause.count, "node")}`)));
  side.replaceChildren(
    make("h3", {}, causes.length ? "Why nodes are on the CPU" : "All nodes are on the accelerator"),
    make("ol", {}, ...causes),
    ...data.notes.map((note) => make("p", {}, make("small", {}, note))));
}

function showCause(cause) {
  const nodes = cause.nodes.filter((id) => nodeById.has(id)).map((id) =>
    make("li", {}, link(nodeById.get(id)[NAME], () => chooseNode(id))));
  const more = cause.count - nodes.length;
  side.replaceChildren(make("h3", {}, cause.text), make("ol", {}, ...nodes),
    more > 0 ? make("small", {}, `and ${count(more)} more`) : "");
}

// ---- search and filter ----

const kMostHits = 100;

function search() {
  const text = byId("search").value.trim().toLowerCase();
  state.found = null;
  state.at = -1;
  if (!text) {
    mark(false);
    return showOverview();
  }
  const hits = [];
  let found = 0;
  state.found = [];
  for (const [id, node] of nodeById) {
    if (!node[NAME].toLowerCase().includes(text) && !node[OP].toLowerCase().includes(text)) continue;
    state.found.push(node);
    if (++found <= kMostHits) hits.push(id);
  }
  mark(false);
  side.replaceChildren(make("h3", {}, counted(found, "node") + " found"), make("ol", {}, ...hits.map((id) =>
    make("li", {}, link(nodeById.get(id)[NAME], () => chooseNode(id)), make("small", {}, " " + nodeById.get(id)[OP])))),
    found > kMostHits ? make("small", {}, `and ${count(found - kMostHits)} more`) : "");
}

// The next match, or with shift the one before.
function chooseMatch(step) {
  const found = state.found;
  if (!found || !found.length) return;
  state.at = (state.at + step + found.length) % found.length;
  for (const [id, node] of nodeById) if (node === found[state.at]) return chooseNode(id);
}

// ---- keyboard: / searches, Enter goes from match to match, Esc leaves, arrows go along the edges ----

function stepFrom(id, key) {
  const beside = key === "ArrowUp" ? neighboursOf(`n${id}`, "from")
    : key === "ArrowDown" ? neighboursOf(`n${id}`, "to") : null;
  if (beside) {
    const next = beside.find((box) => box.startsWith("n"));
    return next == null ? null : Number(next.slice(1));
  }
  const all = data.node_ids;
  return all[all.indexOf(id) + (key === "ArrowRight" ? 1 : -1)];
}

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const inField = event.target.closest("input, select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      byId("search").value = "";
      byId("search").blur();
      Object.assign(state, { chosen: null, found: null, at: -1 });
      writeAddress(null);
      showOverview();
      mark(false);
    } else if (event.key === "Enter" && event.target === byId("search")) {
      event.preventDefault();
      chooseMatch(event.shiftKey ? -1 : 1);
    } else if (inField) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      byId("search").focus();
    } else if (event.key.startsWith("Arrow") && state.chosen?.node != null) {
      event.preventDefault();
      const next = stepFrom(state.chosen.node, event.key);
      if (next != null) chooseNode(next);
    }
  });
}

function showReasons() {
  byId("reasons").replaceChildren(...data.reasons.map((reason) => make("button", {
    type: "button", "aria-pressed": "false", "data-code": reason.code,
    onclick: (event) => {
      Object.assign(state, { filter: state.filter === reason.code ? null : reason.code, found: null });
      for (const button of byId("reasons").children) button.setAttribute("aria-pressed", "false");
      event.target.setAttribute("aria-pressed", String(state.filter != null));
      mark(false);
      filterTable();
    },
    title: reason.code,
  }, `${wordsOf(reason.code)} ${count(reason.count)}`)));
}

// ---- coverage and timeline ----

function showCoverage() {
  byId("coverage").replaceChildren(...data.coverage.map((one) => make("div", { class: "card" },
    make("b", {}, one.text), make("span", {}, `${one.what} on the accelerator`),
    make("div", { class: "bar" }, make("i", { style: `width:${one.ratio * 100}%` })))));
}

// Where the time of an inference goes, as one bar.
function showTime() {
  const all = data.time.reduce((sum, one) => sum + one.us, 0);
  byId("time").hidden = all <= 0;
  if (all <= 0) return;
  const shares = data.time.filter((one) => one.us > 0);
  byId("time").replaceChildren(
    make("div", { class: "stack" }, ...shares.map((one) => make("i", {
      class: one.kind, style: `width:${one.us / all * 100}%`, title: `${one.what} ${one.text}`,
    }))),
    make("p", {}, ...shares.map((one) => make("span", {}, make("span", { class: `key ${one.kind}` }),
      ` ${one.what} ${one.text}`))));
  byId("timeline-by").append(make("option", { value: "time" }, "time"));
}

function showTimeline() {
  const isNamed = data.parts.length <= 2000;
  byId("strip").classList.toggle("many", data.parts.length > 150);
  byId("strip").replaceChildren(...data.parts.map((part, index) => make("button", {
    type: "button", class: part.acc ? "acc" : "cpu",
    style: part.fill ? `background:${part.fill};border-color:${part.line};color:#1c2227` : null, title: `${part.name}: ${counted(part.nodes, "node")}`,
    onclick: () => choosePart(index),
  }, isNamed ? part.name : "")));
  sizeTimeline();
}

let stripScale = 1;

// What is at x pixels from the left stays there.
function zoomStrip(factor, x = byId("timeline").clientWidth / 2) {
  const [outer, strip] = [byId("timeline"), byId("strip")];
  const at = (outer.scrollLeft + x) / strip.clientWidth;
  stripScale = Math.min(Math.max(stripScale * factor, 1), Math.max(data.parts.length, 1));
  strip.style.width = `${stripScale * 100}%`;
  hideNarrowNames();
  outer.scrollLeft = at * strip.clientWidth - x;
}

function listenToStrip() {
  byId("strip-in").addEventListener("click", () => zoomStrip(2));
  byId("strip-out").addEventListener("click", () => zoomStrip(0.5));
  byId("timeline").addEventListener("wheel", (event) => {
    if (event.deltaY === 0) return;  // sideways: it scrolls
    event.preventDefault();
    zoomStrip(Math.exp(-event.deltaY * 0.003), event.clientX - byId("timeline").getBoundingClientRect().left);
  }, { passive: false });
}

function sizeTimeline() {
  const by = byId("timeline-by").value;
  const sizes = data.parts.map((part) => Array.isArray(part[by]) ? part[by][0] : part[by]);
  const least = Math.max(...sizes, 1) / 200;
  for (const [i, button] of [...byId("strip").children].entries()) {
    button.style.flexGrow = Math.max(sizes[i], least);
  }
  hideNarrowNames();
}

// A name that has no room is not shown: the tooltip and the table have it.
function hideNarrowNames() {
  const buttons = [...byId("strip").children];
  for (const button of buttons) button.classList.remove("narrow");
  const narrow = buttons.filter((button) => button.scrollWidth > button.clientWidth);
  for (const button of narrow) button.classList.add("narrow");
}

// ---- tables ----

// A column: its title, a cell's text, what it sorts by (else the text), whether it is a number.
const kTables = {
  "Partitions": {
    rows: () => data.parts.map((part, index) => ({ part, index })),
    get columns() { return [
      { title: "partition", cell: (row) => link(row.part.name, () => choosePart(row.index)), sort: (row) => row.index },
      { title: "on", cell: (row) => deviceOf(row.part) },
      { title: "nodes", sort: (row) => row.part.nodes, cell: (row) => count(row.part.nodes), number: true },
      ...["in", "out", "parameters", "flops", "qps", ...(data.time.length ? ["time"] : [])].map((field) => ({
        title: { flops: "work", qps: "QPS" }[field] || field,
        sort: (row) => row.part[field][0], cell: (row) => row.part[field][1], number: true,
      })),
    ]; },
  },
  "Nodes on the CPU": {
    rows: () => [...nodeById].filter(([, node]) => node[REASON] && (state.filter == null || node[REASON][0] === state.filter))
      .map(([id, node]) => ({ id, node })),
    columns: [
      { title: "node", cell: (row) => link(row.node[NAME], () => chooseNode(row.id)), sort: (row) => row.id },
      { title: "op type", cell: (row) => row.node[OP] },
      { title: "reason", cell: (row) => make("span", { title: row.node[REASON][0] }, wordsOf(row.node[REASON][0])),
        sort: (row) => wordsOf(row.node[REASON][0]) },
      { title: "why", cell: (row) => row.node[REASON][1] },
      { title: "partition", cell: (row) => data.parts[row.node[PART]].name, sort: (row) => row.node[PART] },
    ],
  },
  "Op types": {
    rows: () => data.ops,
    columns: [
      { title: "op type", cell: (row) => row.op },
      ...["nodes", "acc", "cpu"].map((field) => ({
        title: { acc: "on the accelerator", cpu: "on the CPU" }[field] || field,
        sort: (row) => row[field], cell: (row) => count(row[field]), number: true,
      })),
    ],
  },
};
const kMostRows = 2000;
const shown = { table: "Partitions", column: 0, falling: false };

function sortKey(column, row) {
  return column.sort ? column.sort(row) : column.cell(row);
}

function sortedRows(table) {
  const column = table.columns[shown.column];
  return table.rows().sort((a, b) => {
    const [x, y] = [sortKey(column, a), sortKey(column, b)];
    return (x < y ? -1 : x > y ? 1 : 0) * (shown.falling ? -1 : 1);
  });
}

function showTable() {
  const table = kTables[shown.table];
  const rows = sortedRows(table);
  const heads = table.columns.map((one, i) => make("th", {
    class: one.number && "number", "aria-sort": i !== shown.column ? "none" : shown.falling ? "descending" : "ascending",
  }, make("button", { type: "button", onclick: () => sortBy(i) },
    one.title + (i === shown.column ? (shown.falling ? " \u2193" : " \u2191") : ""))));
  const body = rows.slice(0, kMostRows).map((row) => make("tr", {},
    ...table.columns.map((one) => make("td", { class: one.number && "number" }, one.cell(row)))));
  const tabs = Object.keys(kTables).map((name) => make("button", {
    type: "button", "aria-pressed": String(name === shown.table),
    onclick: () => { Object.assign(shown, { table: name, column: 0, falling: false }); showTable(); },
  }, name));
  const save = make("button", { type: "button", id: "save-csv", title: "this table as a file", onclick: exportCsv }, "CSV");
  byId("tables").replaceChildren(make("nav", {}, ...tabs, make("span", { class: "spring" }), save),
    make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body))),
    rows.length > kMostRows ? make("p", {}, `the first ${count(kMostRows)} of ${count(rows.length)}`) : "");
}

function sortBy(column) {
  const isNumber = kTables[shown.table].columns[column].number;
  shown.falling = shown.column === column ? !shown.falling : Boolean(isNumber);
  shown.column = column;
  showTable();
}

function filterTable() {
  if (state.filter != null) Object.assign(shown, { table: "Nodes on the CPU", column: 0, falling: false });
  showTable();
}

// ---- start ----

// Of several targets: a table of them, with the bytes to each; the drawing has a colour for each.
function offerDevices() {
  if (!data.devices) return;
  kTables.Devices = {
    rows: () => data.devices,
    columns: [
      { title: "device", cell: (row) => row.name },
      { title: "nodes", sort: (row) => row.nodes, cell: (row) => count(row.nodes), number: true },
      { title: "partitions", sort: (row) => row.parts, cell: (row) => count(row.parts), number: true },
      ...["weights", "peak"].map((field) => ({
        title: field, sort: (row) => (row[field] || [0])[0], cell: (row) => (row[field] || [0, "-"])[1], number: true,
      })),
      ...data.devices.map((one, to) => ({
        title: `bytes to ${one.name}`, sort: (row) => row.to[to][0], cell: (row) => row.to[to][1], number: true,
      })),
    ],
  };
  canvas.classList.add("devices");
  const keys = (words) => data.devices.filter((one) => one.fill).flatMap((one) => [
    make("span", { class: "key", style: `background:${one.fill};border-color:${one.line}` }), ` ${words}${one.name} `]);
  byId("strip-keys").replaceChildren(...keys(""));
  byId("support-keys").replaceChildren(...keys("on "));
}

function start() {
  nodeById = new Map(data.node_ids.map((id, i) => [id, data.nodes[i]]));
  showCoverage();
  showTime();
  offerHeats();
  offerDevices();
  showTimeline();
  showReasons();
  showTable();
  listenToPointer();
  listenToStrip();
  byId("timeline-by").addEventListener("change", sizeTimeline);
  byId("color-by").addEventListener("change", chooseHeat);
  byId("search").addEventListener("input", search);
  byId("zoom-in").addEventListener("click", () => zoom(1.3));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.3));
  byId("zoom-fit").addEventListener("click", () => fit(0.02));
  byId("save-svg").addEventListener("click", exportSvg);
  listenToKeys();
  window.addEventListener("hashchange", readAddress);
  window.addEventListener("resize", () => { fit(0.8); sizeTimeline(); });
  openView(0);
  readAddress();
}

readData().then((read) => { data = read; start(); }, (why) => {
  byId("side").textContent = `This browser cannot read the page's data (${why}): the text below has all of it.`;
});
