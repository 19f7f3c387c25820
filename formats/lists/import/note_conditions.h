// Notes of vendors' operator tables: what a sentence asks of a node, as conditions of a rule.
//
//   "axes must be an initializer"                 constant
//   "x_zero_point must be zero"                   values
//   "dilations must be empty or all ones"         a relation
//   "2D or 3D pooling only"                       a rank
//   "Only the first output Y is supported"        outputs used
//   "sorted must be 1"                            an attribute
//   "Supported resize modes: nearest, linear"     an attribute
//
// A sentence that is none of these is left to the rule's `unchecked`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/support/rule.h"
#include "formats/models/onnx/infer/names.h"

namespace cleave {

// The sentences of a note, without white space around them. <br> and ". " end one.
std::vector<std::string> sentences_of(std::string_view note);

// Adds what the sentence asks to the rule for the operator; false when that cannot be told.
bool add_note_condition(std::string_view sentence, const OnnxOpNames& op, Rule& rule);

}  // namespace cleave
