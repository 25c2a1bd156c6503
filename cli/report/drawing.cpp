#include "cli/report/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/json/axis_json.hpp"
#include "cli/json/json.hpp"
#include "cli/text/layout_text.hpp"
#include "hw/base/units.hpp"
#include "sim/answer/sensitivity.hpp"
#include "sim/answer/timeline.hpp"

namespace prequel {
namespace {

bool is_drawn(const TimelineSlice& slice) {
  return slice.stream != StageStream::send_forward && slice.stream != StageStream::send_backward;
}

/// Returns the look of each kind of task on the page: its name, its colour, whether it belongs to
/// one micro batch, and whether it begins with what is computed again.
Json kind_json(const TaskTraits& task) {
  const bool of_batch = task.is_pass() || task.is_send() || task.is_exchange() || task.is_copy();
  const bool goes_back = task.is_pass() && task.part_of != TaskKind::forward;
  std::string_view colour = "communication";
  if (task.is_pass()) colour = goes_back ? "backward" : "compute";
  if (task.kind == TaskKind::optimizer) colour = "optimizer";
  return {task.name, colour, of_batch, task.part_of == TaskKind::backward};
}

Json slice_json(const TimelineSlice& slice) {
  const auto nanoseconds = [](double s) { return std::round(s * 1e9) / 1e9; };
  return {static_cast<int>(slice.kind),
          slice.stage,
          slice.chunk,
          slice.micro_batch,
          nanoseconds(slice.start_s),
          nanoseconds(slice.end_s - slice.start_s)};
}

/// Returns the look of a part of the time on the page: its key, its colour and what it is.
Json part_json(const TimePart& part) {
  return {part.key, part.is_communication ? "communication" : part.key, part.meaning};
}

}  // namespace

Json drawing_json(const PredictAnswer& answer, std::size_t most_slices) {
  Json slices = Json::array();
  std::string note;
  if (timeline_passes(answer.scenario) > kMostTimelinePasses) {
    note = "Too many micro batches to draw.";
  } else {
    std::vector<TimelineSlice> drawn;
    const Timeline played = timeline(answer.scenario);
    std::ranges::copy_if(played.slices, std::back_inserter(drawn), is_drawn);
    if (drawn.size() > most_slices) {
      note = fmt::format("The first {} of {} tasks are shown.", most_slices, drawn.size());
      std::ranges::stable_sort(drawn, {}, &TimelineSlice::start_s);
      drawn.resize(most_slices);
    }
    for (const TimelineSlice& slice : drawn) slices.push_back(slice_json(slice));
  }
  Json gains = list_json(sensitivity(answer.scenario), [](const Sensitivity& one) {
    return Json{{"resource", one.resource}, {"sec_per_iter", one.sec_per_iter}};
  });
  return {{"plan_text", plan_text(answer.scenario)},
          {"time_parts", list_json(kTimeParts, part_json)},
          {"task_kinds", list_json(kTasks, kind_json)},
          {"timeline", std::move(slices)},
          {"timeline_note", std::move(note)},
          {"sensitivity", std::move(gains)}};
}

namespace {

double to_digits(double value, double scale) {
  return std::round(value * scale) / scale;
}

}  // namespace

Json cloud_json(const std::vector<FoundPlan>& plans, std::size_t most) {
  const std::size_t count = std::min(plans.size(), most);
  const auto at = [&](std::size_t i) -> const FoundPlan& {
    return plans[i * plans.size() / count];
  };
  Json rows = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(
        {to_digits(at(i).peak_memory.value / kGiB, 1e3), to_digits(at(i).sec_per_iter, 1e6)});
  }
  Json axes = Json::object();
  each_axis([&](const auto& axis) {
    std::map<std::string, std::size_t> places;
    Json values = Json::array();
    std::vector<std::size_t> place_of(count);
    for (std::size_t i = 0; i < count; ++i) {
      Json value = axis_json(axis.of(at(i).plan));
      const auto [place, is_new] = places.try_emplace(value.dump(), places.size());
      if (is_new) values.push_back(std::move(value));
      place_of[i] = place->second;
    }
    if (values.size() < 2) return;
    axes[axis.name] = std::move(values);
    for (std::size_t i = 0; i < count; ++i) rows[i].push_back(place_of[i]);
  });
  return {{"of", plans.size()}, {"axes", std::move(axes)}, {"plans", std::move(rows)}};
}

}  // namespace prequel
