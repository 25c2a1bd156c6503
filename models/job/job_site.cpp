#include "models/job/job_site.hpp"

#include "hw/base/json_cursor.hpp"

namespace prequel {

Site site_of(const Library& library, const Cluster& cluster,
             const std::optional<std::string>& maturity, const std::string& from) {
  const std::string name = maturity ? *maturity : cluster.site.maturity.value_or(kUsualMaturity);
  const Document file = library.open("sites", name, maturity ? from : "reliability.class");
  return with_figures(file.read_once(read_site), cluster.site);
}

}  // namespace prequel
