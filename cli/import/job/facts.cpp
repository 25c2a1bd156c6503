#include "cli/import/job/facts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"

namespace prequel {
const std::string& Facts::text(std::string_view name) const {
  static const std::string none;
  const Fact* const found = find_name(facts_, name);
  return found == nullptr ? none : found->text;
}

std::optional<std::int64_t> Facts::value(std::string_view name) const {
  const Fact* const found = find_name(facts_, name);
  return found == nullptr ? std::nullopt : std::optional<std::int64_t>(parse_integer(found->text));
}

void Facts::set(const std::string& name, std::string text) {
  if (text.empty()) return drop(name);
  facts_[name] = {std::move(text), origin_};
}

void Facts::assume(const std::string& name, std::string text, const std::string& line) {
  const OriginScope from(*this, {Sureness::assumed, {}, line});
  set(name, std::move(text));
  report.assumed.push_back(line);
}

void Facts::note(const std::string& flag) {
  if (!says(flag)) set_number(flag, 1);
}

void Facts::set_number(const std::string& name, std::optional<std::int64_t> number) {
  number ? set(name, std::to_string(*number)) : drop(name);
}

void Facts::drop_all(std::string_view begin) {
  const auto all = with(begin);
  facts_.erase(all.begin(), all.end());
}

bool Facts::is_of(std::string_view framework) const {
  if (says(fmt::format("mark.of.{}", framework))) return true;
  const auto found = names->frameworks.find(framework);
  return found != names->frameworks.end() &&
         std::ranges::any_of(found->second.flags,
                             [&](const std::string& flag) { return says(flag); });
}

std::vector<FieldOrigin> origins_of(const Facts& facts) {
  std::vector<FieldOrigin> fields;
  for (const char* begin : {"cluster", "devices", "mixers.", "model.", "plan.", "software"}) {
    for (const auto& [name, fact] : facts.with(begin)) {
      fields.push_back({name, fact.text, facts.origin(fact)});
    }
  }
  return fields;
}

std::string origins_text(const std::vector<FieldOrigin>& fields) {
  std::string text;
  for (const auto& [field, value, from] : fields) {
    const std::string between = from.file.empty() || from.said.empty() ? "" : ", ";
    const std::string place = from.file + between + from.said;
    text += fmt::format("{} {} ({}){}{}\n", field, printable(value, 80), name(from.sure),
                        place.empty() ? "" : ": ", printable(place, 200));
  }
  return text;
}

std::string report_text(const ImportReport& report) {
  std::string text;
  for (const std::string& line : report.read) text += fmt::format("read: {}\n", line);
  if (report.parameters) {
    text += fmt::format("parameters: {:.4g} billion ({}){}\n",
                        static_cast<double>(*report.parameters) * 1e-9, *report.parameters,
                        report.active_parameters
                            ? fmt::format(", of which a token passes {:.4g} billion",
                                          static_cast<double>(*report.active_parameters) * 1e-9)
                            : "");
  }
  for (const std::string& line : report.assumed) text += fmt::format("assumed: {}\n", line);
  for (const std::string& line : report.left_out) text += fmt::format("left out: {}\n", line);
  if (report.ignored.empty()) return text;
  std::string names;
  for (const std::string& name : report.ignored) {
    names += (names.empty() ? "" : ", ") + printable(name, 80);
  }
  return text + fmt::format("ignored: {}\n", names);
}

}  // namespace prequel
