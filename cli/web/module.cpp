/// The page's engine: prequel's answers as JSON texts, called by cli/web/worker.js.

#include <array>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <emscripten.h>

#include "cli/call/call.hpp"
#include "cli/call/call_commands.hpp"
#include "cli/flags/flags.hpp"
#include "cli/json/json.hpp"
#include "cli/show/cards.hpp"
#include "cli/text/version.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_parse.hpp"
#include "models/axes/axes.hpp"
#include "models/axes/axis_text.hpp"
#include "models/job/file_cache.hpp"

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

/// Returns the table of axes for the page's controls: of each, in the table's order, `name`,
/// `flag`, `help`, `use` (what a search does with it), `kind` and what it can be: `least` and
/// `most`, or `words`.
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

}  // namespace
}  // namespace prequel

namespace {

using prequel::Json;

// clang-format off
EM_JS(void, tell_progress, (double done, double of), {
  if (Module.onProgress) Module.onProgress(done, of);
});
// clang-format on

/// Returns the last answer of prequel_call.
std::string& last_answer() {
  static std::string text;
  return text;
}

const char* answer_with(const Json& json) {
  last_answer() = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return last_answer().c_str();
}

/// {"NAME": "TEXT"}. Throws InputError.
std::map<std::string, std::string> documents_of(const char* text) {
  std::map<std::string, std::string> documents;
  const Json json = prequel::parse_json("documents", text);
  for (const auto& [name, document] : json.items()) {
    if (document.is_string()) documents[name] = document.get<std::string>();
  }
  return documents;
}

prequel::CallSession session(int drawn_slices) {
  static const auto files = std::make_shared<prequel::FileCache>();
  static const auto parsers = prequel::make_parser_pool();
  const auto progress = [](std::size_t done, std::size_t of) {
    tell_progress(static_cast<double>(done), static_cast<double>(of));
  };
  prequel::CallSession calls;
  calls.files = files;
  calls.parsers = parsers;
  calls.progress = progress;
  if (drawn_slices > 0) calls.drawn_slices = std::size_t(drawn_slices);
  return calls;
}

}  // namespace

std::vector<prequel::GapCause> prequel::program_causes(const Library& /*library*/,
                                                       const PredictAnswer& /*answer*/) {
  return {};
}
std::span<const prequel::CallCommand> prequel::program_commands() {
  return {};
}

std::span<const prequel::CallReport> prequel::program_reports() {
  return {};
}

extern "C" {

/// The answer to `command` with these `arguments`, JSON as of `prequel::answer_call`, and the texts
/// of `documents` by the names that arguments have for them: {"document", "is_no", "remarks",
/// "drawing"}, of which the document is a text, as the program prints it, and the drawing there
/// where `drawn_slices` is not 0; or {"problems"}, the messages of what was wrong. The text lives
/// until the next call.
EMSCRIPTEN_KEEPALIVE const char* prequel_call(const char* command, const char* arguments,
                                              const char* documents, int drawn_slices) {
  try {
    const Json asked = prequel::parse_json("arguments", arguments);
    prequel::CallSession calls = session(drawn_slices);
    calls.documents = documents_of(documents);
    const prequel::CallAnswer answer = prequel::answer_call(command, asked, calls);
    Json json{{"document", answer.document}, {"is_no", answer.is_no}, {"remarks", answer.remarks}};
    if (!answer.drawing.empty()) json["drawing"] = answer.drawing;
    return answer_with(json);
  } catch (const prequel::InputError& error) {
    return answer_with({{"problems", error.problems()}});
  } catch (const std::bad_alloc&) {
    return answer_with({{"problems", {"this takes more memory than a page has"}}});
  } catch (const std::exception& error) {
    return answer_with({{"problems", {error.what()}}});
  }
}

/// {"version", "axes", "cards"}: of the engine, and what controls are made of.
EMSCRIPTEN_KEEPALIVE const char* prequel_about() {
  return answer_with({{"version", prequel::version()},
                      {"axes", prequel::axes_json()},
                      {"cards", prequel::cards_json(prequel::Library({}))}});
}

}  // extern "C"

int main() {
  setenv("PREQUEL_DATA", "/data", 1);
  return 0;
}
