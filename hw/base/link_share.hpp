#pragma once

/// Load of a flow on a link: the words in which the fabric tells routes to those who share links.

#include <cstdint>

namespace prequel {

/// One direction of a link.
using LinkId = std::uint32_t;

/// The share of a flow that a link carries.
struct LinkShare {
  LinkId link{};
  double share{};
};

}  // namespace prequel
