#include "cli/import/named_models.hpp"

#include <string>

#include <fmt/format.h>

#include "cli/import/megatron_flags.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/job/library.hpp"

namespace prequel {

void look_up_model(const Library* library, ImportedJob& job) {
  // Hugging Face's --config_name is a model's, too.
  const bool by_config = job.model_named.empty() && !job.yaml_config_file.empty();
  const bool by_program = job.model_named.empty() && !by_config;
  const std::string name = by_config    ? job.yaml_config_file
                           : by_program ? job.model_of_program
                                        : job.model_named;
  const bool whole = job.model.layers && job.model.hidden && !job.says(kModelOverrides);
  if (library == nullptr || name.empty() || whole) return;
  const auto file = library->model_file(name);
  if (!file) return;
  take_what_is_missing(imported_model(library->open("models", *file)), job.model);
  if (by_config) job.yaml_config_file.clear();
  if (by_program) job.said.try_emplace("--recipe", 1);
  if (job.says("--recipe")) {
    job.report.left_out.push_back(
        fmt::format("{}: its batches, layout, precision and recomputation where the command line "
                    "does not say them; what it trains with by itself is not known here",
                    printable(name)));
  }
  job.report.read.push_back(fmt::format("{}: its shape, which prequel knows", printable(name)));
}

}  // namespace prequel
