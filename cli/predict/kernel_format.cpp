#include "cli/predict/kernel_format.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <variant>

#include <fmt/format.h>

#include "cli/json/json.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/job/usual_software.hpp"

namespace prequel {
namespace {

/// Returns the content of an input's file, as a job or a flag beside it names it.
nlohmann::json input_file(const Library& library, const std::string& kind,
                          const std::optional<std::string>& flag, const nlohmann::json& in_job,
                          const std::string& otherwise) {
  if (!flag && in_job.is_object()) return in_job;
  const std::string name = flag                 ? *flag
                           : in_job.is_string() ? in_job.get<std::string>()
                                                : otherwise;
  return library.open(kind, name).json();
}

nlohmann::json job_file(const Library& library, const JobRequest& request) {
  if (!request.job) return nlohmann::json::object();
  if (request.job_text) return Document::parse(*request.job, *request.job_text).json();
  return library.open("jobs", *request.job).json();
}

/// The origin of the innermost object on the way along `path` that says one.
std::string origin_along(const nlohmann::json& file, const std::string& path) {
  const nlohmann::json* value = &file;
  std::string origin;
  for (std::size_t begin = 0;;) {
    if (const auto own = value->find("origin"); own != value->end() && own->is_string()) {
      origin = own->get<std::string>();
    }
    if (begin >= path.size()) return origin;
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const auto member = value->find(path.substr(begin, end - begin));
    if (member == value->end() || !member->is_object()) return origin;
    value = &*member;
    begin = end + 1;
  }
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

/// 1.68e12 and "FLOP" to "1.68 TFLOP".
std::string amount_text(double amount, const char* unit) {
  constexpr std::pair<double, const char*> kPrefixes[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [factor, prefix] : kPrefixes) {
    if (amount >= factor) return fmt::format("{:.4g} {}{}", amount / factor, prefix, unit);
  }
  return fmt::format("{:.4g} {}", amount, unit);
}

struct ShapeText {
  std::string operator()(const Gemm& gemm) const {
    static constexpr const char* kPasses[] = {"", " dgrad", " wgrad"};
    return fmt::format("{}{} x {} x {} {}{}",
                       gemm.batch > 1 ? fmt::format("{} of ", gemm.batch) : "", gemm.m, gemm.n,
                       gemm.k, prequel::name(gemm.precision),
                       kPasses[static_cast<std::size_t>(gemm.pass)]);
  }
  std::string operator()(const FusedAttention& attention) const {
    const std::string kv = attention.kv_heads == attention.heads
                               ? std::string()
                               : fmt::format(" ({} kv)", attention.kv_heads);
    const std::string seen = attention.window > 0  ? fmt::format(", window {}", attention.window)
                             : attention.chunk > 0 ? fmt::format(", chunks of {}", attention.chunk)
                                                   : std::string();
    return fmt::format("{} x {} tokens, {} heads{} of {}{}", attention.batch, attention.seq,
                       attention.heads, kv, attention.head_dim, seen);
  }
  std::string operator()(const Scan& scan) const {
    return fmt::format("{} of {} x {} tokens, {} heads of {} x {}", prequel::name(scan.kind),
                       scan.batch, scan.seq, scan.heads, scan.key_dim, scan.value_dim);
  }
  std::string operator()(const SparseAttention& sparse) const {
    return fmt::format("{:.4g} tokens, {:.4g} keys each, {} heads of {}", sparse.queries,
                       sparse.keys, sparse.heads, sparse.key_dim);
  }
  std::string operator()(const Stream& stream) const {
    return amount_text(stream.bytes.value, "B");
  }
  std::string operator()(const GroupedGemm& grouped) const {
    return fmt::format("{} experts share {} rows, {} -> {} {}", grouped.groups, grouped.rows,
                       grouped.inputs, grouped.outputs, prequel::name(grouped.precision));
  }
  std::string operator()(const Cast& cast) const {
    return fmt::format("{:.4g} elements to {}", cast.elements,
                       prequel::name(format_of(cast.recipe)));
  }
  std::string operator()(const GroupCollective& collective) const {
    return fmt::format("{} {}", prequel::name(collective.op),
                       amount_text(collective.bytes.value, "B"));
  }
  std::string operator()(const ContextRing& ring) const {
    return fmt::format("{} a step", amount_text(ring.bytes.value, "B"));
  }
  std::string operator()(const Dispatch& transfer) const {
    return fmt::format("{} tokens to {} experts each", transfer.tokens, transfer.top_k);
  }
  std::string operator()(const Seconds&) const { return "-"; }
};

std::string shape_text(const ExplainedKernel& kernel) {
  return std::visit(ShapeText{}, kernel.what.what);
}

std::string title(const ExplainedKernel& kernel) {
  return fmt::format("{}, {} {}", kernel.name, kernel.part, kernel.pass);
}

double all_of(const ExplainedKernel& kernel) {
  return kernel.seconds * static_cast<double>(kernel.count);
}

/// Returns the factor that the software stack puts on the price.
double software_factor(const ExplainedKernel& kernel) {
  return kernel.price.time.value > 0 ? kernel.seconds / kernel.price.time.value : 1.0;
}

/// Shape and work; m x n x k of C[m,n] = A[m,k] B[k,n].
std::string work_text(const ExplainedKernel& kernel) {
  const PriceExplanation& price = kernel.price;
  const bool bytes_alone = std::holds_alternative<Stream>(kernel.what.what);
  std::string text = bytes_alone ? std::string() : shape_text(kernel);
  if (std::holds_alternative<Gemm>(kernel.what.what)) text += " (m x n x k)";
  if (price.flop.value > 0) {
    text += fmt::format("; {}, {:.1f} TFLOP/s", amount_text(price.flop.value, "FLOP"),
                        price.flop.value / kernel.seconds / kTera);
  }
  if (price.bytes.value > 0) {
    text +=
        fmt::format("{}{} moved, {:.1f} GB/s", text.empty() ? "" : "; ",
                    amount_text(price.bytes.value, "B"), price.bytes.value / kernel.seconds / kGB);
  }
  return text;
}

std::string paragraph(const ExplainedKernel& kernel, double sec_per_iter,
                      const Terminal& terminal) {
  const std::size_t width = terminal.at_most(100) - 2;
  const PriceExplanation& price = kernel.price;
  std::string text =
      inked(terminal, Ink::bold, title(kernel)) +
      fmt::format(": {}; x {} = {} an iteration, {:.1f} %\n", time_text(kernel.seconds),
                  kernel.count, time_text(all_of(kernel)), 100 * all_of(kernel) / sec_per_iter);
  if (!std::holds_alternative<Seconds>(kernel.what.what)) {
    text += "  " + wrapped(work_text(kernel), width, "    ") + "\n";
  }
  text += "  " + wrapped(price.model, width, "    ") + "\n";
  text += "  constants: " + price.constants;
  if (price.relative_error > 0) {
    text += fmt::format(", which err by {:.1f} % on average", 100 * price.relative_error);
  }
  text += "\n";
  TextTable limits({"limit", "alone"});
  for (const Limit& limit : price.limits) {
    if (limit.time.value < 1e-9) continue;  // less than anything that is measured
    limits.row(limit.name, time_text(limit.time.value), &limit == &price.binding() ? "binds" : "");
  }
  text += limits.text(0, "    ");
  const double factor = software_factor(kernel);
  if (std::abs(factor - 1) < 1e-4) return text;
  return text + fmt::format("  together {}, x {:.4g} by the software stack\n",
                            time_text(price.time.value), factor);
}

}  // namespace

OriginOf origins(const Library& library, const JobRequest& request, const Job& job) {
  const nlohmann::json asked = job_file(library, request);
  const auto in_job = [&](const char* key) { return asked.value(key, nlohmann::json()); };
  std::map<std::string, nlohmann::json> files{
      {"device", input_file(library, "devices", request.device, {}, job.cluster.device)},
      {"cluster", input_file(library, "clusters", request.cluster, in_job("cluster"), {})},
      {"software",
       input_file(library, "software", request.software, in_job("software"),
                  usual_software(library, job.cluster, job.model.has_experts(), job.plan))}};
  return [files = std::move(files), overrides = request.overrides](const std::string& path) {
    const std::size_t dot = path.find('.');
    const nlohmann::json& file = files.at(path.substr(0, dot));
    const std::string inside = path.substr(dot + 1);
    const std::size_t kind = std::string("memory_bound.").size();
    if (inside.starts_with("memory_bound.") &&
        !file["memory_bound"].contains(inside.substr(kind))) {
      // A kind of kernel that the file does not name costs what this one costs.
      return "as fused_pointwise: " + origin_along(file, "memory_bound.fused_pointwise");
    }
    std::string origin = origin_along(file, inside);
    const bool changed = std::ranges::any_of(
        overrides, [&](const Override& one) { return one.path.starts_with(path + "."); });
    return changed ? origin + "; some changed by --set" : origin;
  };
}

std::vector<ExplainedKernel> named_kernels(const std::vector<ExplainedKernel>& kernels,
                                           const std::vector<std::string>& names) {
  const auto plain = [](std::string text) {
    std::ranges::replace(text, '-', ' ');
    return text;
  };
  std::vector<std::string> known;
  for (const ExplainedKernel& kernel : kernels) {
    const std::string name(kernel.name);
    if (std::ranges::find(known, name) == known.end()) known.push_back(name);
  }
  known.emplace_back("all");
  for (const std::string& name : names) {
    if (std::ranges::any_of(known, [&](const auto& one) { return plain(one) == plain(name); })) {
      continue;
    }
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    throw InputError("--explain " + printable(name) + ": no such kernel in this step" +
                     did_you_mean(name, known) + "; it has " + list);
  }
  std::vector<ExplainedKernel> chosen;
  std::ranges::copy_if(kernels, std::back_inserter(chosen), [&](const ExplainedKernel& kernel) {
    return std::ranges::any_of(names, [&](const std::string& name) {
      return name == "all" || plain(name) == plain(std::string(kernel.name));
    });
  });
  return chosen;
}

std::string kernel_table(const std::vector<ExplainedKernel>& kernels, double sec_per_iter,
                         const Terminal& terminal) {
  TextTable table({"kernel", "time", "count", "an iteration", "%", "binds", "shape"});
  for (const ExplainedKernel& kernel : kernels) {
    table.row(title(kernel), time_text(kernel.seconds), kernel.count, time_text(all_of(kernel)),
              percent(all_of(kernel) / sec_per_iter), kernel.price.binding().name,
              shape_text(kernel));
  }
  return "Kernels of a device, with what binds each (--explain KERNEL says more)\n" +
         table.text(terminal.width);
}

std::string kernel_explanations(const std::vector<ExplainedKernel>& kernels, double sec_per_iter,
                                const OriginOf& origin, const Terminal& terminal) {
  std::string text;
  std::set<std::string> constants;
  for (const ExplainedKernel& kernel : kernels) {
    text += paragraph(kernel, sec_per_iter, terminal) + "\n";
    constants.insert(kernel.price.constants);
  }
  text += "Where the constants come from\n";
  for (const std::string& path : constants) {
    const std::string said = origin(path);
    text += "  " +
            wrapped(path + ": " + (said.empty() ? "not said" : said), terminal.at_most(100) - 2,
                    "    ") +
            "\n";
  }
  return text;
}

Json kernels_json(const std::vector<ExplainedKernel>& kernels, const OriginOf& origin) {
  return list_json(kernels, [&](const ExplainedKernel& kernel) {
    const PriceExplanation& price = kernel.price;
    Json limits = list_json(price.limits, [](const Limit& limit) {
      return Json{{"name", limit.name}, {"seconds", limit.time.value}};
    });
    return Json{{"name", kernel.name},
                {"part", kernel.part},
                {"pass", kernel.pass},
                {"shape", shape_text(kernel)},
                {"seconds", kernel.seconds},
                {"count", kernel.count},
                {"flop", price.flop.value},
                {"bytes", price.bytes.value},
                {"model", price.model},
                {"limits", limits},
                {"binding", price.binding().name},
                {"software_factor", software_factor(kernel)},
                {"constants", price.constants},
                {"relative_error", price.relative_error},
                {"origin", origin(price.constants)}};
  });
}

}  // namespace prequel
