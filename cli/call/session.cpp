#include <nlohmann/json.hpp>

#include "cli/api/prequel.hpp"
#include "cli/call/call.hpp"
#include "hw/base/json_parse.hpp"
#include "models/job/file_cache.hpp"

namespace prequel {

struct Session::State {
  std::shared_ptr<FileCache> files = std::make_shared<FileCache>();
  std::shared_ptr<ParserPool> parsers = make_parser_pool();

  [[nodiscard]] CallSession session(const Call& call) const {
    return {call.data_directories, files, call.stop, call.progress, parsers};
  }
};

namespace {

nlohmann::ordered_json arguments_of(const Call& call) {
  return parse_json(call.command + " arguments", call.arguments);
}

}  // namespace

Session::Session() : state_(std::make_shared<const State>()) {}

CallAnswer Session::answer(const Call& call) const {
  return answer_call(call.command, arguments_of(call), state_->session(call));
}

std::string Session::predict_many(const Call& shared, const std::string& columns) const {
  return prequel::predict_many(arguments_of(shared), parse_json("predict_many plans", columns),
                               state_->session(shared))
      .dump();
}

std::string Session::report(const Call& call, const std::string& document) const {
  return report_call(call.command, arguments_of(call), document, state_->session(call));
}

std::string schema_of_arguments(const std::string& command) {
  return arguments_schema(command).dump();
}

}  // namespace prequel
