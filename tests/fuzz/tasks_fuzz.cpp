#include "fuzz.hpp"
#include "headscope/tasks.hpp"
#include "small_tokenizer.hpp"

// A file of minimal pairs; the first byte sets the context length.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope;
  using namespace headscope::fuzz;
  static const MemoryFile file;
  Bytes bytes(data, size);
  const Index max_tokens = 1 + bytes.below(64);
  file.fill(bytes.rest());
  read_or_refuse([&] {
    const TaskFiles files({file.path()}, small_tokenizer(), {max_tokens, 100});
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
  return 0;
}
