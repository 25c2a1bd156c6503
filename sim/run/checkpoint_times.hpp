#pragma once

/// Time to save and to read a checkpoint on a site's storage.

#include "hw/base/units.hpp"
#include "hw/base/words.hpp"
#include "hw/site.hpp"
#include "sim/run/reservation.hpp"

namespace prequel {

/// How training saves: it stands still for the whole write, or only for a copy to host memory that
/// is written while it goes on.
enum class Saving : std::uint8_t { sync, async };
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Saving>{"sync", "async"};

/// The job that writes a checkpoint.
struct SavingJob {
  Bytes size;  ///< of the checkpoint
  std::int64_t nodes{1};
  std::int64_t devices{1};   ///< that copy their share of it
  BytesPerSecond host_link;  ///< of a device
  BytesPerSecond write;      ///< of the whole job, where it is known; else the site's storage
};

/// Returns all but the interval. All nodes write at once, up to what the storage takes; a copy goes
/// over each device's link; one replica reads and sends on what it read.
SavingTimes saving_times(const SavingJob& job, const Storage& storage, Saving saving);

}  // namespace prequel
