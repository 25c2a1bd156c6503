#include "cli/translated_request.hpp"

#include "cli/import/foreign_file.hpp"

namespace prequel {

JobRequest translated(JobRequest request, const ScriptInputs& script, const Library& library,
                      const Tell& tell) {
  if (request.job) {
    const ImportNames names{request.cluster, request.software, &library, request.overrides, script};
    if (const auto job = translate_job(*request.job, names)) {
      request.job_text = job->json;
      for (const SoftwareField& field : job->software) {  // before what the user sets
        request.overrides.insert(request.overrides.begin(),
                                 {field.path, field.value, *request.job});
      }
      tell(report_text(job->report));
    }
  }
  if (!request.model) return request;
  if (const auto model = translate_model(*request.model)) {
    request.model_text = model->json;
    tell(report_text(model->report));
  }
  return request;
}

}  // namespace prequel
