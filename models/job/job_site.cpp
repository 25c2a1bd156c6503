#include "models/job/job_site.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {

Site site_of(const Library& library, const Cluster& cluster,
             const std::optional<std::string>& maturity, const std::string& from) {
  const std::string name = maturity ? *maturity : cluster.site.maturity.value_or(kUsualMaturity);
  if (!library.means_file("sites", name)) {
    const std::vector<std::string> known = library.names("sites");
    const std::string problem = "unknown class of site " + in_quotes(name) +
                                did_you_mean(name, known) +
                                fmt::format("; {} are known", fmt::join(known, ", "));
    throw maturity ? InputError(from, problem)
                   : InputError(cluster.name + ": /reliability/class: " + problem);
  }
  const Document file = library.open("sites", name, from);
  return with_figures(file.read_once(read_site), cluster.site);
}

}  // namespace prequel
