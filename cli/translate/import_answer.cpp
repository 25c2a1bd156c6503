#include "cli/translate/import_answer.hpp"

#include <fmt/format.h>

#include "cli/json/json.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

/// Names that nothing is known of would be refused only where the job is used.
void check_names(const Library& library, const ImportOptions& options) {
  if (options.cluster) {
    static_cast<void>(library.open("clusters", *options.cluster, "cluster"));
  }
  if (options.software) {
    static_cast<void>(library.open("software", *options.software, "software"));
  }
}

}  // namespace

ImportAnswer answer_import(const Library& library, const ImportOptions& options) {
  check_names(library, options);
  ImportNames names{options.cluster,   options.software, &library,
                    options.overrides, options.script,   {}};
  if (options.model) {
    const auto made = translate_model(*options.model);
    names.model =
        named_model(library, *options.model, made ? std::optional(made->json) : std::nullopt);
  }
  Import import = import_files(options.files, names);
  ImportedJob& job = import.job;
  for (const SoftwareField& field : software_fields(job)) {
    const bool in_table = !import.runs.empty() && field.path == "software.launch";
    if (in_table || field.value == name(Launch::async)) continue;
    job.report.left_out.push_back(
        fmt::format("{0}: a {1} does not say it; predict it with --set {0}={2}", field.path,
                    import.runs.empty() ? "job file" : "table of runs", field.value));
  }
  ImportAnswer answer;
  if (import.runs.empty()) {
    answer.job = job_json(job, fmt::format("{}", fmt::join(options.files, ", ")));
  } else {
    answer.runs = runs_csv(import.runs);
  }
  if (options.explain) answer.fields = origins_of(job);
  answer.report = std::move(job.report);
  return answer;
}

std::string import_json(const ImportAnswer& answer) {
  Json document{{"schema", "prequel/import/1"}};
  if (answer.job.empty()) {
    document["runs"] = answer.runs;
  } else {
    document["job"] = Json::parse(answer.job);
  }
  document["read"] = answer.report.read;
  document["assumed"] = answer.report.assumed;
  document["left_out"] = answer.report.left_out;
  document["ignored"] = answer.report.ignored;
  for (const auto& [field, value, from] : answer.fields) {
    document["fields"].push_back({{"field", field},
                                  {"value", value},
                                  {"sure", name(from.sure)},
                                  {"file", from.file},
                                  {"said", from.said}});
  }
  return document_text(document);
}

}  // namespace prequel
