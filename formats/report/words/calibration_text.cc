#include "formats/report/words/calibration_text.h"

#include "core/base/decimal.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

std::string factor_text(double factor) { return fixed_text(factor, 2) + "x"; }

// The amount per second when one unit takes `us_per` microseconds; "-" when that is 0.
std::string rate_of(double us_per, std::string (*text)(double)) {
  return us_per > 0 ? text(1e6 / us_per) + "/s" : "-";
}

std::string bytes_amount(double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }

std::string headline(const Calibration& calibration) {
  std::string line = counted(calibration.kernels, "kernel", "kernels") + " of " +
                     counted(calibration.models, "model", "models") + "; ";
  if (!calibration.error) {
    return line +
           "the error is not known: that takes two models or more, each predicted from the others";
  }
  return line + "typical error of a node " + factor_text(calibration.error->node_factor) +
         ", of a model " + factor_text(calibration.error->model_factor) +
         " (each model predicted from the others)";
}

std::string models_text(const Calibration& calibration,
                        const std::vector<CalibratedModel>& models) {
  TextTable table({"model", "kernels", "unused", "error"},
                  {Align::left, Align::right, Align::right, Align::right});
  for (std::size_t i = 0; i < models.size(); ++i) {
    table.add_row({escaped(models[i].name), count_text(models[i].kernels),
                   count_text(models[i].unused),
                   calibration.error ? factor_text(calibration.error->model_factors[i]) : "-"});
  }
  return table.text();
}

std::string ops_text(const Calibration& calibration) {
  TextTable table({"op", "a node", "computing", "memory"},
                  {Align::left, Align::right, Align::right, Align::right});
  for (const OpTime& time : calibration.times) {
    table.add_row({time.op.empty() ? "all others" : escaped(time.op), duration_text(time.us),
                   rate_of(time.us_per_flop, flops_text), rate_of(time.us_per_byte, bytes_amount)});
  }
  return table.text();
}

}  // namespace

std::string calibration_text(const Calibration& calibration,
                             const std::vector<CalibratedModel>& models) {
  return wrapped(headline(calibration), 0, 2) + '\n' + models_text(calibration, models) + '\n' +
         ops_text(calibration);
}

}  // namespace cleave
