// TakeText: what a long text is given to, piece by piece, while it is made. A report on a million nodes
// is hundreds of megabytes: it goes to its file as it is written, and is never held.
#pragma once

#include <functional>
#include <string_view>

namespace cleave {

using TakeText = std::function<void(std::string_view piece)>;
// Makes a whole text and hands it over, in order.
using MakeText = std::function<void(const TakeText& take)>;

}  // namespace cleave
