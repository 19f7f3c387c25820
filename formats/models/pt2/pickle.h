// Reads the pickle that torch.save writes for a dict of tensors; torch up to 2.8 stores weights
// that way. For each tensor it finds where its data is and how it is laid out.
//
// A pickle is a program that builds Python objects by calling functions by name. This reader calls
// none: it understands tensors, parameters and ordered dicts, and refuses every other name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/dtype.h"

namespace cleave {

struct PickledTensor {
  std::string name;         // its key in the dict
  std::string storage;      // key of the record that holds the data; tensors may share one
  std::string device;       // "cpu", "cuda:0"
  int scalar_type = 0;      // torch's number; 0 if unknown
  std::int64_t offset = 0;  // in elements, from the start of the storage
  std::vector<std::int64_t> sizes, strides;
  bool requires_grad = false;
  bool is_parameter = false;
};

// The tensors in the order of the dict; or what is wrong with the pickle, as a text that follows
// its name. Linear in the bytes.
Result<std::vector<PickledTensor>, std::string> read_pickled_tensors(std::string_view pickle);

}  // namespace cleave
