#include "cli/translated_request.hpp"

#include <fmt/format.h>

#include "cli/import/foreign_file.hpp"

namespace prequel {

JobRequest translated(JobRequest request, bool quiet) {
  if (request.job) {
    if (const auto job = translate_job(*request.job, {request.cluster, request.software})) {
      request.job_text = job->json;
      if (job->launch) {  // before what the user sets
        request.overrides.insert(
            request.overrides.begin(),
            {"software.launch", std::string(name(*job->launch)), *request.job});
      }
      if (!quiet) fmt::print(stderr, "{}", report_text(job->report));
    }
  }
  if (!request.model) return request;
  if (const auto model = translate_model(*request.model)) {
    request.model_text = model->json;
    if (!quiet) fmt::print(stderr, "{}", report_text(model->report));
  }
  return request;
}

}  // namespace prequel
