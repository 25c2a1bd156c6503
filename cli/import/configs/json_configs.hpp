#pragma once

/// The `config.json` that Hugging Face Transformers keeps beside a model, and DeepSpeed's
/// `ds_config.json`, a file or a here-document of a launch script.

#include <string>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

class Document;

/// Tests whether the JSON looks like such a file: a batch size, `zero_optimization`, a precision.
bool is_deepspeed_config(const Document& document);

/// Reads batch sizes, ZeRO stage, offload and precision into `job`; what is "auto" stays as other
/// files say it. Throws InputError for values of the wrong type or range, and for two precisions.
void read_deepspeed_config(const Document& document, Facts& job);

/// Tests whether the JSON looks like such a file: `model_type` or a width under one of its names.
bool is_hugging_face_config(const Document& document);

/// Reads the model into `job`. Throws InputError for families that data/import/families.json has
/// not, and for values that make no model.
void read_hugging_face_config(const Document& document, Facts& job);

}  // namespace prequel
