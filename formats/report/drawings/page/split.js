// The page of one split: its partitions, its graph and why nodes are on the CPU.

const canvas = byId("canvas");
let drawing = null, strip = null, tables = null;
let nodeById = null;
const wordsOf = (code) => data.reasons.find((reason) => reason.code === code).words || "not told";

// ---- state: the view that is open, what is chosen, what is filtered ----

// `found`: the nodes that the search finds, in model order, and which of them Enter chose last.
const state = { chosen: null, filter: null, found: null, at: -1 };

function chooseNode(id) {
  const node = nodeById.get(id);
  if (!node) return;
  state.chosen = { node: id };
  drawing.openAt(id);
  showNode(id);
  mark(true);
  showMatches();
  bringIntoView(canvas);
  writeAddress(node[NAME]);
}

function readAddress() {
  const part = data.parts.findIndex((one) => one.name === nameInAddress("part"));
  if (part >= 0) return choosePart(part);
  const name = nameInAddress();
  if (name == null) return;
  for (const [id, node] of nodeById) if (node[NAME] === name) return chooseNode(id);
  showMessage(name, "No node of this name is on the page.");
}

// Its view; or, where it has none, the one in which its first node is.
function choosePart(part) {
  Object.assign(state, { chosen: { part }, found: null });
  showPart(part);
  const view = data.views.findIndex((one) => one.title === data.parts[part].name);
  if (view >= 0 && data.views[view].svg) drawing.open(view);
  else for (const [id, node] of nodeById) if (node[PART] === part) { drawing.openAt(id); break; }
  mark(true);
  showMatches();
  bringIntoView(canvas);
  writeAddress(data.parts[part].name, "part");
}

// Shows another view, with nothing chosen.
function openView(view) {
  state.chosen = null;
  if (drawing.open(view)) showOverview();
}

function enterGroup(view) {
  if (data.views[view].svg) return openView(view);
  showMessage(data.views[view].title, `${counted(data.views[view].nodes, "node")}: too many to draw. ` +
    "Search for a node by name, or draw the partition alone with cleave draw.");
}

// What is chosen and what the filter hits.
function mark(moveThere) {
  drawing.mark(state.chosen?.node, filterOf(state), moveThere);
  strip.mark(state.chosen?.part);
}

// Which nodes stand out: those that the search finds; else those of the reason that is filtered for, else
// of the partition chosen.
function filterOf({ filter, chosen, found }) {
  if (found && found.length) {
    const hits = new Set(found);
    return (node) => hits.has(node);
  }
  if (filter != null) return (node) => node[REASON] && node[REASON][0] === filter;
  if (chosen?.part != null) return (node) => node[PART] === chosen.part;
  return null;
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
  byId("heat-legend").replaceChildren(...(heat ? heat.classes : []).map((name, i) => entry(`heat${i}`, name)));
  colourBoxes();
}

function colourBoxes() {
  for (const [id, box] of drawing.boxes) {
    for (const old of [...box.classList]) if (old.startsWith("heat")) box.classList.remove(old);
    const amount = !heat ? null : id.startsWith("n") ? heatOfNode.get(Number(id.slice(1)))
      : id.startsWith("g") ? heat.views[Number(id.slice(1))] : null;
    if (amount) box.classList.add("heat", `heat${amount[0]}`);
  }
}

// ---- beside the drawing ----

const side = byId("side");

function showMessage(title, text) {
  side.replaceChildren(make("h3", {}, title), make("p", {}, text));
}

function showNode(id) {
  const node = nodeById.get(id);
  const part = data.parts[node[PART]];
  const blamed = node[BECAUSE] == null ? null : nodeById.get(node[BECAUSE]);
  side.replaceChildren(make("h3", {}, node[NAME]), terms([
    ["op type", node[OP]],
    ["runs on", deviceOf(part)],
    ...(node[REASON] ? [] : whyNotOf(id)).map((text) => ["not on", text]),  // else they are why
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
  const beside = drawing.neighboursOf(id, direction).filter((box) => nameOfBox(box) != null);
  if (!beside.length) return null;
  const rows = beside.slice(0, kMostNeighbours).map((box) => make("li", {}, link(nameOfBox(box), () => {
    const number = Number(box.slice(1));
    if (box.startsWith("n")) chooseNode(number);
    else enterGroup(number);
  })));
  const more = beside.length - rows.length;
  return make("ol", { class: direction }, ...rows, more > 0 ? make("li", {}, `and ${count(more)} more`) : null);
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
    ["bytes in", part.in[1]],
    ["bytes out", part.out[1]],
    ["parameters", part.parameters[1]],
    ["work", part.flops[1]],
    ["time", part.time && part.time[1]],
    ["link allows", part.acc && data.has_link && part.qps[0] >= 0 ? `${part.qps[1]} QPS${part.bottleneck ? ": the bottleneck" : ""}` : null],
    ["look at", part.hazards.join("; ")],
  ]));
}

function showOverview() {
  const most = 12;
  const more = data.causes.length - most;
  const causes = data.causes.slice(0, most).map((cause) => make("li", {},
    link(cause.text, () => showCause(cause)), make("small", {}, ` ${counted(cause.count, "node")}`)));
  side.replaceChildren(
    make("h3", {}, !causes.length ? "All nodes are on the accelerator"
      : data.devices ? "Why targets do not run nodes" : "Why nodes are on the CPU"),
    make("ol", {}, ...causes),
    ...(more > 0 ? [make("p", {}, `... and ${counted(more, "more cause")}`)] : []),
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
    showMatches();
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
  if (found === 1) drawing.openAt(hits[0]);
  mark(found === 1);
  showMatches();
  side.replaceChildren(make("h3", {}, counted(found, "node") + " found"), make("ol", {}, ...hits.map((id) =>
    make("li", {}, link(nodeById.get(id)[NAME], () => chooseNode(id)), make("small", {}, " " + nodeById.get(id)[OP])))),
    found > kMostHits ? make("small", {}, `and ${count(found - kMostHits)} more`) : "");
}

// "2 of 17", beside the search.
function showMatches() {
  const { found, at } = state;
  byId("matches").textContent = !found ? "" : !found.length ? "none" : at < 0 ? counted(found.length, "match", "matches")
    : `${count(at + 1)} of ${count(found.length)}`;
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
  const beside = key === "ArrowUp" ? drawing.neighboursOf(`n${id}`, "from")
    : key === "ArrowDown" ? drawing.neighboursOf(`n${id}`, "to") : null;
  if (beside) {
    const next = beside.find((box) => box.startsWith("n") && nodeById.has(Number(box.slice(1))));
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
      showMatches();
    } else if (event.key === "Enter" && event.target === byId("search")) {
      event.preventDefault();
      chooseMatch(event.shiftKey ? -1 : 1);
    } else if (event.key === "/" && !event.target.closest("input, textarea")) {
      event.preventDefault();
      byId("search").focus();
    } else if (inField) {
      return;
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

// ---- time ----

// Where the time of an inference goes, as one bar.
function showTime() {
  const all = data.time.reduce((sum, one) => sum + one.us, 0);
  byId("time").hidden = all <= 0;
  if (all <= 0) return;
  const shares = data.time.filter((one) => one.us > 0);
  byId("time").replaceChildren(
    make("div", { class: "stack" }, ...shares.map((one) => make("i", {
      class: one.target == null ? one.kind : targetKind(one.target), style: `width:${one.us / all * 100}%`, title: `${one.what} ${one.text}`,
    }))),
    make("p", {}, ...shares.map((one) => entry(one.target == null ? one.kind : targetKind(one.target), `${one.what} ${one.text}`))));
  byId("timeline-by").append(make("option", { value: "time" }, "time"));
}

// ---- tables ----

// The sort, the cell and the CSV of a column of amounts: each a pair of the number and its text. What is not
// known is "?", or at least the number when its text ends in "+".
const amount = (of) => ({ number: true, sort: (row) => of(row)[0], cell: (row) => of(row)[1],
  csv: (row) => ["?", "-"].includes(of(row)[1]) || of(row)[0] < 0 ? "" : String(of(row)[0]) });
const plain = (number) => [number, count(number)];

const kTables = {
  "Partitions": {
    rows: () => data.parts.map((part, index) => ({ part, index })),
    get columns() { return [
      { title: "partition", cell: (row) => link(row.part.name, () => choosePart(row.index)), sort: (row) => row.index },
      { title: "on", cell: (row) => deviceOf(row.part) },
      { title: "nodes", ...amount((row) => plain(row.part.nodes)) },
      ...["in", "out", "parameters", "flops", ...(data.rate_heading ? ["qps"] : []), ...(data.time.length ? ["time"] : [])].map((field) => ({
        title: { flops: "work", qps: data.rate_heading }[field] || field,
        unit: { in: "bytes", out: "bytes", parameters: "bytes", flops: "FLOP", time: "us" }[field],
        ...amount((row) => row.part[field]),
      })),
    ]; },
  },
  "Nodes on the CPU": {
    rows: () => [...nodeById].filter(([, node]) => node[REASON] && (state.filter == null || node[REASON][0] === state.filter))
      .map(([id, node]) => ({ id, node })),
    columns: [
      { title: "node", cell: (row) => link(row.node[NAME], () => chooseNode(row.id)), sort: (row) => row.node[NAME] },
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
        ...amount((row) => plain(row[field])),
      })),
    ],
  },
};
function filterTable() {
  if (state.filter != null) tables.select("Nodes on the CPU");
  else tables.show();
}

// The open view with a title and what its colours mean.
function savePicture() {
  const model = document.title.split(" - ")[0], view = drawing.view === 0 ? "" : data.views[drawing.view].title;
  const legend = heat ? byId("heat-legend") : byId("support-legend");
  drawing.save(view ? `${model}-${view}` : model, view ? `${model}: ${view}` : model, [...legend.querySelectorAll(".entry")]);
}

// ---- start ----

// Of several targets: a table of them, with the bytes to each; the drawing has a colour for each.
function offerDevices() {
  if (!data.devices) return;
  kTables.Devices = {
    rows: () => data.devices.map((row, index) => ({ ...row, index })),
    columns: [
      { title: "device", sort: (row) => row.index, cell: (row) => row.name },
      { title: "nodes", ...amount((row) => plain(row.nodes)) },
      { title: "partitions", ...amount((row) => plain(row.parts)) },
      ...["weights", "peak"].map((field) => ({ title: field, unit: "bytes", ...amount((row) => row[field] || [0, "-"]) })),
      ...(data.time.length ? ["compute", "link", "launches"] : []).map((field) => ({
        title: field, ...amount((row) => row[field] || [0, "-"]),
      })),
      ...data.devices.map((one, to) => ({ title: `bytes to ${one.name}`, ...amount((row) => row.to[to]) })),
    ],
  };
  canvas.classList.add("devices");
  const keys = (words) => data.devices.filter((one) => one.target != null)
    .map((one) => entry(targetKind(one.target), `${words}${one.name}`));
  byId("strip-keys").replaceChildren(...keys(""));
  byId("support-keys").replaceChildren(...keys("on "));
}

function start() {
  drawing = new Drawing(canvas, data, {
    node: chooseNode, group: enterGroup,
    opened: () => { colourBoxes(); drawing.showPath(byId("path"), openView); mark(false); },
  });
  nodeById = drawing.nodes;
  strip = new Strip(byId("timeline"), data.parts, choosePart);
  strip.strip.id = "strip";
  byId("strip-legend").classList.toggle("solid", data.parts.length > 150);
  tables = new Tables(byId("tables"), kTables, "Partitions", null);
  showCoverage(byId("coverage"), data.coverage.map((one) => ({ ...one, what: `${one.what} on the accelerator` })));
  showTime();
  offerHeats();
  offerDevices();
  const sizeStrip = () => strip.size(byId("timeline-by").value);
  sizeStrip();
  showReasons();
  tables.show();
  byId("timeline-by").addEventListener("change", sizeStrip);
  byId("strip-in").addEventListener("click", () => strip.zoom(2));
  byId("strip-out").addEventListener("click", () => strip.zoom(0.5));
  byId("color-by").addEventListener("change", chooseHeat);
  byId("search").addEventListener("input", search);
  byId("zoom-in").addEventListener("click", () => drawing.zoom(1.3));
  byId("zoom-out").addEventListener("click", () => drawing.zoom(1 / 1.3));
  byId("zoom-fit").addEventListener("click", () => drawing.fit(0.02));
  byId("save-svg").addEventListener("click", savePicture);
  listenToKeys();
  window.addEventListener("hashchange", readAddress);
  new ResizeObserver(() => drawing.resized()).observe(canvas);
  window.addEventListener("resize", sizeStrip);
  openView(0);
  readAddress();
}

startWithData(start);
