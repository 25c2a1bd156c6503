#include "cli/import/configs/config_values.hpp"
#include "cli/import/python/python_values.hpp"

namespace prequel {

void read_python_config(const std::string& file, std::string_view text, ImportedJob& job) {
  ConfigValues values = python_values(file, text);
  const auto flat = [&](const char* key) { return values.contains(key); };
  if (flat("block_size") || flat("n_embd") || flat("n_layer")) {
    job.set_flag("mark.of.nanogpt");
    if (const auto bias = values.extract("bias")) job.model.linear_bias = bias.mapped() == "True";
  }
  read_config_values(file, values, job);
  job.set_flag("script");
  job.set_flag("yaml_config");
  job.report.read.push_back(file + ": configuration in Python");
}

}  // namespace prequel
