#include "cli/import/named_models.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cli/import/megatron_flags.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/job/library.hpp"

namespace prequel {

void look_up_model(const Library* library, ImportedJob& job) {
  const bool whole = job.model.layers && job.model.hidden && !job.says(kModelOverrides);
  if (library == nullptr || whole) return;
  // Hugging Face's --config_name is a model's, too; else the program may have its model's name.
  const bool named = !job.model_named.empty();
  std::string name = named ? job.model_named : job.yaml_config_file;
  auto file = library->model_file(name);
  if (!named && !file && name.ends_with("_full")) {  // torchtune's llama3_3/70B_full
    std::string family = name;
    std::ranges::replace(family, '/', '_');
    file = library->model_file(family);
    if (file) job.said.insert({{"--recipe", 1}, {"--tune", 1}});
  }
  const bool by_config = !named && file.has_value();
  const bool by_program = !named && !file;
  if (by_program) {
    name = job.model_of_program;
    file = library->model_file(name);
  }
  if (!file && !named) {
    for (const auto& [flag, value] : job.models_perhaps) {
      file = library->model_file(value);
      if (!file) continue;
      name = value;
      job.report.assumed.push_back(fmt::format("the model {}: {}, by its name", value, flag));
      break;
    }
  }
  if (!file) return;
  take_what_is_missing(imported_model(library->open("models", *file)), job.model);
  if (by_config) job.yaml_config_file.clear();
  if (by_program && name == job.model_of_program) job.said.try_emplace("--recipe", 1);
  if (job.says("--recipe")) {
    job.report.left_out.push_back(
        fmt::format("{}: its batches, layout, precision and recomputation where the command line "
                    "does not say them; what it trains with by itself is not known here",
                    printable(name)));
  }
  job.report.read.push_back(fmt::format("{}: its shape, which prequel knows", printable(name)));
}

}  // namespace prequel
