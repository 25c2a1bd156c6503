#pragma once

/// The site that a cluster stands at.

#include <optional>
#include <string>

#include "hw/site.hpp"
#include "models/job/library.hpp"

namespace prequel {

/// Returns the class that is asked for by `from`, else the cluster's, else the usual one, with the
/// cluster's own figures in place of the class's. Throws InputError where there is no such class.
Site site_of(const Library& library, const Cluster& cluster,
             const std::optional<std::string>& maturity, const std::string& from = "maturity");

}  // namespace prequel
