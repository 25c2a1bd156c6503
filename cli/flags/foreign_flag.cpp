#include "cli/flags/foreign_flag.hpp"

#include "cli/flags/flags.hpp"
#include "cli/import/job/imported_job.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "hw/base/errors.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
namespace {

std::string switched(const std::string& flag, bool on) {
  return on ? flag : "--no-" + flag.substr(2);
}

}  // namespace

std::string said_here(const ReadNames& names, const std::string& flag, const std::string& value) {
  ImportedJob job;
  try {
    job.names = names();
    read_flags("", {{flag, value}}, job);
    if (job.says("batch_size")) return {};  // of a device or of all
    take_by_names(job);
  } catch (const InputError&) {
    return {};  // not priced, or no value of it
  }
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : " ") + one; };
  if (job.says("devices")) add("--gpus " + job.text("devices"));
  each_axis([&](const auto& axis) {
    const auto& said = axis.of(job.plan);
    if (!said) return;
    const std::string here = flag_of(axis.name);
    if constexpr (std::is_same_v<std::decay_t<decltype(*said)>, bool>) {
      add(switched(here, *said));
    } else {
      add(here + " " + cell_of(*said));
    }
  });
  return text;
}

}  // namespace prequel
