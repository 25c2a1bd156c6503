#pragma once

/// Flags of Megatron-LM, Megatron-DeepSpeed and their launchers: tables.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Flags that take a whole number, and the field that they set.
struct NumberFlag {
  const char* flag;
  std::optional<std::int64_t>& (*field)(ImportedJob& job);
};
/// Flags that stand alone.
struct SwitchFlag {
  const char* flag;
  void (*apply)(ImportedJob& job);
};
/// Flags whose value is one of a few words; other words are listed as ignored.
struct WordFlag {
  const char* flag;
  const char* word;
  void (*apply)(ImportedJob& job);
};
/// Flags that take a list of words, and what it sets; false where it holds a word that is not
/// known.
struct ListFlag {
  const char* flag;
  bool (*take)(ImportedJob& job, const std::vector<std::string>& words);
  bool each_word = false;  ///< words mean something alone: those that are known count
};
/// Flags that change time or memory and are not modelled, and the value with which they do not.
struct UnmodelledFlag {
  const char* flag;
  const char* neutral = "";
};

std::span<const NumberFlag> number_flags();
/// Slurm's counts of devices: `8`, `a100:8` or `gpu:a100:8`.
std::span<const NumberFlag> device_flags();
std::span<const SwitchFlag> switch_flags();
std::span<const WordFlag> word_flags();
std::span<const ListFlag> list_flags();
std::span<const UnmodelledFlag> unmodelled_flags();

/// The dispatcher `flex` leaves it to its backend who carries tokens.
inline constexpr const char* kFlexDispatcher = "--moe-token-dispatcher-type flex";
inline constexpr const char* kFlexBackend = "--moe-flex-dispatcher-backend";

/// The flag that tells what Megatron's own FSDP shards, where a switch asks for it.
inline constexpr const char* kShardingStrategy = "--data-parallel-sharding-strategy";

/// Among what a job says: that sizes stand over those of a model that is named.
inline constexpr const char* kModelOverrides = "config_overrides";

/// Among what a job says: that PyTorch's FSDP shards, or not, as its flag has it.
inline constexpr const char* kFullySharded = "FSDP";

/// Among what a job says: that attention is Megatron's own, not Transformer Engine's.
inline constexpr const char* kOwnAttention = "local attention";

/// Among what a job says: that it is ms-swift's command that trains with Hugging Face's Trainer.
inline constexpr const char* kSwift = "swift sft";

/// Among what a job says: that torchtune trains it.
inline constexpr const char* kTune = "--tune";

/// Among what a job says: that XTuner trains it.
inline constexpr const char* kXtuner = "XTuner";

/// Among what a job says: that it is ms-swift's command that trains with Megatron.
inline constexpr const char* kSwiftMegatron = "megatron sft";

}  // namespace prequel
