#include "cli/call/call_commands.hpp"

#include <array>

#include "cli/compare/compare_answer.hpp"
#include "cli/compare/compare_format.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/json/json.hpp"
#include "cli/predict/predict_answer.hpp"
#include "cli/report/drawing.hpp"
#include "cli/search/clusters.hpp"
#include "cli/search/search_answer.hpp"
#include "cli/search/search_format.hpp"
#include "cli/show/show_answer.hpp"
#include "cli/translate/import_answer.hpp"
#include "hw/base/interrupted.hpp"

namespace prequel {

Progress ReadCall::progress() const {
  return [this](std::size_t done, std::size_t of) {
    heed(session.stop);
    if (session.progress) session.progress(done, of);
  };
}

namespace {

/// Makes what is said beside an answer its remarks.
Tell remarks_of(CallAnswer& answer) {
  return [&answer](const std::string& lines) { answer.remarks += lines; };
}

CallAnswer predict_call(const ReadCall& call) {
  CallAnswer answer;
  PredictAnswer predicted =
      answer_predict(call.library, call.options.predict, remarks_of(answer), call.progress());
  predicted.details.context = call.context();
  predicted.details.causes = program_causes(call.library, predicted);
  // Who draws asks often, and for the rest later.
  if (call.session.drawn_slices == 0) {
    predicted.details.sure = sure_plan(call.library, predicted);
  }
  answer.document = prediction_json(predicted);
  if (call.session.drawn_slices > 0) {
    answer.drawing = drawing_json(predicted, call.session.drawn_slices).dump();
  }
  answer.is_no = predicted.is_no();
  return answer;
}

CallAnswer search_call(const ReadCall& call) {
  CallAnswer answer;
  SearchOptions options = call.options.search;
  options.format = OutputFormat::json;
  options.draws_cloud = call.session.drawn_slices > 0;
  const SearchWatch watch{call.session.progress, call.session.stop};
  if (asks_clusters(options)) {
    std::vector<SearchAnswer> found =
        answer_clusters(call.library, options, remarks_of(answer), watch);
    found.front().context = call.context();
    answer.document = document_text(clusters_json(found));
    answer.is_no = is_no(found);
  } else {
    SearchAnswer found = answer_search(call.library, options, remarks_of(answer), watch);
    found.context = call.context();
    answer.document = document_text(search_json(found));
    if (options.draws_cloud) {
      answer.drawing = cloud_json(found.cloud, call.session.drawn_slices).dump();
    }
    answer.is_no = found.result.plans.empty();
  }
  return answer;
}

CallAnswer compare_call(const ReadCall& call) {
  CallAnswer answer;
  const CompareAnswer compared =
      answer_compare(call.library, call.options.compare, remarks_of(answer));
  answer.document = compare_json(compared, call.context());
  answer.is_no = compared.is_no();
  return answer;
}

CallAnswer import_call(const ReadCall& call) {
  const ImportAnswer imported = answer_import(call.library, call.options.import);
  CallAnswer answer;
  answer.document = import_json(imported);
  answer.remarks = report_text(imported.report);
  return answer;
}

CallAnswer show_call(const ReadCall& call) {
  CallAnswer answer;
  answer.document = show_json(call.library, call.options.show, remarks_of(answer));
  return answer;
}

}  // namespace

std::span<const CallCommand> shared_commands() {
  static const std::array kCommands{
      CallCommand{"predict",
                  [](CLI::App& app, CallOptions& to) { add_predict(app, to.predict, kNoAction); },
                  predict_call},
      CallCommand{"search",
                  [](CLI::App& app, CallOptions& to) { add_search(app, to.search, kNoAction); },
                  search_call},
      CallCommand{"compare",
                  [](CLI::App& app, CallOptions& to) { add_compare(app, to.compare, kNoAction); },
                  compare_call},
      CallCommand{"import",
                  [](CLI::App& app, CallOptions& to) { add_import(app, to.import, kNoAction); },
                  import_call},
      CallCommand{"show", [](CLI::App& app, CallOptions& to) { add_show(app, to.show, kNoAction); },
                  show_call}};
  return kCommands;
}

}  // namespace prequel
