#include "cli/import/foreign_file.hpp"

#include <filesystem>

#include "cli/import/deepspeed_config.hpp"
#include "cli/import/hugging_face_config.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {

ImportedJob import_files(const std::vector<std::string>& files) {
  ImportedJob job;
  for (const std::string& file : files) {
    const Document document = Document::read(file);
    if (is_hugging_face_config(document)) {
      read_hugging_face_config(document, job);
    } else if (is_deepspeed_config(document)) {
      read_deepspeed_config(document, job);
    } else {
      throw InputError(file +
                       ": neither a Hugging Face config.json nor a DeepSpeed ds_config.json");
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
