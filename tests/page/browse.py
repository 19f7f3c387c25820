#!/usr/bin/env python3
"""Opens HTML reports in headless Chromium as a reader would: looks at what is shown, clicks a node,
opens a group, filters by reason, searches, sorts. Fails on anything that the console reports.

usage: browse.py CLEAVE SAMPLES [--shots DIR]
Exits 77 (ctest: skipped) where there is no Chromium with its driver.
"""

import argparse
import html
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --window-size=1500,1300
--disable-background-networking --disable-component-update --disable-sync""".split()


def start_browser(profile: str, *more: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS, *more, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


class Page:
    """One report in the browser."""

    def __init__(self, browser: webdriver.Chrome, path: pathlib.Path):
        self.browser = browser
        browser.get(path.as_uri())
        WebDriverWait(browser, 30).until(lambda _: self.all("#tables table"))

    def all(self, selector: str) -> list:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return self.one(selector).text

    def click(self, element) -> None:
        """As a hand does: where the element is seen, not by its handler."""
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.browser).move_to_element(element).click().perform()

    def side(self) -> str:
        return self.text("#side")

    def check_console(self) -> None:
        said = self.browser.get_log("browser")
        assert not said, f"the console says: {json.dumps(said, indent=1)}"


def make_page(cleave: str, model: pathlib.Path, support: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    page = folder / (model.stem + ".html")
    subprocess.run([cleave, "preview", model, "-s", support, "--html", page, "--force"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return page


def chain(count: int, rare: int = 50) -> dict:
    """A model of `count` nodes in ten scopes, one node in `rare` of an op that no list names, and one
    node whose name would be markup."""
    nodes: list[dict] = []
    for i in range(count):
        op = "Odd" if i % rare == rare - 1 else "Relu"
        name = "<img src=x onerror=alert(1)>&\"'" if i == 7 else f"n{i}"
        nodes.append({"name": name, "op": op, "inputs": [nodes[-1]["outputs"][0]["name"] if nodes else "x"],
                      "scope": f"block{i * 10 // count}.layer{i * 100 // count}",
                      "outputs": [{"name": f"v{i}", "dtype": "float32", "shape": [1, 64]}]})
    return {"format": "cleave.graph", "version": 1, "name": "chain",
            "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 64]}],
            "outputs": [f"v{count - 1}"], "parameters": [], "nodes": nodes}


def branch_and_readers() -> onnx.ModelProto:
    """x -> If -> Relu, whose value eight nodes read, and a sum of all."""
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
    body = lambda op, name: helper.make_graph([helper.make_node(op, ["x"], [name], f"inner_{name}")], name, [],
                                              [value(name)])
    nodes = [helper.make_node("If", ["c"], ["chosen"], "branch", then_branch=body("Abs", "then"),
                              else_branch=body("Neg", "else")),
             helper.make_node("Relu", ["chosen"], ["r"], "relu")]
    nodes += [helper.make_node("Exp", ["r"], [f"e{i}"], f"exp{i}") for i in range(8)]
    nodes.append(helper.make_node("Sum", [f"e{i}" for i in range(8)], ["y"], "sum"))
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    return helper.make_model(helper.make_graph(nodes, "readers", [value("x"), condition], [value("y")]),
                             opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def check_small(page: Page) -> None:
    """A model whose nodes are all drawn in one picture."""
    assert "66 of 69 nodes" in page.text("#conclusion")
    assert len(page.all("#timeline button")) == 4
    assert len(page.all("#canvas g.node.acc")) == 66
    assert len(page.all("#canvas g.node.unsupported")) == 3
    assert len(page.all("#timeline .narrow")) == 3  # names without room
    assert len(page.all("#canvas .titles text")) == 4
    assert page.all("#canvas .graph > g")[-1].get_attribute("class") == "titles"  # in front
    chips = [(chip.text, chip.get_attribute("title")) for chip in page.all("#reasons button")]
    assert chips == [("no rule 2", "no_rule"), ("rule fails 1", "rule_failed")], chips
    page.click(page.one("#canvas g.node.unsupported"))
    assert page.side().startswith("conv1\n") and "on input 0" in page.side() or "rule" in page.side(), page.side()
    assert page.one("#canvas g.node.chosen").text.startswith("Conv2d")
    assert ["stride", "[2, 2]"] in [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")]
                                    for row in page.all("#side table tr")], page.side()
    page.click(page.one("#reasons button[data-code=no_rule]"))
    assert len(page.all("#canvas g.node.hit")) == 2
    assert len(page.all("#tables tbody tr")) == 2
    page.click(page.one("#reasons button[data-code=no_rule]"))
    assert not page.all("#canvas g.node.hit")
    page.one("#search").send_keys("maxpool")
    hits = page.all("#side li button")
    assert [hit.text for hit in hits] == ["maxpool"]
    page.click(hits[0])
    assert page.side().startswith("maxpool\n") and "accelerator" in page.side()
    page.click(page.all("#tables nav button")[0])
    page.click(page.all("#tables th button")[2])
    assert page.all("#tables tbody td")[0].text == "_run_on_acc_1"
    page.click(page.all("#timeline button")[2])
    assert page.side().startswith("_run_on_cpu_2\n")
    assert len(page.all("#canvas g.node.hit")) == 2
    check_colours(page)
    check_keys(page)
    check_resize(page)


def style(page: Page, element, name: str) -> str:
    return page.browser.execute_script("return getComputedStyle(arguments[0])[arguments[1]]", element, name)


def check_colours(page: Page) -> None:
    """By FLOPs the shapes have the colours of the legend, and letters have no outline."""
    page.one("#color-by option[value=flops]").click()
    box = page.one("#canvas g.node.acc.heat1")
    key = page.one("#heat-legend .key.heat1")
    assert style(page, box.find_element(By.CSS_SELECTOR, "path"), "fill") == style(page, key, "backgroundColor")
    letters = box.find_element(By.CSS_SELECTOR, "text")
    assert style(page, letters, "stroke") == "none" and style(page, letters, "fill") == "rgb(17, 17, 17)"
    assert page.one("#heat-legend").is_displayed() and not page.one("#support-legend").is_displayed()
    page.one("#color-by option[value='']").click()


def check_resize(page: Page) -> None:
    """A node that is chosen stays in view when the window has another size; the wheel scrolls the page."""
    page.browser.execute_script("location.hash = '#node=layer3_0_conv1'")
    WebDriverWait(page.browser, 5).until(lambda _: page.text("#side h3") == "layer3_0_conv1")
    for width in (1200, 700, 1500):
        page.browser.set_window_size(width, 1300)
        WebDriverWait(page.browser, 5).until(lambda _: is_inside(page.one("#canvas g.node.chosen"), page.one("#canvas")))
    before = page.one("#canvas svg").get_attribute("style")
    page.browser.execute_script("""arguments[0].dispatchEvent(
      new WheelEvent("wheel", {deltaY: 100, bubbles: true, cancelable: true}))""", page.one("#canvas"))
    assert page.one("#canvas svg").get_attribute("style") == before


def is_inside(inner, outer) -> bool:
    a, b = inner.rect, outer.rect
    return b["x"] <= a["x"] and b["y"] <= a["y"] and a["x"] + a["width"] <= b["x"] + b["width"] \
        and a["y"] + a["height"] <= b["y"] + b["height"]


def check_keys(page: Page) -> None:
    """The address of a node, the keyboard, matches in the drawing, neighbours, copies and files."""
    press = lambda *keys: ActionChains(page.browser).send_keys(*keys).perform()
    where = lambda: page.browser.execute_script("return location.hash")
    heading = lambda: page.text("#side h3")
    chosen = lambda: page.one("#canvas g.node.chosen").text.split("\n")[0]
    press(Keys.ESCAPE)
    assert where() == "" and not page.all("#canvas g.node.chosen")
    press("/")
    assert page.browser.switch_to.active_element.get_attribute("id") == "search"
    press("relu")
    found = len(page.all("#canvas g.node.hit"))
    assert found == 17 and page.side().startswith("17 nodes found"), (found, page.side())
    press(Keys.ENTER)
    first = heading()
    assert page.text("#matches") == "1 of 17", page.text("#matches")
    assert where() == "#node=" + first and chosen() == "ReLU", (where(), chosen())
    press(Keys.ENTER)
    assert heading() != first
    press(Keys.SHIFT, Keys.ENTER, Keys.NULL)
    press(Keys.ESCAPE)
    assert where() == "" and not page.all("#canvas g.node.hit")
    page.browser.execute_script("location.hash = '#node=maxpool'")
    WebDriverWait(page.browser, 5).until(lambda _: page.all("#canvas g.node.chosen"))
    assert heading() == "maxpool"
    before = [one.text for one in page.all("#side ol.from li")]
    after = [one.text for one in page.all("#side ol.to li")]
    assert before == ["relu"] and len(after) == 2, (before, after)
    press(Keys.ARROW_UP)
    assert heading() == "relu", heading()
    press(Keys.ARROW_DOWN)
    assert heading() == "maxpool"
    press(Keys.ARROW_RIGHT)
    assert heading() != "maxpool" and where() == "#node=" + heading()
    press(Keys.ARROW_LEFT)
    page.click(page.one("#copy-name"))
    WebDriverWait(page.browser, 5).until(lambda _: page.text("#copy-name") == "copied")
    picture, table = save_all(page, "#save-svg", "#save-csv")
    assert picture.startswith("<svg") and "rgb(" in picture and "Conv2d" in picture
    assert table.startswith("partition,on,nodes,in (bytes),") and "_run_on_acc_1,accelerator,65," in table, table
    assert all(cell.replace(".", "").isdigit() for cell in table.split("\r\n")[2].split(",")[2:7]), table
    assert 'paint-order="stroke"' in picture and ">resnet18</text>" in picture, "a title, and halos behind the letters"
    assert picture.count("supported, kept on the CPU") == 1, "a legend"
    check_order(page)
    top = page.one("#graph").location["y"]
    assert top < 500, f"the graph begins at {top}"


def check_order(page: Page) -> None:
    """What is not known is last, both ways; the third click gives the order of calls."""
    page.click(next(tab for tab in page.all("#tables nav button") if tab.text.startswith("Partitions")))
    heads = [head.text for head in page.all("#tables th")]
    column = next(i for i, head in enumerate(heads) if head.startswith("QPS"))
    shown = lambda: [row.find_elements(By.CSS_SELECTOR, "td")[column].text for row in page.all("#tables tbody tr")]
    first = shown()
    assert "-" in first and not any("\u2191" in head or "\u2193" in head for head in heads), (first, heads)
    for _ in range(2):
        page.click(page.all("#tables th button")[column])
        assert shown()[-first.count("-"):] == ["-"] * first.count("-"), shown()
    page.click(page.all("#tables th button")[column])
    assert shown() == first


def check_bodies(page: Page) -> None:
    """A node with bodies, and a value with many readers."""
    assert page.one("#data").get_attribute("type") == "application/json"
    assert len(page.all("#canvas g.junction")) == 1
    in_a_row, readers = 5, 8  # x, c -> If -> Relu -> junction, and the sum -> y
    assert len(page.all("#canvas g.edge")) == in_a_row + 2 * readers
    page.one("#search").send_keys("branch")
    page.click(page.all("#side li button")[0])
    bodies = page.all("#side details")
    assert [body.text for body in bodies] == ["else_branch: 1 node", "then_branch: 1 node"], page.side()
    page.click(bodies[0].find_element(By.CSS_SELECTOR, "summary"))
    assert bodies[0].text == "else_branch: 1 node\nNeg inner_else", bodies[0].text


def check_large(page: Page) -> None:
    """A model that is drawn as groups to open."""
    assert page.one("#data").get_attribute("type") == "application/gzip"
    strip, seen = page.one("#strip"), page.one("#timeline")
    assert strip.size["width"] == seen.size["width"]
    for _ in range(3):
        page.click(page.one("#strip-in"))
    assert abs(strip.size["width"] / seen.size["width"] - 8) < 0.01
    page.click(page.one("#strip-out"))
    assert abs(strip.size["width"] / seen.size["width"] - 4) < 0.01
    assert "4,900 of 5,000 nodes" in page.text("#conclusion")
    groups = page.all("#canvas g.node.mixed")
    assert 2 <= len(groups) <= 80, len(groups)
    page.click(groups[0])
    assert len(page.all("#path button")) == 1
    page.one("#search").send_keys("onerror")
    hits = page.all("#side li button")
    assert [hit.text for hit in hits] == ["<img src=x onerror=alert(1)>&\"'"]
    page.click(hits[0])
    assert page.side().startswith("<img src=x onerror=alert(1)>&\"'\n")
    assert page.one("#canvas g.node.chosen") is not None
    assert not page.all("#side img, #canvas img")
    check_neighbours(page)
    page.click(page.all("#path button")[0])
    assert not page.all("#path button")
    page.click(page.one("#reasons button[data-code=no_rule]"))
    assert page.all("#canvas g.node.hit")
    assert len(page.all("#tables tbody tr")) == 100


def check_neighbours(page: Page) -> None:
    """Of a model in groups, too, arrows go along the edges, and the neighbours are listed."""
    press = lambda *keys: ActionChains(page.browser).send_keys(*keys).perform()
    name = page.text("#side h3")
    before = [one.text for one in page.all("#side ol.from li")]
    assert len(before) == 1 and len(page.all("#side ol.to li")) == 1, page.side()
    press(Keys.ARROW_UP)
    assert page.text("#side h3") == before[0], page.text("#side h3")
    press(Keys.ARROW_DOWN)
    assert page.text("#side h3") == name
    page.one("#search").clear()


def check_many(page: Page) -> None:
    """More partitions than there are columns: none is out of view, and a click shows some of them apart."""
    strip, seen = page.one("#strip"), page.one("#timeline")
    columns = page.all("#strip button")
    assert strip.size["width"] == seen.size["width"] and 100 < len(columns) <= seen.size["width"] / 4, len(columns)
    last = columns[-1].rect
    assert abs(last["x"] + last["width"] - seen.rect["x"] - seen.size["width"]) < 2
    assert "3,000 parts in" in page.text(".columns")
    assert len(page.all("#strip button[tabindex='0']")) == 1
    page.click(columns[len(columns) // 2])
    assert len(page.all("#strip button")) > len(columns)
    for _ in range(2):
        page.click(page.one("#strip-in"))
    alone = next(one for one in page.all("#strip button:not(.column)") if is_inside(one, seen))
    page.click(alone)
    assert page.side().startswith("_run_on_") and len(page.all("#strip .chosen")) == 1
    assert page.browser.execute_script("return location.hash").startswith("#part=_run_on_")
    ActionChains(page.browser).send_keys(Keys.ARROW_RIGHT, Keys.ENTER).perform()
    assert len(page.all("#strip button[tabindex='0']")) == 1


def check_diff(page: Page) -> None:
    """Two splits side by side: a click in one finds the node in both."""
    assert len(page.all(".pane")) == 2
    assert [len(pane.find_elements(By.CSS_SELECTOR, ".strip button")) for pane in page.all(".pane")] == [4, 3]
    assert page.text("#tables nav button") == "Nodes that moved (1)", page.text("#tables nav")
    moved = [row.text for row in page.all("#tables tbody tr td:first-child")]
    assert all(is_inside(box, canvas) for box, canvas in zip(page.all(".canvas g.node.hit"), page.all(".canvas"))), "in view"
    assert moved == ["conv1"] and len(page.all(".canvas g.node.hit")) == 2, moved
    page.click(page.one("#tables tbody td:first-child button.link"))
    assert [box.text.split("\n")[0] for box in page.all(".canvas g.node.chosen")] == ["Conv2d", "Conv2d"]
    assert page.text("#side h3") == "conv1" and page.side().count("runs on") == 2, page.side()
    assert page.browser.execute_script("return location.hash") == "#node=conv1"
    page.click(page.all(".pane")[1].find_elements(By.CSS_SELECTOR, "g.node.acc")[5])
    assert page.text("#side h3") != "conv1" and len(page.all(".canvas g.node.chosen")) == 2
    first, second = (pane.find_element(By.CSS_SELECTOR, ".canvas").rect["y"] for pane in page.all(".pane"))
    assert first == second, "drawings begin at one height"
    cards = [card.text for card in page.all("#coverage .card")]
    assert "before: of 69 nodes" in cards[0] and "after: of 69 nodes" in cards[1], cards
    press = lambda *keys: ActionChains(page.browser).send_keys(*keys).perform()
    press("/")
    press("maxpool", Keys.ENTER)
    assert page.text("#side h3") == "maxpool" and len(page.all(".canvas g.node.chosen")) == 2
    press(Keys.ESCAPE)
    assert not page.all(".canvas g.node.chosen") and not page.side()
    page.click(page.all(".pane .strip button")[1])
    assert page.text("#side h3") == "_run_on_acc_1"
    saved = save_all(page, ".pane button[title='this drawing as a file']", "#save-csv")
    assert saved[0].startswith("<svg") and saved[-1].startswith("node,op type,was on,is on"), saved[-1]


def check_fleet(page: Page) -> None:
    """A table of models by lists: those that fail first, sorted by a click, searched by a word."""
    rows = lambda: [row.text for row in page.all("#tables tbody tr:not(.more)")]
    assert len(page.all("#coverage .card")) == 2
    heads = [head.text for head in page.all("#tables th")]
    assert heads[0] == "model" and len(heads) == 4, heads
    assert "FAIL" in rows()[0] and len(page.all("#tables tr.fails")) >= 1
    page.click(page.all("#tables th button")[1])
    sizes = [int(row.find_elements(By.CSS_SELECTOR, "td")[1].text.replace(",", "")) for row in page.all("#tables tbody tr:not(.more)")]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == 3, sizes
    ActionChains(page.browser).send_keys("/", "resnet").perform()
    assert len(rows()) == 1 and "resnet18" in rows()[0], rows()
    assert page.text("#tables nav button").startswith("Models (1)"), page.text("#tables nav")
    assert "must be at least 90%" in page.text("#tables tr.more"), page.text("#tables tr.more")
    tabs = {tab.text.split(" (")[0]: tab for tab in page.all("#tables nav button")}
    assert {"Models", "Gates", "Why nodes are on the CPU"} <= set(tabs), list(tabs)
    page.click(tabs["Gates"])
    assert all("resnet18" in row for row in rows()), rows()
    assert [head.text for head in page.all("#tables th")][:2] == ["model", "result"]
    scroll = page.one("#tables .scroll")
    assert page.browser.execute_script("return arguments[0].scrollWidth <= arguments[0].clientWidth", scroll)
    ActionChains(page.browser).send_keys(Keys.ESCAPE).perform()
    page.click(next(tab for tab in page.all("#tables nav button") if tab.text.startswith("Why")))
    assert any("AveragePool" in row for row in rows()), rows()


def check_stages(page: Page) -> None:
    """Stages: a strip as wide as their loads, what flows between them, the schedule, and each node's stage."""
    assert len(page.all(".timeline .strip button")) == 3 and len(page.all(".strip .kept")) == 1
    assert len(page.all(".pane .canvas svg")) == 2
    assert len(page.all(".canvas g.work")) == 3 * 4 * 2
    ground = page.one(".canvas .graph > g > a > polygon")
    assert style(page, ground, "fill") == "none", "the drawing has the page's ground"
    assert "fastest: " in page.text("#conclusion") and "yellow" in page.text(".pane p"), page.text(".pane p")
    assert not any("#" in cell.text for cell in page.all("#tables td")), "bars of letters"
    page.click(page.all(".strip button")[0])
    assert page.one("#search").get_attribute("value") == "submod_pp_0"
    page.click(next(tab for tab in page.all("#tables nav button") if tab.text.startswith("Nodes")))
    assert page.all("#tables tbody tr") and all("submod_pp_0" in row.text for row in page.all("#tables tbody tr"))


def check_markers(page: Page) -> None:
    """A model that marks where its stages begin: the marks are in no stage."""
    nodes = next(tab for tab in page.all("#tables nav button") if tab.text.startswith("Nodes"))
    page.click(nodes)
    assert page.all("#tables tbody tr") and "pipe_split" not in page.text("#tables tbody")


def check_targets(page: Page) -> None:
    """Each target has a colour of its own: in the bar of the time, in the strip, in the drawing, in legends."""
    bars = page.all("#time .stack i")
    assert len({style(page, bar, "backgroundColor") for bar in bars}) == len(bars) >= 3
    fills = [style(page, box.find_element(By.CSS_SELECTOR, "path"), "fill")
             for box in page.all("#canvas g.node.acc")]
    keys = {style(page, key, "backgroundColor") for key in page.all("#support-keys .key")}
    assert len(keys) == 2 and fills and set(fills) <= keys, (fills, keys)


def check_advice(page: Page) -> None:
    """Advice: tables to sort, with what refuses the nodes below a row."""
    tabs = [tab.text.split(" (")[0] for tab in page.all("#tables nav button")]
    assert tabs[:2] == ["Best order", "Each by itself"] and "Settings" in tabs, tabs
    steps = len(page.all("#tables tbody tr:not(.more)")) - 1
    assert page.text("#tables nav button") == f"Best order ({steps})", page.text("#tables nav")
    page.click(page.all("#tables nav button")[1])
    page.click(page.all("#tables th button")[1])
    accepts = [int(row.find_elements(By.CSS_SELECTOR, "td")[1].text.replace(",", "")) for row in page.all("#tables tbody tr:not(.more)")]
    assert accepts == sorted(accepts, reverse=True) and len(accepts) > 1, accepts


def save_all(page: Page, *selectors: str) -> list:
    """What the buttons save, as texts."""
    return page.browser.execute_script("""
      const saved = [];
      const make = URL.createObjectURL;
      URL.createObjectURL = (blob) => { saved.push(blob); return make(blob); };
      for (const selector of arguments) for (const one of document.querySelectorAll(selector)) one.click();
      URL.createObjectURL = make;
      return Promise.all(saved.map((blob) => blob.text()));""", *selectors)


def content_pages(cleave: str, samples: pathlib.Path, folder: pathlib.Path) -> list:
    """The pages of other reports."""
    resnet, npu = samples / "resnet18.json", samples / "npu.json"
    wider = folder / "wider.json"
    rules = json.loads(npu.read_text())
    rules["allow"] += [{"op": "torch.nn.modules.conv.Conv2d"}]
    wider.write_text(json.dumps(rules))
    commands = [
        ("diff", ["diff", resnet, "-s", npu, "to", "-s", wider], check_diff),
        ("fleet", ["check", resnet, samples / "mobile_block.onnx", samples / "attention.onnx", "-s", npu, "-s",
                   samples / "tiny_npu.txt", "--min", "coverage=90%", "--exit-zero"], check_fleet),
        ("stages", ["stage", resnet, "--stages", "3", "--schedule", "gpipe:microbatches=4"], check_stages),
        ("markers", ["stage", samples / "pipeline.json"], check_markers),
        ("targets", ["preview", resnet, "-s", f"npu={npu}", "-s", f"gpu={samples / 'gpu.json'}", "--place", "cost",
                     "--target", "cpu:flops=100GFLOP/s,bandwidth=20GB/s", "--target",
                     "npu:launch=20us,flops=4TFLOP/s,bandwidth=50GB/s", "--target",
                     "gpu:launch=10us,flops=1TFLOP/s,bandwidth=100GB/s"], check_targets),
        ("advice", ["advise", samples / "transformer_encoder.json", "-s", npu], check_advice)]
    pages = []
    for name, command, check in commands:
        page = folder / f"{name}.html"
        subprocess.run([cleave, *map(str, command), "--html", page], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        assert "Content-Security-Policy" in page.read_text()
        pages.append((page, check))
    return pages


def check_frame(browser: webdriver.Chrome, page: pathlib.Path) -> None:
    """In a frame without rights, as a notebook has it, the page has no address, and works."""
    outer = page.with_name("notebook.html")
    text = html.escape(page.read_text(encoding="utf-8"))
    outer.write_text(f'<iframe srcdoc="{text}" sandbox="allow-scripts" width="1400" height="900"></iframe>', encoding="utf-8")
    browser.get(outer.as_uri())
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "iframe"))
    shown = WebDriverWait(browser, 30).until(lambda _: browser.find_elements(By.CSS_SELECTOR, "#tables table button.link"))
    said = browser.find_element(By.CSS_SELECTOR, "#side").text
    browser.execute_script("window.onerror = (text) => { document.title = text; }; arguments[0].scrollIntoView()", shown[-1])
    shown[-1].click()
    chosen = browser.find_element(By.CSS_SELECTOR, "#side").text
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    back = browser.find_element(By.CSS_SELECTOR, "#side").text
    assert chosen != said and back == said, (said, chosen, back, browser.execute_script("return document.title"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave")
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("--shots", type=pathlib.Path, help="folder to save screenshots in, light and dark")
    args = parser.parse_args()
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("skipped: there is no chromium with chromedriver; scripts/setup.sh --all installs them")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        large, support = folder / "chain.json", folder / "ops.txt"
        large.write_text(json.dumps(chain(5000)))
        many = folder / "alternating.json"
        many.write_text(json.dumps(chain(3000, rare=2)))
        support.write_text("Relu\n")
        readers = folder / "readers.onnx"
        onnx.save(branch_and_readers(), readers)
        pages = [(make_page(args.cleave, args.samples / "resnet18.json", args.samples / "npu.json", folder), check_small),
                 (make_page(args.cleave, readers, support, folder), check_bodies),
                 (make_page(args.cleave, large, support, folder), check_large),
                 (make_page(args.cleave, many, support, folder), check_many),
                 *content_pages(args.cleave, args.samples, folder)]
        for look in ([], ["--force-dark-mode"]):
            browser = start_browser(str(folder / f"profile{len(look)}"), *look)
            try:
                for path, check in pages:
                    page = Page(browser, path)
                    check(page)
                    if args.shots:
                        shot = f"{path.stem}-{'dark' if look else 'light'}.png"
                        browser.execute_script("window.scrollTo(0, 0)")
                        browser.save_screenshot(str(args.shots / shot))
                    page.check_console()
                    print(f"{path.stem}: as it should be{' in the dark' if look else ''}")
                check_frame(browser, pages[0][0])
            finally:
                browser.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
