#pragma once

/// Jobs and scenarios of shipped files, for tests.

#include <optional>
#include <string>
#include <vector>

#include "tests/models/shipped.hpp"

namespace prequel {

/// Fields that are said otherwise: {"plan.mbs", "2"}.
using Settings = std::vector<Override>;

/// The shipped job: the 176B-class model on 48 nodes of 8 devices, six stages of eight nodes each.
inline Job shipped_job(const Settings& settings = {},
                       const std::optional<std::string>& software = {},
                       const std::optional<std::string>& cluster = {}) {
  JobRequest request;
  request.job = "bloom-176b-jean-zay";
  request.software = software;
  request.cluster = cluster;
  request.overrides = settings;
  return read_job(shipped_library(), request);
}

inline Scenario shipped_scenario(const Settings& settings = {},
                                 const std::optional<std::string>& software = {}) {
  return resolve(shipped_job(settings, software)).scenario;
}

/// A model on a cluster, by the cluster's stack where none is named.
inline Job job_of(const std::string& model, const std::string& cluster, const std::string& software,
                  const Settings& settings = {}) {
  JobRequest request;
  request.model = model;
  request.cluster = cluster;
  if (!software.empty()) request.software = software;
  request.overrides = settings;
  return read_job(shipped_library(), request);
}

inline Scenario planned(const std::string& model, const std::string& cluster,
                        const std::string& software, const Settings& settings) {
  return resolve(job_of(model, cluster, software, settings)).scenario;
}

}  // namespace prequel
