#include "formats/run/library/support_lists.h"

#include <utility>

#include "formats/run/jobs/split_job.h"

namespace cleave {

SupportLists::SupportLists(std::unique_ptr<ListsRead> lists) : lists_(std::move(lists)) {}
SupportLists::SupportLists(SupportLists&&) noexcept = default;
SupportLists& SupportLists::operator=(SupportLists&&) noexcept = default;
SupportLists::~SupportLists() = default;

Result<SupportLists, Fault> SupportLists::read(const ListsRequest& request) {
  if (request.accepts_nothing()) {
    return fault_of(FaultCause::request, "no support list is given",
                    {"give the path of at least one"});
  }
  auto lists = read_lists(request);
  if (!lists) return input_fault(std::move(lists).error());
  return SupportLists(std::make_unique<ListsRead>(*std::move(lists)));
}

const Diagnostics& SupportLists::warnings() const { return lists_->warnings; }

}  // namespace cleave
