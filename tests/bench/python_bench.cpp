// A prediction through the Python package, as a notebook asks for it.

#include <benchmark/benchmark.h>
#include <pybind11/embed.h>

namespace prequel {
namespace {

namespace py = pybind11;

/// The job of predict/384_gpus, from the call to the number, with the documents that the package
/// keeps. An item is a prediction.
void predict_in_python(benchmark::State& state) {
  static const py::scoped_interpreter interpreter;
  py::module_::import("sys").attr("path").attr("insert")(0, PREQUEL_PYTHON_PACKAGES);
  const py::object predict = py::module_::import("prequel").attr("predict");
  for ([[maybe_unused]] auto _ : state) {
    const py::object answer = predict("bloom-176b-jean-zay");
    benchmark::DoNotOptimize(answer.attr("sec_per_iter").cast<double>());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(predict_in_python)->Name("python/predict")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prequel
