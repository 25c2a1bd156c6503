#include "cli/import/foreign_file.hpp"

#include <filesystem>

#include "cli/import/deepspeed_config.hpp"
#include "cli/import/hugging_face_config.hpp"
#include "cli/import/launch_script.hpp"
#include "cli/import/megatron_arguments.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {

namespace {

void read_json(const Document& document, ImportedJob& job) {
  if (is_hugging_face_config(document)) return read_hugging_face_config(document, job);
  if (is_deepspeed_config(document)) return read_deepspeed_config(document, job);
  throw InputError(document.file() +
                   ": neither a Hugging Face config.json nor a DeepSpeed ds_config.json");
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

void read_script(const std::string& file, const std::string& text, ImportedJob& job) {
  const LaunchScript script = read_launch_script(file, text);
  read_megatron_arguments(file, script.words, job);
  job.report.read.push_back(file + ": launch script");
  for (const std::string& body : script.here_documents) {
    if (!is_json(body)) continue;
    const Document document = Document::parse(file + " (here-document)", body);
    if (is_deepspeed_config(document)) read_deepspeed_config(document, job);
  }
  if (!job.model.layers || !job.model.hidden) {
    throw InputError(file +
                     ": no --num-layers and --hidden-size found; expected a Megatron launch "
                     "script, or a Hugging Face or DeepSpeed config");
  }
  if (!job.model.max_positions) job.model.max_positions = job.plan.seq_len;
  if (job.model.name.empty()) job.model.name = std::filesystem::path(file).stem().string();
}

}  // namespace

bool is_launch_script(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && !is_json(read_file(path));
}

ImportedJob import_files(const std::vector<std::string>& files) {
  ImportedJob job;
  for (const std::string& file : files) {
    const std::string text = read_file(file);
    if (is_json(text)) {
      read_json(Document::parse(file, text), job);
    } else {
      read_script(file, text, job);
    }
  }
  complete(job);
  return job;
}

std::optional<TranslatedModel> translate_model(const std::string& path) {
  std::error_code ignored;
  const bool is_path = path.find('/') != std::string::npos || path.ends_with(".json");
  if (!is_path || !std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  const Document document = Document::read(path);
  if (!is_hugging_face_config(document)) return std::nullopt;
  ImportedJob job;
  read_hugging_face_config(document, job);
  return TranslatedModel{model_json(job.model, path), job.report};
}

}  // namespace prequel
