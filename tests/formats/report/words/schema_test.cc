// The schemas that are shipped are those that the rows of the reports make.

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/catch2.h"

#include "formats/base/fields.h"
#include "formats/report/advice/advice_report.h"
#include "formats/report/check/check.h"
#include "formats/report/lint/lint.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report.h"

namespace cleave {

namespace {

// CLEAVE_UPDATE_SCHEMA=1 writes the files; then scripts/python/make_results.py writes the Python classes.
TEST_CASE("the schema of each report is that of its rows") {
  for (const Document& document :
       {report_document(), phases_document(), growth_document(), support_report_document(),
        inspect_document(), explain_document(), lowering_document(), reduction_document(),
        evidence_document(), stages_document(), advice_document(), lint_document(),
        check_document(), diff_document()}) {
    const std::string path =
        CLEAVE_PROJECT_DIR "/formats/report/schema/" + std::string(document.name) + ".schema.json";
    if (std::getenv("CLEAVE_UPDATE_SCHEMA") != nullptr) {
      std::ofstream(path) << schema_text(document);
    }
    std::ostringstream shipped;
    shipped << std::ifstream(path).rdbuf();
    CHECK(shipped.str() == schema_text(document));
  }
}

}  // namespace

}  // namespace cleave
