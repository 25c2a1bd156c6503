#include "cli/command_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
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
#include "cli/compare/compare_answer.hpp"
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
#include "cli/show/show_answer.hpp"
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
  command.callback([shell] {
    fmt::print("{}", completion_script(*shell == "bash"  ? Shell::bash
                                       : *shell == "zsh" ? Shell::zsh
                                                         : Shell::fish));
  });
}

/// Returns what may follow the words before the cursor, where a shell's script asks; the word at
/// the cursor, which may be none, stands behind a `--`.
std::optional<std::string> asked_completions(const CLI::App& app, int argc,
                                             const char* const* argv) {
  if (argc < 3 || argv[1] != std::string_view("completion") ||
      argv[2] != std::string_view("words")) {
    return std::nullopt;
  }
  std::vector<std::string> words(argv + 3, argv + argc);
  std::string typed;
  if (words.size() > 1 && words[words.size() - 2] == "--") {
    typed = std::move(words.back());
    words.pop_back();
  }
  if (!words.empty()) words.pop_back();  // the --
  const auto names = [](const std::string& kind) { return Library({}).names(kind); };
  return completions(describe(app), words, typed, names);
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
  // Options live as long as their parser.
  const auto adds = [&]<class Options>(void (*add)(CLI::App&, Options&, const Action&),
                                       int (*run_it)(const CommonOptions&, const Options&)) {
    return [&, add, run_it] {
      const auto options = std::make_shared<Options>();
      add(app, *options, command([&common, options, run_it] { return run_it(common, *options); }));
    };
  };
  const std::pair<std::string_view, std::function<void()>> commands[] = {
      {"predict", adds(add_predict, run_predict)},
      {"search", adds(add_search, run_search)},
      {"compare", adds(prequel::add_compare, run_compare)},
      {"import", adds(add_import, run_import)},
      {"show", adds(add_show, run_show)},
      {"validate", adds(add_validate, run_validate)},
      {"calibrate",
       [&] {
         const auto runs = [&](auto run_it, const auto& options) {
           return command([&common, run_it, &options] { return run_it(common, options); });
         };
         add_calibrate(app, calibrate,
                       {.measure = runs(run_calibrate_measure, calibrate.measure),
                        .fit = runs(run_calibrate_fit, calibrate.fit),
                        .check = runs(run_calibrate_check, calibrate.check),
                        .compare = runs(run_calibrate_compare, calibrate.compare),
                        .runs = runs(run_calibrate_runs, calibrate.runs),
                        .advise = runs(run_calibrate_advise, calibrate.advise)},
                       add_job);
       }},
      {"mcp", adds(add_mcp, run_mcp)}};
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
  if (const auto offered = asked_completions(app, argc, argv)) {
    fmt::print("{}", *offered);
    return kExitDone;
  }
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
