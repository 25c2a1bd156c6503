#pragma once

/// Names that people give to models.

#include <optional>
#include <string>
#include <vector>

namespace prequel {

class Document;

/// Which of the model files a name means, `meta-llama/Llama-3.1-8B-Instruct` or
/// `llama3_8b_pretrain_config`: the one of that name; else the first of the same letters and
/// digits, but for who publishes it, what was trained on top and what a recipe is for; else what
/// `names` (a `prequel/model-names/1` document) says has the same shape. Nothing where none does.
std::optional<std::string> model_called(const std::string& name,
                                        const std::vector<std::string>& files,
                                        const Document& names);

}  // namespace prequel
