#include "cli/command_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/calibrate/calibrate_parser.hpp"
#include "cli/command_tree.hpp"
#include "cli/commands/commands.hpp"
#include "cli/compare/compare_options.hpp"
#include "cli/flags/call_text.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/flags/flags.hpp"
#include "cli/flags/job_flags.hpp"
#include "cli/flags/parse_problem.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/import/job/name_files.hpp"
#include "cli/mcp/server.hpp"
#include "cli/predict/predict_options.hpp"
#include "cli/search/search_options.hpp"
#include "cli/show/show_options.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/version.hpp"
#include "cli/translate/import_options.hpp"
#include "cli/validate/validate_options.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// Help that begins with the examples; they are kept as the command's footer.
class HelpFormat : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_description(const CLI::App* app) const override {
    return "Examples:\n" + app->get_footer() + "\n" + CLI::Formatter::make_description(app);
  }
  [[nodiscard]] std::string make_footer(const CLI::App* /*app*/) const override { return {}; }
  /// Without the value of switches that say no, which their name does.
  [[nodiscard]] std::string make_option_name(const CLI::Option* option,
                                             bool is_positional) const override {
    constexpr std::string_view kNo = "{false}";
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    const std::size_t at = name.find(kNo);
    return at == std::string::npos ? name : name.erase(at, kNo.size());
  }
};

void add_completion(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("completion", "The script that lets a shell complete prequel's calls");
  command.footer(
      "  eval \"$(prequel completion bash)\"\n"
      "  prequel completion fish > ~/.config/fish/completions/prequel.fish\n");
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "the shell")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  command.callback([&app, shell] {
    const Shell chosen = *shell == "bash"  ? Shell::bash
                         : *shell == "zsh" ? Shell::zsh
                                           : Shell::fish;
    fmt::print("{}", completion_script(describe(app), chosen));
  });
}

void add_manual(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("manual", "The manual page, for man");
  command.footer(
      "  prequel manual | man -l -\n"
      "  prequel manual > prequel.1\n");
  command.callback([&app] { fmt::print("{}", manual_page(describe(app), version())); });
}

/// Refuses values of flags that take none (`--json=3`), in all commands.
void let_flags_stand_alone(CLI::App& command) {
  for (CLI::Option* option :
       command.get_options([](const CLI::Option* any) { return any->get_expected_max() == 0; })) {
    option->disable_flag_override();
  }
  for (CLI::App* sub : command.get_subcommands(nullptr)) let_flags_stand_alone(*sub);
}

/// Tests whether any command has `flag` as a flag without a value.
bool stands_alone(CLI::App& command, const std::string& flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  if (option != nullptr) return option->get_items_expected_max() == 0;
  return std::ranges::any_of(command.get_subcommands(nullptr),
                             [&](CLI::App* sub) { return stands_alone(*sub, flag); });
}

/// The parser takes `--json=true` for `--json`, and refuses `--json=yes`: refuse all of them.
void refuse_values_of_flags(CLI::App& app, int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    const std::string flag = word.substr(0, word.find('='));
    if (word.starts_with("--") && word.ends_with("=true") && stands_alone(app, flag)) {
      throw CLI::ArgumentMismatch::FlagOverride(flag.substr(2));
    }
  }
}

void print_problems(const CommonOptions& common, const std::vector<std::string>& problems) {
  const std::string label = inked(terminal(stderr, common.color), Ink::red, "prequel:");
  for (const std::string& problem : problems) fmt::print(stderr, "{} {}\n", label, problem);
}

/// Refuses a PREQUEL_DATA that is no folder, as --data-dir is: names would be looked up elsewhere.
void check_data_variable() {
  const char* folder = std::getenv("PREQUEL_DATA");
  if (folder == nullptr || *folder == '\0') return;
  if (is_folder(folder)) return;
  throw InputError(fmt::format("PREQUEL_DATA={}: not a directory", printable(folder, 4096)));
}

/// Parses and does what is asked, whatever becomes of it on stdout.
int run(int argc, const char* const* argv, CommonOptions& common) {
  CLI::App app("Predicts time, memory and utilisation of distributed LLM training.", "prequel");
  app.formatter(std::make_shared<HelpFormat>());
  app.require_subcommand(1);
  app.fallthrough();
  // Said twice, the last counts, as wrappers of other programs have it.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  PredictOptions predict;
  SearchOptions search;
  CompareOptions compare;
  ImportOptions import;
  ShowOptions show;
  ValidateOptions validate;
  McpOptions mcp;
  CalibrateOptions calibrate;
  int status = kExitDone;
  const auto command = [&](const auto& body) {
    return [&app, &common, &status, body] {
      check_data_variable();
      common.call = call_text(app);
      status = body();
    };
  };
  app.add_option("--data-dir", common.data_directories,
                 "look here first for models, devices, clusters, software (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--color", common.color, "colour the output")
      ->type_name("auto|always|never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
  app.add_flag("--quiet,-q", common.quiet, "no warnings and no progress");
  const std::pair<std::string_view, std::function<void()>> commands[] = {
      {"predict",
       [&] { add_predict(app, predict, command([&] { return run_predict(common, predict); })); }},
      {"search",
       [&] { add_search(app, search, command([&] { return run_search(common, search); })); }},
      {"compare",
       [&] { add_compare(app, compare, command([&] { return run_compare(common, compare); })); }},
      {"import",
       [&] { add_import(app, import, command([&] { return run_import(common, import); })); }},
      {"show", [&] { add_show(app, show, command([&] { return run_show(common, show); })); }},
      {"validate",
       [&] {
         add_validate(app, validate, command([&] { return run_validate(common, validate); }));
       }},
      {"calibrate",
       [&] {
         add_calibrate(
             app, calibrate,
             {.measure = command([&] { return run_calibrate_measure(common, calibrate.measure); }),
              .fit = command([&] { return run_calibrate_fit(common, calibrate.fit); }),
              .check = command([&] { return run_calibrate_check(common, calibrate.check); }),
              .compare = command([&] { return run_calibrate_compare(common, calibrate.compare); }),
              .runs = command([&] { return run_calibrate_runs(common, calibrate.runs); }),
              .advise = command([&] { return run_calibrate_advise(common, calibrate.advise); })},
             add_job);
       }},
      {"mcp", [&] { add_mcp(app, mcp, command([&] { return run_mcp(common, mcp); })); }}};
  // The parser takes longer to make than to use: a command that comes first needs no other's flags.
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool alone =
      std::ranges::any_of(commands, [&](const auto& one) { return one.first == first; });
  for (const auto& [name, add] : commands) {
    if (!alone || name == first) add();
  }
  add_completion(app);
  add_manual(app);
  app.set_version_flag(
      "--version", [&] { return build_facts(Library(common.data_directories)); },
      "print the version and how it was built");
  app.footer(
      "  prequel predict bloom-176b-jean-zay\n"
      "  prequel validate data/runs/bigscience-jz-a100.csv\n");
  let_flags_stand_alone(app);
  try {
    refuse_values_of_flags(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::ostringstream text;  // printed as all else is, so that a failure is seen
    const int exit = app.exit(help, text, text);
    fmt::print("{}", text.str());
    return exit;
  } catch (const CLI::ParseError& error) {
    const auto names = [&] {
      const Library library(common.data_directories);
      return names_of_library(&library);
    };
    print_problems(common, {parse_problem(app, error, {argv, argv + argc}, names) +
                            "\nprequel --help shows how to call it"});
    return kExitBadInput;
  } catch (const InputError& error) {
    print_problems(common, problems_in_flags(error));
    return kExitBadInput;
  } catch (const std::exception& error) {
    const bool cannot_print = dynamic_cast<const std::system_error*>(&error) != nullptr;
    if (cannot_print && std::ferror(stdout) != 0) throw;
    print_problems(common, {fmt::format("internal error: {}", error.what())});
    return kExitBadInput;
  }
  return status;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  CommonOptions common;
  int status = kExitBadInput;
  std::error_code lost;
  try {
    status = run(argc, argv, common);
    if (std::fflush(stdout) != 0) {
      lost = {errno, std::generic_category()};
    } else if (std::ferror(stdout) != 0) {
      lost = std::make_error_code(std::errc::io_error);
    }
  } catch (const std::system_error& error) {  // of fmt, which could not print
    lost = error.code();
  }
  if (!lost) return status;
  print_problems(common, {"stdout: cannot be written: " + lost.message()});
  return kExitBadInput;
}

}  // namespace prequel
