#include "cli/import/training_programs.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "cli/import/launch_script.hpp"
#include "cli/import/shell_text.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// A part of a program's path, and what the program does.
struct Program {
  std::string_view part;
  std::string_view what;
};
constexpr Program kNoDecoders[] = {
    {"pretrain_t5", "an encoder and a decoder (T5)"},
    {"pretrain_bert", "an encoder (BERT)"},
    {"pretrain_esm", "an encoder (ESM)"},
    {"train_esm", "an encoder (ESM)"},
    {"train_geneformer", "an encoder (Geneformer)"},
    {"pretrain_ict", "encoders for retrieval (ICT)"},
    {"pretrain_realm", "encoders for retrieval (REALM)"},
    {"pretrain_biencoder", "encoders for retrieval"},
    {"pretrain_retro", "a decoder with retrieval (Retro)"},
    {"pretrain_mamba", "state-space layers (Mamba)"},
    {"pretrain_vision", "an image model"},
    {"pretrain_vit", "an image model"},
    {"vlm", "a vision-language model"},
    {"multimodal/", "a vision-language model"},
    {"examples/mimo/", "a vision-language model"},
};
constexpr Program kNoTraining[] = {
    {"text_generation", "generates text"},
    {"generate", "generates text"},
    {"inference", "generates text"},
    {"convert", "converts a checkpoint"},
    {"eval_harness", "evaluates"},
    {"checkpoint/util", "converts a checkpoint"},
    {"checkpoint_util", "converts a checkpoint"},
    {"hf2m", "converts a checkpoint"},
    {"hf2te", "converts a checkpoint"},
    {"tasks/main", "evaluates"},
    {"evaluate", "evaluates"},
    {"preprocess", "prepares data"},
    {"prepare_data", "prepares data"},
};

constexpr std::string_view kByReinforcement =
    "learns by reinforcement, which takes several models and generates text";

/// Parts of a program's own name, without its folders.
constexpr Program kSeveralModels[] = {
    {"dpo", "prefers one answer to another, which takes a second model"},
    {"ppo", kByReinforcement},
    {"grpo", kByReinforcement},
    {"rlhf", kByReinforcement},
    {"rloo", kByReinforcement},
    {"reinforce", kByReinforcement},
    {"distill", "learns from a second model"},
    {"train_rm", "trains a reward model on pairs of answers"},
};

const Program* known_as(std::string_view word, std::span<const Program> programs) {
  const auto found = std::ranges::find_if(
      programs, [&](const Program& one) { return word.find(one.part) != std::string_view::npos; });
  return found == programs.end() ? nullptr : &*found;
}

/// What stands for a folder may hold blanks: `$(dirname $0)/train.py`.
bool is_program(std::string_view word) {
  const std::size_t folder = word.find_last_of(")`");
  if (folder != std::string_view::npos) word.remove_prefix(folder);
  // What a package installs has no ending: train_esm2.
  if (word.starts_with("train_") && is_variable_name(word) && known_as(word, kNoDecoders)) {
    return true;
  }
  return word.ends_with(".py") && word.find_first_of(" =\t\n") == std::string_view::npos;
}

}  // namespace

std::vector<std::string> words_of_training(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  std::vector<std::string> training;
  bool trains = false;
  for (auto begin = words.begin(); begin != words.end();) {
    const auto end = std::find(begin, words.end(), kCommandEnd);
    const auto program = std::find_if(begin, end, is_program);
    const bool other = program != end && known_as(*program, kNoTraining) != nullptr;
    trains = trains || (program != end && !other);
    all.insert(all.end(), begin, end);
    if (!other) training.insert(training.end(), begin, end);
    begin = end == words.end() ? end : end + 1;
  }
  return trains ? training : all;
}

void check_programs(const std::string& file, const std::vector<std::string>& words,
                    ImportedJob& job) {
  std::vector<std::string> programs;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool module =  // of Python, by its name
        i > 0 && (words[i - 1] == "-m" || words[i - 1] == "--module");
    if (module || is_program(words[i])) programs.push_back(words[i]);
  }
  for (const std::string& program : programs) {
    if (job.programs.size() > 100 || job.programs.find(program) != std::string::npos) continue;
    job.programs += (job.programs.empty() ? "" : " and ") + printable(program, 80);
  }
  for (const std::string& program : programs) {
    if (program.find("torchtitan") != std::string::npos) job.torchtitan.trains = true;
    constexpr std::string_view kTrain = "pretrain_";
    const std::size_t at = program.rfind(kTrain);
    if (at == std::string::npos || !job.model_of_program.empty()) continue;
    const std::string_view rest = std::string_view(program).substr(at + kTrain.size());
    job.model_of_program = rest.substr(0, rest.find('.'));
  }
  const bool trains_decoder = std::ranges::any_of(programs, [](const std::string& program) {
    return program.find("gpt") != std::string::npos && known_as(program, kNoDecoders) == nullptr &&
           known_as(program, kNoTraining) == nullptr;
  });
  if (trains_decoder) return;
  for (const std::string& program : programs) {
    const bool ended = program.ends_with(".py");  // else a module: openrlhf.cli.train_sft
    const std::string_view own =
        std::string_view(program).substr(program.rfind(ended ? '/' : '.') + 1);
    if (const Program* several = known_as(own, kSeveralModels)) {
      job.report.left_out.push_back(
          fmt::format("{}: {}; what is predicted is training one model on the same tokens",
                      printable(program), several->what));
    } else if (const Program* found = known_as(program, kNoTraining)) {
      job.report.left_out.push_back(fmt::format(
          "{}: {}; what is predicted is training the same model", printable(program), found->what));
    } else if (const Program* other = known_as(program, kNoDecoders)) {
      throw InputError(fmt::format("{}: {}: trains {}; prequel models decoders only", file,
                                   printable(program), other->what));
    }
  }
}

}  // namespace prequel
