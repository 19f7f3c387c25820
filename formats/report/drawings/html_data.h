// What the page of a report shows, as JSON for its script: every text ready to be shown, beside
// each number that a table sorts by.
#pragma once

#include <string>
#include <vector>

#include "core/study/views.h"
#include "formats/report/words/report.h"

namespace cleave {

// {"coverage": [{"what", "ratio", "text"}...],
//  "parts":    [{"name", "acc", "nodes", "in", "out", "parameters", "flops", "qps",
//                "bottleneck", "hazards"}...],
//  "ops":      [{"op", "nodes", "acc", "cpu"}...],
//  "reasons":  [{"code", "count"}...]        most frequent first
//  "causes":   [{"text", "code", "nodes": [index...], "count"}...]
//  "nodes":    [[name, op, part, view, reason, type, scope, because]...]
//  "node_ids": [id...]                       of the same nodes, as the drawings number them
//  "views":    [{"title", "parent", "nodes", "svg"}...]
//  "notes":    [text...]}
//
// Numbers with a unit are pairs [number or null, text]. A node's reason is [code, text], or null on
// the accelerator. Nodes are those that a drawing shows and those on the CPU, 50,000 at most, in
// model order; `svgs` are the drawings of the views, empty where a view is not to be opened.
std::string html_data(const Report& report, const Views& views,
                      const std::vector<std::string>& svgs);

}  // namespace cleave
