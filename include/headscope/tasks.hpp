#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headscope/tokenizer.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// A minimal pair: a model that can do the task finds `good` likelier than `bad`. Both begin with
/// the tokenizer's first token, if TaskOptions says so, and fit the context.
struct TaskPair {
  TokenIds good, bad;
  Index n_shared = 0;  ///< tokens both begin with, at least 1
  bool differs_at_first_word = false;
};

struct Task {
  std::string name;
  std::string relation;  ///< the UD relation the task is about, such as nsubj; may be empty
  std::vector<TaskPair> pairs;
  /// Pairs left out: whose sides have the same tokens, with a side longer than the context, and
  /// whose sides differ from position 0 on, where nothing predicts a token.
  std::uint64_t n_same = 0, n_too_long = 0, n_unpredicted = 0;
  std::uint64_t n_copy = 0;  ///< of the pairs, those with the tokens of an earlier one
};

struct TaskOptions {
  Index max_tokens = 1024;      ///< context
  std::uint64_t max_pairs = 0;  ///< of each task, the first ones; 0: all
  bool prepend_bos = true;      ///< sides begin with the tokenizer's first token
};

/// Whether a file of a folder holds tasks: its name ends with .jsonl, in any case.
bool is_task_file(const std::string& path);

/// Tasks from files of JSON lines, a pair a line, in one of two forms:
///
///   {"sentence_good": "…", "sentence_bad": "…", "UID": "…"}      as BLiMP is published
///   {"prefix": "…", "good": "…", "bad": "…"}                     two continuations of one text
///
/// `task` (or `UID`) names the pair's task, else the file's name without extension; `relation` is
/// optional; other fields are ignored. Prefix and continuation are tokenised apart. Tasks are in
/// the order in which they first appear; a task may continue in other files. All pairs are held in
/// memory.
///
/// Source: Warstadt et al. 2020, "BLiMP: The Benchmark of Linguistic Minimal Pairs for English".
class TaskFiles {
 public:
  /// @param paths  files, or folders that stand for their task files in name order.
  /// @throws DataError naming the file: given twice; naming file and line: unreadable, malformed,
  /// another relation than the task had before, no pairs; naming file and task: no pair of the task
  /// that can be run.
  TaskFiles(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
            const TaskOptions& options);

  const std::vector<Task>& tasks() const { return tasks_; }
  /// Whether sides begin with the tokenizer's first token.
  bool has_bos() const { return has_bos_; }
  /// SHA-256 over the files' bytes in reading order, lower-case hexadecimal.
  const std::string& sha256() const { return sha256_; }

 private:
  std::vector<Task> tasks_;
  bool has_bos_ = true;
  std::string sha256_;
};

}  // namespace headscope
