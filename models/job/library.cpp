#include "models/job/library.hpp"

#ifdef __linux__
#include <dlfcn.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/built_in_files.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/schema.hpp"
#include "hw/base/sha256.hpp"
#include "hw/base/text.hpp"
#include "models/axes/plan_request.hpp"
#include "models/job/data_set.hpp"
#include "models/job/file_cache.hpp"
#include "models/job/model_names.hpp"
#include "models/job/spelled_plan.hpp"
#include "models/job/usual_machine.hpp"
#include "models/job/usual_software.hpp"
#include "models/stack/release.hpp"

namespace prequel {
namespace {

namespace fs = std::filesystem;

/// "models" → "model": the words that messages and flags use.
std::string singular(const std::string& kind) {
  return kind.ends_with('s') ? kind.substr(0, kind.size() - 1) : kind;
}

void check_inputs(const std::vector<Override>& overrides) {
  const std::vector<std::string> inputs{"model",    "device", "cluster",
                                        "software", "plan",   "what_if"};
  for (const Override& override : overrides) {
    const std::size_t dot = override.path.find('.');
    const std::string input = override.path.substr(0, dot);
    if (dot == std::string::npos || dot + 1 == override.path.size() ||
        std::find(inputs.begin(), inputs.end(), input) == inputs.end()) {
      throw InputError(override.from + " " + override.path + "=" + override.value +
                       ": expected PATH=VALUE with a path that begins with model., device., "
                       "cluster., software., plan. or what_if." +
                       did_you_mean(input, inputs));
    }
  }
}

/// The content of a job file before any of its names is looked up.
struct JobFile {
  std::optional<std::string> model, cluster, software;
  std::optional<nlohmann::json> inline_model, inline_cluster, inline_software;
  nlohmann::json plan = nlohmann::json::object();
  nlohmann::json what_if = nlohmann::json::object();
  std::optional<Measured> measured;
};

void read_name_or_object(const Cursor& root, std::string_view key, std::optional<std::string>& name,
                         std::optional<nlohmann::json>& object) {
  const auto found = root.find(key);
  if (!found) return;
  if (found->is_object()) {
    object = found->json();
  } else {
    name = found->text();
  }
}

Measured read_measured(const Cursor& cursor) {
  Measured measured;
  if (const auto time = cursor.find("sec_per_iter")) {
    measured.sec_per_iter = Seconds{time->number(kPositive)};
  }
  if (const auto rate = cursor.find("tflops_per_gpu")) {
    measured.tflops_per_gpu = rate->number(kPositive);
  }
  if (const auto memory = cursor.find("mem_gib")) measured.memory_gib = memory->number(kPositive);
  if (const auto source = cursor.find("source")) measured.source = source->text();
  return measured;
}

JobFile read_job_file(const Document& document) {
  const Cursor root = document.root();
  JobFile job;
  expect_schema(root, "prequel/job/1");
  read_name_or_object(root, "model", job.model, job.inline_model);
  read_name_or_object(root, "cluster", job.cluster, job.inline_cluster);
  read_name_or_object(root, "software", job.software, job.inline_software);
  if (const auto plan = root.find("plan")) {
    if (!plan->is_object()) plan->problem("expected an object with the plan's fields");
    job.plan = plan->json();
  }
  if (const auto what_if = root.find("what_if")) {
    if (!what_if->is_object()) what_if->problem("expected an object");
    job.what_if = what_if->json();
  }
  if (const auto measured = root.find("measured")) job.measured = read_measured(*measured);
  document.finish();
  return job;
}

/// Tests whether a name may mean a model as Hugging Face has it, PUBLISHER/MODEL, and not a path.
bool may_be_published(const std::string& name) {
  std::error_code ignored;
  return !name.ends_with(".json") && !name.starts_with('.') && !name.starts_with('/') &&
         std::ranges::count(name, '/') <= 1 && !fs::exists(name, ignored);
}

/// Returns the one of `names` that differs from `name` in capitals, blanks and underscores only.
std::optional<std::string> same_but_for_case(const std::string& name,
                                             const std::vector<std::string>& names) {
  std::string plain = lower_case(name);
  std::ranges::replace(plain, ' ', '-');
  std::ranges::replace(plain, '_', '-');
  if (plain == name) return std::nullopt;
  const auto found = std::ranges::find(names, plain);
  return found == names.end() ? std::nullopt : std::optional(*found);
}

/// Returns a hint at the usual machine with the card that a cluster's name begins with, or nothing.
std::string hint_at_card(const Document& machines, const std::string& name) {
  const std::vector<std::string> words = words_of(name);
  const auto usual = usual_machine(machines, name);
  if (!usual || !usual_machine(machines, words.front())) return "";
  if (!usual->device.empty()) {
    return " (did you mean " + in_quotes(usual->cluster) + " with the device " + usual->device +
           "?)";
  }
  return " (did you mean " + in_quotes(usual->cluster) + ", the usual machine with it?)";
}

/// Returns what stands in for a name that nothing shipped is like.
std::string own_file(const std::string& kind) {
  if (kind == "models") return ", and a file would do, such as its config.json of Hugging Face";
  if (kind == "clusters") return ", and a file would do, which may be \"like\" one of them";
  return "";
}

/// The document of one input: a flag's name wins over the job's name or object.
Document input_document(const Library& library, const std::string& kind, const std::string& file,
                        const std::optional<std::string>& flag,
                        const std::optional<std::string>& name,
                        const std::optional<nlohmann::json>& object) {
  if (!flag && object) return Document::from(file + " /" + singular(kind), *object);
  if (!flag && !name) {
    throw InputError(singular(kind), file + " names no " + singular(kind) + " (prequel show " +
                                         kind + " lists them)");
  }
  return flag ? library.open(kind, *flag, singular(kind))
              : library.open(kind, *name, file + ": /" + singular(kind));
}

/// Refuses a device without a cluster, and says which has it.
void check_has_cluster(const Library& library, const std::string& file, const std::string& device) {
  const auto usual = usual_machine(library.open("stand_ins", "machines"), device);
  if (!usual) return;
  throw InputError("cluster", file + " names a device, but no cluster; " + usual->cluster +
                                  ", the usual machine with " + printable(device) + ", would do");
}

/// Nothing where there is no such file, or a broken one: nobody asked for it.
std::optional<Device> device_named(const Library& library, const std::string& name) {
  try {
    return library.open("devices", name).read_once(read_device);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// States for constants that were checked on the cluster's devices what they err by on others. The
/// number of compute units tells kinds apart: it changes from one generation to the next, but not
/// with memory and clock.
void widen_error(Software& software, const Device& device, const std::optional<Device>& usual) {
  if (!software.validated || software.relative_error >= kUnknownReleaseError) return;
  if (usual && device.compute_units == usual->compute_units) return;
  software.relative_error = kUnknownReleaseError;
  software.error_basis = "usual for constants of another machine: " + software.name +
                         " was not checked on " + device.name + " in this cluster";
}

/// Where an installed program finds its data, wherever its prefix was moved to.
std::string data_beside_program() {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  if (none) return {};
  return (program.parent_path() / PREQUEL_DATA_FROM_PROGRAM).lexically_normal().string();
}

/// Where the Python package has its data: beside the module that this is linked into. Empty in a
/// program.
std::string data_beside_module() {
#ifdef __linux__
  Dl_info module{};
  if (dladdr(PREQUEL_INSTALLED_DATA, &module) == 0) return {};
  const fs::path file = module.dli_fname;
  return file.extension() == ".so" ? (file.parent_path() / "data").string() : std::string();
#else
  return {};
#endif
}

/// The member of documents that lists which constants a file of the user's own changed.
constexpr const char* kEdited = "edited";

/// Tests whether a path of an input leads to a constant, not to a name, a size or a default.
bool is_constant(const std::string& input, const std::string& path) {
  const std::string section = path.substr(0, path.find('.'));
  const std::vector<std::string_view> none =
      input == "software"
          ? std::vector<std::string_view>{"defaults",       "choices",      "launch", "name",
                                          "framework",      "validated",    "error",  "calibration",
                                          "vocab_multiple", "stage_dealing"}
      : input == "cluster"
          ? std::vector<std::string_view>{"nodes", "software", "expert_software", "device",
                                          "name",  "changes",  "builds"}
          : std::vector<std::string_view>{"name", "errors"};
  return std::ranges::find(none, section) == none.end() && !path.ends_with("origin") &&
         !path.ends_with("note");
}

/// Dotted paths of the leaves in which two files differ.
void add_differences(const nlohmann::json& one, const nlohmann::json& other,
                     const std::string& path, std::vector<std::string>& paths) {
  if (one == other) return;
  if (!one.is_object() || !other.is_object()) {
    paths.push_back(path);
    return;
  }
  const std::string inside = path.empty() ? "" : path + ".";
  for (const auto& [key, value] : one.items()) {
    const auto there = other.find(key);
    if (there == other.end()) {
      paths.push_back(inside + key);
    } else {
      add_differences(value, *there, inside + key, paths);
    }
  }
  for (const auto& [key, value] : other.items()) {
    if (!one.contains(key)) paths.push_back(inside + key);
  }
}

/// Notes in a file of the user's own which constants differ from the shipped file of that name. A
/// file that runs were fitted to says itself how sure it is.
void mark_edits(const std::string& kind, Document& own, const Document& shipped) {
  if (!own.json().is_object() || own.json().contains("calibration")) return;
  std::vector<std::string> all, edited;
  add_differences(own.json(), shipped.json(), "", all);
  for (const std::string& path : all) {
    if (is_constant(singular(kind), path) && path != "like") edited.push_back(path);
  }
  if (!edited.empty()) own.set(kEdited, nlohmann::json(edited).dump());
}

std::vector<std::string> data_directories(const std::vector<std::string>& extra) {
  std::vector<std::string> directories;
  for (const std::string& directory : extra) {
    if (!is_folder(directory)) {
      throw InputError("data_dir " + directory, "not a directory");
    }
    directories.push_back(directory);
  }
  if (const char* variable = std::getenv("PREQUEL_DATA"); variable && *variable) {
    directories.emplace_back(variable);
  }
  for (const std::string& beside : {data_beside_module(), data_beside_program()}) {
    if (!beside.empty()) directories.push_back(beside);
  }
  if (has_built_in_files()) {  // made to be taken away: nothing of the machine that made it
    directories.emplace_back(kBuiltInFolder);
  } else {
    directories.emplace_back(PREQUEL_INSTALLED_DATA);
    directories.emplace_back(PREQUEL_SOURCE_DATA);
  }
  return directories;
}

/// Tests whether the request asks for another run than the one that its job file says.
bool asks_for_another_run(const JobRequest& request, const JobFile& job) {
  const auto changes_run = [](const Override& override) {
    return override.path.starts_with("model.") || override.path.starts_with("plan.");
  };
  const bool another_stack = request.software && request.software != job.software;
  return request.model || request.cluster || request.device || another_stack ||
         std::any_of(request.overrides.begin(), request.overrides.end(), changes_run);
}

}  // namespace

/// The files that were read, by several threads at once.
struct Library::Opened {
  struct File {
    std::string kind, name;
    std::shared_ptr<LazyHash> sha256;

    bool operator<(const File& other) const {
      return std::tie(kind, name, sha256) < std::tie(other.kind, other.name, other.sha256);
    }
  };
  std::mutex mutex;
  std::set<File> files;

  void add(File file) {
    const std::lock_guard lock(mutex);
    files.insert(std::move(file));
  }
};

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

Library::Library(const std::vector<std::string>& extra, LibrarySources sources)
    : directories_(data_directories(extra)),
      own_directories_(extra.size()),
      sources_(std::move(sources)),
      opened_(std::make_shared<Opened>()) {
  if (!sources_.cache) sources_.cache = std::make_shared<FileCache>();
}

Document Library::read(const std::string& kind, const std::string& name,
                       const std::string& path) const {
  const CachedFile file = sources_.cache->read(path);
  opened_->add({singular(kind), name, file.sha256});
  return Document::of(path, file.parsed);
}

Library Library::apart() const {
  Library copy = *this;
  copy.opened_ = std::make_shared<Opened>();
  return copy;
}

Document Library::open(const std::string& kind, const std::string& name,
                       const std::string& from) const {
  Document file = find(kind, name, from);
  if (!file.json().is_object()) return file;
  std::set<std::string> seen{file.file()};
  while (file.json().contains("like")) {
    const std::string asker = file.file() + ": /like";
    const nlohmann::json& said = file.json()["like"];
    if (!said.is_string()) throw InputError(asker + ": expected a name");
    const std::string like = said.get<std::string>();
    const Document base = find(kind, like, asker);
    if (!seen.insert(base.file()).second) {
      throw InputError(asker + ": " + in_quotes(like) + " is like itself");
    }
    file = file.over(base, "like");
  }
  // A file of its own has what holds for every stack.
  if (kind == "software") file = file.over(find("common", "stacks", from), "like");
  return file;
}

Document Library::find(const std::string& kind, const std::string& name,
                       const std::string& from) const {
  if (const auto text = document(name)) {
    note_input(singular(kind), name, *text);
    return Document::parse(name, *text);
  }
  if (!is_path(name)) {
    for (const std::string& directory : directories_) {
      const std::string path = (fs::path(directory) / kind / (name + ".json")).string();
      if (!is_file(path)) continue;
      Document file = read(kind, name, path);
      const bool has_constants = kind == "software" || kind == "devices" || kind == "clusters";
      const auto own = static_cast<std::size_t>(&directory - directories_.data());
      for (std::size_t i = own + 1;
           has_constants && own < own_directories_ && i < directories_.size(); ++i) {
        const std::string shipped = (fs::path(directories_[i]) / kind / (name + ".json")).string();
        if (!is_file(shipped)) continue;
        mark_edits(kind, file, Document::of(shipped, sources_.cache->read(shipped).parsed));
        break;
      }
      return file;
    }
  }
  if (kind == "models" && may_be_published(name)) {
    if (const auto file = model_file(name)) return find(kind, *file, from);
  }
  const bool published =
      kind == "models" && name.find('/') != std::string::npos && may_be_published(name);
  if (is_path(name) && !published) return read(kind, name, name);
  if (kind == "clusters") {
    const Document names_of = find("names", "clusters", from);
    if (const auto meant = names_of.root().at("names").find(lower_case(name))) {
      return find(kind, meant->text(), from);
    }
  }
  if (const auto same = same_but_for_case(name, names(kind))) return find(kind, *same, from);
  if (kind == "software" && name.find(',') == std::string::npos) {
    const Release asked = known_as(release_of(name), find("stand_ins", "stacks", from));
    if (const auto stand_in = nearest_release(asked, names(kind))) {
      Document software = find(kind, *stand_in, from);
      software.set("stands_for", name);
      return software;
    }
  }
  const std::string file = "./" + name + ".json";
  // A publisher says nothing of the model's shape.
  const std::string own_name = kind == "models" ? name.substr(name.rfind('/') + 1) : name;
  std::string nearest =
      kind == "clusters" ? hint_at_card(find("stand_ins", "machines", from), name) : "";
  if (kind == "jobs" && model_file(name)) nearest = "; a model is called so";
  if (kind == "jobs" && (name == "true" || name == "false")) nearest = "; switches take no value";
  if (nearest.empty()) nearest = did_you_mean(own_name, names(kind));
  if (name.find(',') != std::string::npos) {
    throw InputError(from, in_quotes(name) + " is a list; one " + singular(kind) +
                               (kind == "clusters" ? " would do, or prequel search for several"
                                                   : " would do, in a call for each"));
  }
  const std::string problem = "unknown " + singular(kind) + " " + in_quotes(name) + nearest +
                              (is_file(file) ? "; the file here is called " + file : "") +
                              "; prequel show " + kind + " lists them" +
                              (nearest.empty() ? own_file(kind) : "");
  const bool is_place = from.find('/') != std::string::npos;
  throw is_place ? InputError(from + ": " + problem) : InputError(from, problem);
}

std::optional<std::string> Library::model_file(const std::string& name) const {
  return model_called(name, names("models"), find("names", "models", {}));
}

std::optional<ModelWithin> Library::model_within(const std::vector<ModelClue>& clues) const {
  return prequel::model_within(clues, names("models"), find("names", "models", {}));
}

bool Library::means_file(const std::string& kind, const std::string& name) const {
  const std::vector<std::string> known = names(kind);
  return is_path(name) || std::ranges::find(known, name) != known.end();
}

std::vector<std::string> Library::names(const std::string& kind) const {
  std::vector<std::string> names;
  for (const std::string& directory : directories_) {
    for (const fs::path path : files_of((fs::path(directory) / kind).string())) {
      if (path.extension() == ".json") names.push_back(path.stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string Library::directory() const {
  const auto found = std::ranges::find_if(directories_, [](const std::string& directory) {
    return directory == kBuiltInFolder || is_folder(directory);
  });
  return found == directories_.end() ? std::string() : *found;
}

std::optional<std::string> Library::document(const std::string& name) const {
  const auto found = sources_.documents.find(name);
  return found == sources_.documents.end() ? std::nullopt : std::optional(found->second);
}

std::vector<InputFile> Library::inputs() const {
  const std::lock_guard lock(opened_->mutex);
  std::set<InputFile> inputs;
  for (const auto& [kind, name, hash] : opened_->files) {
    inputs.insert({kind, name, hash->value()});
  }
  std::string tools;  // hashes of the files that name other tools' settings
  std::erase_if(inputs, [&](const InputFile& file) {
    if (file.kind == "import") tools += file.sha256;
    return file.kind == "import";
  });
  if (!tools.empty()) inputs.insert({"import", "frameworks", sha256(tools)});
  return {inputs.begin(), inputs.end()};
}

void Library::note_input(const std::string& kind, const std::string& name,
                         std::string_view content) const {
  opened_->add({kind, name, std::make_shared<LazyHash>(std::string(content))});
}

void apply_overrides(Document& document, const std::vector<Override>& overrides,
                     const std::string& input) {
  for (const Override& override : overrides) {
    if (override.path.starts_with(input + ".")) {
      document.set(override.path.substr(input.size() + 1), override.value, override.from);
    }
  }
}

void note_edits(const Document& document, const std::vector<Override>& overrides,
                const std::string& input, std::vector<std::string>& edited) {
  for (const Override& override : overrides) {
    if (!override.path.starts_with(input + ".")) continue;
    if (is_constant(input, override.path.substr(input.size() + 1))) edited.push_back(override.path);
  }
  const nlohmann::json& file = document.json();
  if (!file.is_object() || !file.contains(kEdited) || !file[kEdited].is_array()) return;
  for (const nlohmann::json& path : file[kEdited]) {
    if (path.is_string()) edited.push_back(input + "." + path.get<std::string>());
  }
}

namespace {

/// Puts the distribution of a named data set in the place of its name.
void read_named_lengths(const Library& library, Job& job) {
  auto& lengths = job.plan.lengths;
  if (!lengths || !names_data_set(*lengths)) return;
  const std::vector<std::string> known = library.names("lengths");
  if (std::ranges::find(known, *lengths) == known.end()) {
    throw InputError(
        fmt::format("lengths {}: no such file, nor a known data set{}; fixed would do, "
                    "lognormal:MEAN:SD:MIN:MAX, a file of whole numbers, or one of {}",
                    in_quotes(*lengths), did_you_mean(*lengths, known), fmt::join(known, ", ")));
  }
  Document file = library.open("lengths", *lengths, "lengths");
  const DataSet named = file.read_once(read_data_set);
  job.sequences = named.sequences;
  lengths = named.distribution;
}

}  // namespace

Job read_job(const Library& library, const JobRequest& request) {
  check_inputs(request.overrides);
  const std::string file = request.job.value_or("command line");
  JobFile job_file;
  if (request.job) {
    job_file = request.job_text ? read_job_file(Document::parse(file, *request.job_text))
                                : library.open("jobs", *request.job).read_once(read_job_file);
  }

  Document model = request.model && request.model_text
                       ? Document::parse(*request.model, *request.model_text)
                       : input_document(library, "models", file, request.model, job_file.model,
                                        job_file.inline_model);
  const bool names_cluster = request.cluster || job_file.cluster || job_file.inline_cluster;
  if (!names_cluster && request.device) check_has_cluster(library, file, *request.device);
  Document cluster = input_document(library, "clusters", file, request.cluster, job_file.cluster,
                                    job_file.inline_cluster);
  apply_overrides(model, request.overrides, "model");
  apply_overrides(cluster, request.overrides, "cluster");
  Job job;
  job.model = model.read_once(read_transformer);
  job.cluster = cluster.read_once(read_cluster);

  Document device = request.device
                        ? library.open("devices", *request.device, "device")
                        : library.open("devices", job.cluster.device, cluster.file() + ": /device");
  Document asked =
      Document::from(file, nlohmann::json{{"plan", job_file.plan}, {"what_if", job_file.what_if}});
  for (const Override& override :
       in_plan_terms(request.overrides, job_file.plan, job.model, job.cluster)) {
    if (override.path.starts_with("plan.") || override.path.starts_with("what_if.")) {
      asked.set(override.path, override.value, override.from);
    }
  }
  job.plan = read_plan(asked.root().at("plan"));
  job.what_if = read_what_if(asked.root().at("what_if"));
  asked.finish();

  const bool said = job_file.software || job_file.inline_software;
  Document software =
      input_document(library, "software", said ? file : cluster.file(), request.software,
                     said ? job_file.software
                          : usual_software(library, job.cluster, job.model.has_experts(), job.plan),
                     job_file.inline_software);
  apply_overrides(device, request.overrides, "device");
  apply_overrides(software, request.overrides, "software");
  job.device = device.read_once(read_device);
  job.software = software.read_once(read_software);
  if (request.device) {
    widen_error(job.software, job.device, device_named(library, job.cluster.device));
  }

  read_named_lengths(library, job);
  note_edits(device, request.overrides, "device", job.edited);
  note_edits(cluster, request.overrides, "cluster", job.edited);
  note_edits(software, request.overrides, "software", job.edited);
  const bool as_measured = !asks_for_another_run(request, job_file) && job.edited.empty();
  if (as_measured) job.measured = job_file.measured;
  return job;
}

}  // namespace prequel
