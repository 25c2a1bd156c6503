#include "cli/import/job/name_files.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/job/job_fields.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

using Names = ForeignNames::Names;

/// Calls `take` with the name and the value of each member of the object `key`, if it is there.
template <class Take>
void each_member(const Cursor& root, std::string_view key, const Take& take) {
  const auto object = root.find(key);
  if (!object) return;
  for (const auto& [name, value] : object->members()) take(name, value);
}

void read_texts(const Cursor& root, std::string_view key, Names& names) {
  each_member(root, key, [&](const std::string& name, const Cursor& value) {
    if (!names.emplace(name, value.text()).second) value.problem("another file has it, too");
  });
}

std::vector<std::string> read_words(const Cursor& list) {
  std::vector<std::string> words;
  if (list.is_array() && std::ranges::all_of(list.json(), &nlohmann::json::is_string)) {
    return list.json().get<std::vector<std::string>>();
  }
  for (const Cursor& word : list.items()) words.push_back(word.text());
  return words;
}
std::vector<std::string> words_at(const Cursor& root, std::string_view key) {
  const auto list = root.find(key);
  return list ? read_words(*list) : std::vector<std::string>();
}

std::string text_at(const Cursor& root, std::string_view key) {
  const auto found = root.find(key);
  return found ? found->text() : std::string();
}

/// Reads a rule; its line stands under `told`, or under what it is.
Rule read_rule(const Cursor& one) {
  constexpr std::pair<std::string_view, Line> kLines[] = {
      {"told", Line::assumed}, {"assumed", Line::assumed}, {"left_out", Line::left_out},
      {"read", Line::read},    {"ignored", Line::ignored}, {"refused", Line::refused},
      {"line", Line::line},    {"text", Line::text}};
  Rule rule;
  for (const auto& [key, value] : one.members()) {
    const auto* const line =
        std::ranges::find(kLines, std::string_view(key), &std::pair<std::string_view, Line>::first);
    if (line != std::end(kLines)) {
      rule.line = line->second;
      rule.told = value.text();
    } else if (key == "set") {
      rule.set = read_effect(value);
    } else if (key == "when" || key == "unless") {
      (key == "when" ? rule.when : rule.unless) = read_words(value);
    } else if (key != "each") {
      value.problem("no part of a rule");
    }
  }
  return rule;
}

void replace_all(std::string& text, const std::string& word) {
  for (std::size_t at = text.find('#'); at != std::string::npos; at = text.find('#', at)) {
    text.replace(at, 1, word);
  }
}

}  // namespace

std::vector<Rule> read_list_of_rules(const Cursor& list) {
  std::vector<Rule> rules;
  for (const Cursor& one : list.items()) {
    const auto each = one.find("each");
    const Rule rule = read_rule(one);
    if (!each) rules.push_back(rule);
    for (const std::string& word : each ? read_words(*each) : std::vector<std::string>()) {
      Rule& with = rules.emplace_back(rule);
      for (std::string& text : with.when) replace_all(text, word);
      for (std::string& text : with.unless) replace_all(text, word);
      replace_all(with.told, word);
      for (Assignment& set : with.set) {
        replace_all(set.field, word);
        replace_all(set.value, word);
      }
    }
  }
  return rules;
}

namespace {

void add_rules(const Cursor& list, const std::string& step, ForeignNames::Rules& all) {
  std::ranges::move(read_list_of_rules(list), std::back_inserter(all[step]));
}

/// Reads lists of rules by their names.
void read_rules_of(const Cursor& root, std::string_view key, ForeignNames::Rules& all) {
  each_member(root, key,
              [&](const std::string& name, const Cursor& rules) { add_rules(rules, name, all); });
}

void check_number(const Cursor& at, const std::string& field) {
  if (!is_number(field)) at.problem("no number of a job is called so");
}

/// Reads fields of numbers by the flags that set them.
void read_number_flags(const Cursor& root, std::string_view key, Names& names) {
  each_member(root, key, [&](const std::string& flag, const Cursor& field) {
    check_number(field, field.text());
    names.emplace(flag, field.text());
  });
}

/// Reads the same by the field, each with all of its names.
void read_numbers(const Cursor& root, std::string_view key, Names& names) {
  each_member(root, key, [&](const std::string& field, const Cursor& list) {
    check_number(list, field);
    for (std::string& name : read_words(list)) names.emplace(std::move(name), field);
  });
}

void read_names(const Cursor& root, const std::string& /*name*/, ForeignNames& names) {
  read_numbers(root, "numbers", names.numbers);
  read_numbers(root, "shape_numbers", names.shape_numbers);
  if (const auto rules = root.find("number_rules")) {
    for (const Cursor& rule : rules->items()) {
      const std::string field = rule.at("field").text();
      check_number(rule, field);
      names.number_rules.push_back({words_at(rule, "parts"), field});
    }
  }
  each_member(root, "lists", [&](const std::string& name, const Cursor& list) {
    names.lists_of_words.emplace(name, read_words(list));
  });
}

void read_framework(const Cursor& root, const std::string& name, ForeignNames& names) {
  (void)root.at("name");
  Framework& read = names.frameworks[name];
  read.framework = text_at(root, "framework");
  read.stack = text_at(root, "stack");
  read.old_stack = text_at(root, "old_stack");
  read.adapter_stack = text_at(root, "adapter_stack");
  read.commands = words_at(root, "commands");
  read.flags = words_at(root, "flags");
  read.model_key = text_at(root, "model_key");
  if (const auto lists = root.find("marked_by")) {
    for (const Cursor& list : lists->items()) read.keys.push_back(read_words(list));
  }
  if (const auto defaults = root.find("defaults")) read.defaults = read_list_of_rules(*defaults);
  for (const auto& [key, step] : {std::pair("config", "config of " + name), {"rules", name}}) {
    if (const auto rules = root.find(key)) add_rules(*rules, step, names.rules);
  }
  read_texts(root, "clusters", names.clusters);
  read_texts(root, "flavours", names.flavours);
  read_texts(root, "same_flags", names.same_flags);
  read_number_flags(root, "numbers", names.number_flags);
  read_number_flags(root, "counts_of_devices", names.device_flags);
  each_member(root, "switches", [&](const std::string& flag, const Cursor& effect) {
    names.switches.emplace(flag, read_effect(effect));
  });
  each_member(root, "words", [&](const std::string& flag, const Cursor& words) {
    for (const auto& [word, effect] : words.members()) {
      names.words[flag].emplace(word, read_effect(effect));
    }
  });
  read_texts(root, "lists", names.lists);
  read_texts(root, "reads", names.readers);
  read_texts(root, "not_modelled", names.not_modelled);
  read_texts(root, "keys", names.keys);
  read_texts(root, "keys_off", names.keys_off);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

LayerTypes read_layer_types(const Cursor& row) {
  LayerTypes read;
  read.list = text_at(row, "list");
  const auto letters = row.find("letters");
  read.letters = letters.has_value();
  const auto depths = row.find("depths");
  read.depths = depths && depths->boolean();
  for (const Cursor& one : (letters ? *letters : row.at("types")).items()) {
    std::vector<std::string> words = read_words(one);
    words.resize(2);
    read.types.push_back({std::move(words[0]), std::move(words[1])});
  }
  return read;
}

void read_families(const Cursor& root, const std::string& /*name*/, ForeignNames& names) {
  read_texts(root, "families", names.families);
  read_texts(root, "same", names.same_families);
  read_texts(root, "refused", names.refused_families);
  for (const auto& [key, all] :
       {std::pair("size_keys", &names.size_keys), std::pair("model_keys", &names.model_keys),
        std::pair("latent_keys", &names.latent_keys), std::pair("mixer_keys", &names.mixer_keys)}) {
    each_member(root, key, [&keys = *all](const std::string& name, const Cursor& list) {
      keys.emplace(name, read_words(list));
    });
  }
  each_member(root, "layers", [&](const std::string& families, const Cursor& rows) {
    std::vector<LayerTypes> types;
    for (const Cursor& row : rows.items()) types.push_back(read_layer_types(row));
    for (const std::string& family : words_of(families)) names.layers.emplace(family, types);
  });
  each_member(root, "rules", [&](const std::string& families, const Cursor& rules) {
    const std::vector<Rule> read = read_list_of_rules(rules);
    for (const std::string& family : words_of(families)) names.rules["family " + family] = read;
  });
}

void read_programs(const Cursor& root, const std::string& /*name*/, ForeignNames& names) {
  for (const auto& [key, programs] :
       {std::pair("no_decoders", &names.no_decoders), std::pair("no_training", &names.no_training),
        std::pair("several_models", &names.several_models)}) {
    for (const Cursor& one : root.at(key).items()) {
      std::vector<std::string> words = read_words(one);
      words.resize(2);
      programs->emplace_back(std::move(words[0]), std::move(words[1]));
    }
  }
}

void read_tokenizers(const Cursor& root, const std::string& /*name*/, ForeignNames& names) {
  names.usual_vocab = root.at("usual").integer(1, 1LL << 24);
  for (const Cursor& one : root.at("tokenizers").items()) {
    Tokenizer& read = names.tokenizers.emplace_back();
    read.name = one.at("name").text();
    read.names = words_at(one, "names");
    read.vocab = one.at("vocab_size").integer(1, 1LL << 24);
    const auto words = one.find("words");
    read.words = words ? words->integer(1, 1LL << 24) : read.vocab;
    (void)one.find("origin");
  }
}

void read_rules(const Cursor& root, const std::string& /*name*/, ForeignNames& names) {
  read_rules_of(root, "steps", names.rules);
  read_rules_of(root, "values", names.value_rules);
}

/// A kind of files; those of most kinds have one name.
struct KindOfFile {
  std::string_view name, schema;
  void (*read)(const Cursor& root, const std::string& name, ForeignNames& names);
};
constexpr KindOfFile kKindsOfFiles[] = {{"names", "prequel/foreign-names/1", read_names},
                                        {"families", "prequel/families/1", read_families},
                                        {"programs", "prequel/programs/1", read_programs},
                                        {"tokenizers", "prequel/tokenizers/1", read_tokenizers},
                                        {"rules", "prequel/rules/1", read_rules},
                                        {"", "prequel/framework/1", read_framework}};

}  // namespace

void read_name_file(const Document& file, const std::string& name, ForeignNames& names) {
  if (name == "unpriced") {
    names.unpriced = read_unpriced(file);
    return;
  }
  const auto* known = std::ranges::find(kKindsOfFiles, name, &KindOfFile::name);
  if (known == std::end(kKindsOfFiles)) {
    --known;
    if (file.json().value("schema", nlohmann::json()) != known->schema) return;
  }
  expect_schema(file.root(), std::string(known->schema));
  known->read(file.root(), name, names);
  file.finish();
}

ForeignNames read_foreign_names(const Library& library) {
  ForeignNames names;
  for (const std::string& name : library.names("import")) {
    read_name_file(library.open("import", name), name, names);
  }
  return names;
}

std::shared_ptr<const ForeignNames> names_of_library(const Library* library) {
  const Library own({});
  return std::make_shared<const ForeignNames>(
      read_foreign_names(library == nullptr ? own : *library));
}

}  // namespace prequel
