// The report as one page for a browser: the text report, the partitions in call order, the graph to
// explore, and tables to sort. It needs no network and no other files.
#pragma once

#include <string>
#include <vector>

#include "core/measures/views.h"
#include "formats/report/drawings/layout.h"
#include "formats/report/words/report.h"

namespace cleave {

struct HtmlPage {
  std::string text;                // an HTML document
  std::vector<std::string> notes;  // drawings that Graphviz could not lay out, and why
};

// A large model is drawn as a tree of views (core/measures/views.h), laid out by Graphviz; the page
// says what is not drawn. If Graphviz fails on the whole model, its nodes are grouped by partition;
// if it fails again, that drawing is left out. Text from the model is data of the page, never
// markup. Takes as long as Graphviz, within the limits: about 20 ms per view.
HtmlPage html_report(const Report& report, const LayoutLimits& limits = {},
                     const Progress& progress = {});

// The same as data for a page that shows more than one split: JSON as html_data() writes it.
HtmlPage split_data(const Report& report, const LayoutLimits& limits, const Progress& progress);

// The data of the page as JSON for its script: every text ready for display, next to each number that a
// table sorts by.
//
// {"coverage": [{"what", "ratio", "text"}...],
//  "parts":    [{"name", "acc", "nodes", "in", "out", "parameters", "flops", "qps",
//                "bottleneck", "hazards"}...],
//  "ops":      [{"op", "nodes", "acc", "cpu"}...],
//  "reasons":  [{"code", "count"}...]        most frequent first
//  "causes":   [{"text", "code", "nodes": [index...], "count"}...]
//  "nodes":    [[name, op, part, view, reason, type, scope, because]...]
//  "node_ids": [id...]                       of the same nodes, as the drawings number them
//  "beside":   [[id...]...]                  what each of them reads; only of a model in groups
//  "views":    [{"title", "parent", "nodes", "svg"}...]
//  "notes":    [text...]}
//
// Numbers with a unit are pairs [number or null, text]. A node's reason is [code, text], or null on
// the accelerator. Nodes are those in a drawing and those on the CPU, at most 50,000, in model
// order; `svgs` are the drawings of the views, empty for a view that is not opened.
std::string html_data(const Report& report, const Views& views,
                      const std::vector<std::string>& svgs);

}  // namespace cleave
