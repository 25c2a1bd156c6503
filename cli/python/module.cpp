/// prequel._prequel: calls of prequel from Python, with JSON texts in and out.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <nlohmann/json.hpp>

#include "cli/call/call.hpp"
#include "cli/version.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_parse.hpp"
#include "models/job/file_cache.hpp"

namespace prequel {
namespace {

namespace py = pybind11;

using namespace std::chrono_literals;

/// Whether Python has a signal to raise, such as Ctrl-C; only its main thread ever has.
bool is_interrupted() {
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

/// Calls that share the files read so far. Threads of Python may use one at once.
class Session {
 public:
  /// The document, whether the answer is "no", and remarks on files that were read. Works without
  /// the interpreter's lock, on a thread of its own, so that signals are noticed.
  std::tuple<std::string, bool, std::string> call(const std::string& command,
                                                  const std::string& arguments,
                                                  std::vector<std::string> data_directories) {
    const py::gil_scoped_release unlocked;
    std::atomic<bool> stop{false};
    const auto ask = [&] {
      const nlohmann::ordered_json json = parse_json(command + " arguments", arguments);
      return answer_call(command, json, {std::move(data_directories), files_, &stop, {}});
    };
    auto answer = is_long(command) ? std::async(std::launch::async, ask)
                                   : std::async(std::launch::deferred, ask);
    if (is_long(command)) {
      bool interrupted = false;
      while (answer.wait_for(50ms) == std::future_status::timeout) {
        if (interrupted || !is_interrupted()) continue;
        interrupted = stop = true;
      }
      if (interrupted) throw_pending();
    }
    CallAnswer done = answer.get();
    return {std::move(done.document), done.is_no, std::move(done.remarks)};
  }

 private:
  /// A search may take minutes; the others are done before anyone could want to stop them.
  static bool is_long(const std::string& command) { return command == "search"; }

  [[noreturn]] static void throw_pending() {
    const py::gil_scoped_acquire gil;
    throw py::error_already_set();
  }

  std::shared_ptr<FileCache> files_ = std::make_shared<FileCache>();
};

}  // namespace

PYBIND11_MODULE(_prequel, module) {
  module.doc() = "prequel's answers as JSON texts; the package prequel is for people.";
  module.attr("__version__") = version_number();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const InputError& error) {
      const std::string& first = error.problems().front();
      const py::object type = py::module_::import("prequel._error").attr("Error");
      const py::object raised = type(first.substr(0, first.find(": ")), error.problems());
      PyErr_SetObject(type.ptr(), raised.ptr());
    }
  });
  py::class_<Session>(module, "Session", "Calls that share the files read so far.")
      .def(py::init<>())
      .def("call", &Session::call, py::arg("command"), py::arg("arguments"),
           py::arg("data_directories"),
           "The document of a command with these arguments (JSON), whether the answer is \"no\", "
           "and remarks on files of other tools.");
  module.def(
      "arguments_schema",
      [](const std::string& command) { return arguments_schema(command).dump(); },
      py::arg("command"), "The JSON Schema of a command's arguments, as JSON.");
}

}  // namespace prequel
