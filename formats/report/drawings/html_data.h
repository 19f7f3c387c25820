// The data of a report's page as JSON for its script: every text ready for display, next to each
// number that a table sorts by.
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
// the accelerator. Nodes are those in a drawing and those on the CPU, at most 50,000, in model
// order; `svgs` are the drawings of the views, empty for a view that is not opened.
std::string html_data(const Report& report, const Views& views,
                      const std::vector<std::string>& svgs);

}  // namespace cleave
