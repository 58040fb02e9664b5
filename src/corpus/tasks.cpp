#include "headscope/tasks.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "base/json_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "files/file_version.hpp"
#include "files/read_file.hpp"
#include "files/sha256.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> task_files_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    open_to_read(path);
    return {path};
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string file = entry.path().string();
    if (entry.is_regular_file() && is_task_file(file)) files.push_back(file);
  }
  if (files.empty()) throw DataError(path, "", "expected .jsonl files, got none");
  std::ranges::sort(files);
  return files;
}

/// One line of a task file.
class PairLine {
 public:
  PairLine(const std::string& path, std::size_t number, std::string_view text)
      : path_(path), number_(number), fields_(parse_json(text)) {
    if (const std::size_t valid = utf8::valid_prefix(text); valid < text.size()) {
      refuse("expected UTF-8, got byte " + std::to_string(static_cast<unsigned char>(text[valid])) +
             " at column " + std::to_string(valid + 1));
    }
    if (fields_.is_discarded()) refuse("expected a JSON object, got " + json_fault(text));
    if (!fields_.is_object())
      refuse("expected a JSON object, got " + std::string(fields_.type_name()));
  }

  [[noreturn]] void refuse(const std::string& problem) const {
    throw DataError(path_, std::to_string(number_), problem);
  }

  bool has(const char* field) const { return fields_.contains(field); }

  /// The text of a field. @throws DataError if it is missing or no text.
  std::string text(const char* field) const {
    const auto found = fields_.find(field);
    if (found == fields_.end()) refuse(std::string("expected the field ") + field + ", got none");
    if (!found->is_string()) {
      refuse(std::string("expected text in ") + field + ", got " + found->type_name());
    }
    return found->get<std::string>();
  }
  /// The same, not empty.
  std::string some_text(const char* field) const {
    std::string value = text(field);
    if (value.empty()) refuse(std::string("expected text in ") + field + ", got none");
    return value;
  }

 private:
  const std::string& path_;
  std::size_t number_;
  nlohmann::json fields_;
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// The text up to the first space after a word.
std::string first_word(const std::string& text) {
  const auto begin = std::ranges::find_if_not(text, is_space);
  return {begin, std::find_if(begin, text.end(), is_space)};
}

TaskPair read_pair(const PairLine& line, const Tokenizer& tokenizer, bool prepend_bos) {
  const bool is_sentences = line.has("sentence_good") || line.has("sentence_bad");
  if (!is_sentences && !line.has("prefix")) {
    line.refuse("expected the fields sentence_good and sentence_bad, or prefix, good and bad");
  }
  const std::string prefix = is_sentences ? "" : line.text("prefix"),
                    good = line.some_text(is_sentences ? "sentence_good" : "good"),
                    bad = line.some_text(is_sentences ? "sentence_bad" : "bad");
  TokenIds begin;
  if (prepend_bos) begin.push_back(tokenizer.first_token());
  const TokenIds prefix_ids = tokenizer.encode(prefix).ids;
  begin.insert(begin.end(), prefix_ids.begin(), prefix_ids.end());
  const auto side = [&](const std::string& text) {
    TokenIds tokens = begin;
    const TokenIds ids = tokenizer.encode(text, !prefix.empty()).ids;
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    return tokens;
  };
  TaskPair pair{side(good), side(bad), 0, first_word(prefix + good) != first_word(prefix + bad)};
  pair.n_shared =
      static_cast<Index>(std::ranges::mismatch(pair.good, pair.bad).in1 - pair.good.begin());
  return pair;
}

std::string task_name(const PairLine& line, const std::string& path) {
  for (const char* field : {"task", "UID"}) {
    if (line.has(field)) return line.some_text(field);
  }
  return fs::path(path).stem().string();
}

/// The tasks found so far, in order and by name.
struct TaskList {
  std::vector<Task>& tasks;
  std::unordered_map<std::string, std::size_t> places = {};
};

/// The task of this name and relation, which may be new.
Task& task_of(const PairLine& line, const std::string& path, TaskList& list) {
  const std::string name = task_name(line, path),
                    relation = line.has("relation") ? line.text("relation") : "";
  const auto [place, is_new] = list.places.try_emplace(name, list.tasks.size());
  if (is_new) return list.tasks.emplace_back(Task{name, relation, {}});
  Task& found = list.tasks[place->second];
  if (found.relation != relation) {
    const auto quoted = [](const std::string& text) { return text.empty() ? "none" : text; };
    line.refuse("expected the relation of the task's other pairs, " + quoted(found.relation) +
                ", got " + quoted(relation));
  }
  return found;
}

void read_task_file(const std::string& path, const Tokenizer& tokenizer, const TaskOptions& options,
                    TaskList& list) {
  std::ifstream file = open_to_read(path);
  std::string text;
  std::size_t number = 0;
  std::uint64_t n_pair = 0;
  while (std::getline(file, text)) {
    ++number;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    ++n_pair;
    const PairLine line(path, number, text);
    Task& task = task_of(line, path, list);
    TaskPair pair = read_pair(line, tokenizer, options.prepend_bos);
    if (options.max_pairs > 0 && task.pairs.size() >= options.max_pairs) continue;
    if (pair.good == pair.bad) {
      ++task.n_same;
    } else if (std::max(pair.good.size(), pair.bad.size()) > options.max_tokens) {
      ++task.n_too_long;
    } else if (pair.n_shared == 0) {
      ++task.n_unpredicted;
    } else {
      task.pairs.push_back(std::move(pair));
    }
  }
  check_was_read(file, path);
  if (n_pair == 0) throw DataError(path, "", "expected a pair a line, got none");
}

/// @param path  of the file where the task begins.
/// @throws DataError if no pair of the task can be run.
void check_has_pairs(const Task& task, const std::string& path, const TaskOptions& options) {
  if (!task.pairs.empty()) return;
  const std::string unpredicted =
      task.n_unpredicted == 0 ? ""
                              : ", and " + std::to_string(task.n_unpredicted) +
                                    " that differ at their first token, which nothing precedes";
  throw DataError(path, task.name,
                  "expected pairs of different sides of at most " +
                      std::to_string(options.max_tokens) + " tokens, got " +
                      count_text(task.n_same, "pair") + " of equal sides and " +
                      std::to_string(task.n_too_long) + " too long" + unpredicted);
}

std::uint64_t count_copies(const std::vector<TaskPair>& pairs) {
  std::set<std::pair<TokenIds, TokenIds>> different;
  for (const TaskPair& pair : pairs) different.emplace(pair.good, pair.bad);
  return pairs.size() - different.size();
}

}  // namespace

bool is_task_file(const std::string& path) {
  return lower_ascii(fs::path(path).extension().string()) == ".jsonl";
}

TaskFiles::TaskFiles(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                     const TaskOptions& options)
    : has_bos_(options.prepend_bos) {
  Sha256 hash;
  TaskList list{tasks_};
  std::vector<std::string> begins_in;  // by task
  std::set<fs::path> read;
  for (const std::string& path : paths) {
    for (const std::string& file : task_files_of(path)) {
      if (!read.insert(fs::weakly_canonical(file)).second) {
        throw DataError(file, "", "expected once among the tasks, got twice");
      }
      FileVersion(file).during([&] {
        hash.add_file(file);
        read_task_file(file, tokenizer, options, list);
        begins_in.resize(tasks_.size(), file);
        return true;
      });
    }
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    check_has_pairs(tasks_[i], begins_in[i], options);
    tasks_[i].n_copy = count_copies(tasks_[i].pairs);
  }
  sha256_ = hash.finish();
}

}  // namespace headscope
