#include "fuzz.hpp"
#include "headscope/tasks.hpp"
#include "small_tokenizer.hpp"

namespace headscope::fuzz {

// A file of minimal pairs; the first byte sets the context length.
void test_input(Bytes bytes) {
  const Index max_tokens = 1 + bytes.below(64);
  const std::string& path = file_with(bytes.rest());
  read_or_refuse([&] {
    const TaskFiles files({path}, small_tokenizer(), {max_tokens, 100});
    require(!files.tasks().empty(), "a file holds a task");
    for (const Task& task : files.tasks()) {
      for (const TaskPair& pair : task.pairs) {
        require(pair.good != pair.bad, "the sides differ");
        require(pair.good.size() <= max_tokens && pair.bad.size() <= max_tokens,
                "a side fits the context");
        require(pair.n_shared >= 1 && pair.n_shared <= std::min(pair.good.size(), pair.bad.size()),
                "the shared tokens are of both sides");
        for (Index t = 0; t < pair.n_shared; ++t) {
          require(pair.good[t] == pair.bad[t], "the shared tokens are the same");
        }
      }
    }
  });
}

}  // namespace headscope::fuzz
