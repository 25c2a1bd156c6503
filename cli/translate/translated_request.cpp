#include "cli/translate/translated_request.hpp"

#include "cli/import/foreign_file.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestInput = std::size_t{1} << 30;

/// Notes what was made of a file. For stdin, which can be read but once, the result counts.
void note_translated(const Library& library, const char* kind, const std::string& path,
                     const Translated& made) {
  library.note_input(kind, path, path == "-" ? made.json : read_file(path, kLongestInput));
}

/// A Hugging Face config as the model, and what was made of it.
std::optional<ImportReport> translate_named_model(const Library& library, JobRequest& request) {
  if (!request.model) return std::nullopt;
  const auto given = library.document(*request.model);
  const auto model =
      given ? translate_model_text(*request.model, *given) : translate_model(*request.model);
  if (!model) return std::nullopt;
  if (given) {
    library.note_input("model", *request.model, *given);
  } else {
    note_translated(library, "model", *request.model, *model);
  }
  request.model_text = model->json;
  return model->report;
}

bool is_readable(const std::string& path) {
  return path == "-" || is_file(path);
}

}  // namespace

Facts named_model(const Library& library, const std::string& name,
                  const std::optional<std::string>& text) {
  return imported_model(text ? Document::parse(name, *text)
                             : library.open("models", name, "model"));
}

JobRequest translated(JobRequest request, const ScriptInputs& script, const Library& library,
                      const Tell& tell) {
  const auto model = translate_named_model(library, request);
  if (request.job && !library.document(*request.job) && is_readable(*request.job)) {
    ImportNames names{request.cluster, request.software, &library, request.overrides, script, {}};
    if (request.model) names.model = named_model(library, *request.model, request.model_text);
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
  if (model) tell(report_text(*model));
  return request;
}

}  // namespace prequel
