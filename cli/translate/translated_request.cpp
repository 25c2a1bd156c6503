#include "cli/translate/translated_request.hpp"

#include "cli/import/foreign_file.hpp"
#include "hw/base/files.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestInput = std::size_t{1} << 30;

/// Of stdin, which can be read but once, what was made of it counts.
void note_translated(const Library& library, const char* kind, const std::string& path,
                     const Translated& made) {
  library.note_input(kind, path, path == "-" ? made.json : read_file(path, kLongestInput));
}

}  // namespace

JobRequest translated(JobRequest request, const ScriptInputs& script, const Library& library,
                      const Tell& tell) {
  if (request.job && !library.document(*request.job)) {
    const ImportNames names{request.cluster, request.software, &library, request.overrides, script};
    if (const auto job = translate_job(*request.job, names)) {
      note_translated(library, "job", *request.job, *job);
      request.job_text = job->json;
      for (const SoftwareField& field : job->software) {  // before what the user sets
        request.overrides.insert(request.overrides.begin(),
                                 {field.path, field.value, *request.job});
      }
      tell(report_text(job->report));
    }
  }
  if (!request.model) return request;
  const auto given = library.document(*request.model);
  const auto model =
      given ? translate_model_text(*request.model, *given) : translate_model(*request.model);
  if (!model) return request;
  if (given) {
    library.note_input("model", *request.model, *given);
  } else {
    note_translated(library, "model", *request.model, *model);
  }
  request.model_text = model->json;
  tell(report_text(model->report));
  return request;
}

}  // namespace prequel
