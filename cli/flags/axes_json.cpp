#include "cli/flags/axes_json.hpp"

#include "cli/flags/flags.hpp"

#include <array>
#include <string_view>

#include "cli/json/json.hpp"
#include "models/axes/axes.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
namespace {

Json domain_json(const Domain<std::int64_t>& domain) {
  return {{"kind", "integer"}, {"least", domain.least}, {"most", domain.most}};
}
Json domain_json(const Domain<double>& domain) {
  return {{"kind", "number"}, {"least", domain.least}, {"most", domain.most}};
}
Json domain_json(const Domain<bool>& /*domain*/) {
  return {{"kind", "boolean"}};
}
Json domain_json(const Domain<std::string>& /*domain*/) {
  return {{"kind", "text"}};
}
template <Worded Enum>
Json domain_json(const Domain<Enum>& domain) {
  return {{"kind", "word"}, {"words", words(domain)}};
}
template <Worded Enum>
Json domain_json(const Domain<WordSet<Enum>>& /*domain*/) {
  return {{"kind", "words"}, {"words", kWordsOf<Enum>}};
}

constexpr std::array<std::string_view, 5> kUses{"shared", "listed", "searched", "usual", "offered"};

}  // namespace

Json axes_json() {
  Json axes = Json::array();
  each_axis([&](const auto& axis) {
    Json one{{"name", axis.name},
             {"flag", flag_of(axis.name)},
             {"help", axis.help},
             {"use", kUses[static_cast<std::size_t>(axis.use)]}};
    one.update(domain_json(axis.domain));
    axes.push_back(std::move(one));
  });
  return axes;
}

}  // namespace prequel
