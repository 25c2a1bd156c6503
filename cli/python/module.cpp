/// prequel._prequel: calls of prequel from Python, with JSON texts in and out.

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "cli/api/prequel.hpp"
#include "cli/calibrate/runs_answer.hpp"

namespace prequel {
namespace {

namespace py = pybind11;

using namespace std::chrono_literals;

/// Tests whether Python has a signal to raise, such as Ctrl-C; only its main thread ever has.
bool is_interrupted() {
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

/// Folder, name and text.
using DataFile = std::tuple<std::string, std::string, std::string>;

void write_data(const std::vector<DataFile>& files, const std::string& directory) {
  std::vector<CalibratedFile> written;
  for (const auto& [folder, name, text] : files) written.push_back({folder, name, text});
  write_data_folder(written, directory);
}

/// A session whose calls work without the interpreter's lock. Threads of Python may use one at
/// once.
class PythonSession {
 public:
  /// The document, remarks on files that were read, and files of a data folder (folder, name,
  /// text). Works without the interpreter's lock; what may take long on a thread of its own, so
  /// that signals are noticed. `progress`, unless None, hears how much of that is done, of how
  /// much; what it raises ends the call.
  std::tuple<std::string, std::string, std::vector<DataFile>> call(
      const std::string& command, const std::string& arguments,
      std::vector<std::string> data_directories, const py::object& progress) {
    std::atomic<std::size_t> done_of_it{0}, all{0};
    const Progress count = [&](std::size_t done, std::size_t of) {
      done_of_it = done;
      all = of;
    };
    std::size_t told = 0;
    const auto tell = [&] {  // on the caller's thread
      if (progress.is_none() || all == 0 || done_of_it == told) return;
      told = done_of_it;
      progress(told, all.load());
    };
    const py::gil_scoped_release unlocked;
    CallAnswer done = interruptible(
        command,
        [&](const std::atomic<bool>* stop) {
          return session_.answer({command, arguments, std::move(data_directories), stop, count});
        },
        tell);
    std::vector<DataFile> files;
    for (CalibratedFile& file : done.files) {
      files.emplace_back(std::move(file.folder), std::move(file.name), std::move(file.text));
    }
    return {std::move(done.document), std::move(done.remarks), std::move(files)};
  }

  /// The table (JSON) that `predict_many` makes of a table of plans.
  std::string predict_many(const std::string& arguments, const std::string& columns,
                           std::vector<std::string> data_directories) {
    const py::gil_scoped_release unlocked;
    return interruptible("predict many", [&](const std::atomic<bool>* stop) {
      return session_.predict_many({"predict_many", arguments, std::move(data_directories), stop},
                                   columns);
    });
  }

  /// The report of a call that was answered with `document`.
  std::string report(const std::string& command, const std::string& arguments,
                     std::vector<std::string> data_directories, const std::string& document) {
    const py::gil_scoped_release unlocked;
    return interruptible(command, [&](const std::atomic<bool>* stop) {
      return session_.report({command, arguments, std::move(data_directories), stop}, document);
    });
  }

 private:
  /// Returns what `ask` returns. Calls that may take long run on a thread of its own, a signal of
  /// Python sets the flag that `ask` is given, and so does what `tell` throws, which is called
  /// meanwhile with the interpreter's lock.
  template <class Ask>
  static std::invoke_result_t<Ask, const std::atomic<bool>*> interruptible(
      const std::string& command, const Ask& ask, const std::function<void()>& tell = [] {}) {
    if (!is_long(command)) return ask(nullptr);
    std::atomic<bool> stop{false};
    std::exception_ptr thrown;
    auto answer = std::async(std::launch::async, [&] { return ask(&stop); });
    while (answer.wait_for(50ms) == std::future_status::timeout) {
      if (stop) continue;
      if (is_interrupted()) stop = true;
      if (stop) continue;
      try {
        const py::gil_scoped_acquire gil;
        tell();
      } catch (...) {
        thrown = std::current_exception();
        stop = true;
      }
    }
    if (thrown) std::rethrow_exception(thrown);
    if (stop) throw_pending();
    return answer.get();
  }

  /// Tests whether a call looks at the flag that stops it: the others are done before anyone could
  /// want that.
  static bool is_long(const std::string& command) {
    return command == "search" || command == "predict many" || command == "validate" ||
           command == "calibrate runs";
  }

  [[noreturn]] static void throw_pending() {
    const py::gil_scoped_acquire gil;
    throw py::error_already_set();
  }

  Session session_;
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
  py::class_<PythonSession>(module, "Session", "Calls that share the files read so far.")
      .def(py::init<>())
      .def(
          "call", &PythonSession::call, py::arg("command"), py::arg("arguments"),
          py::arg("data_directories"), py::arg("progress") = py::none(),
          "The document of a command with these arguments (JSON), remarks on files of other tools, "
          "and files of a data folder (folder, name, text).")
      .def("predict_many", &PythonSession::predict_many, py::arg("arguments"), py::arg("columns"),
           py::arg("data_directories"),
           "Columns (JSON) that predict a table of plans, which share these arguments.")
      .def("report", &PythonSession::report, py::arg("command"), py::arg("arguments"),
           py::arg("data_directories"), py::arg("document"),
           "The report (HTML) of a call that was answered with this document.");
  module.def("write_data", &write_data, py::arg("files"), py::arg("directory"),
             "Writes files of a data folder.");
  module.def("arguments_schema", &schema_of_arguments, py::arg("command"),
             "The JSON Schema of a command's arguments, as JSON.");
}

}  // namespace prequel
