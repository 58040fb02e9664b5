#include <benchmark/benchmark.h>

#include <random>

#include "headscope/tokenizer.hpp"

namespace headscope {
namespace {

Tokenizer make_tokenizer() {
  return Tokenizer::from_directory(HEADSCOPE_PROJECT_DIR "/tests/data/tokenizer");
}

/// Random words from a small vocabulary: as in real text, most are frequent and some are new.
std::string make_text(std::size_t n_byte) {
  const std::vector<std::string> words{"the",    " head",  " looks",         " at",   " previous",
                                       " token", ",",      " and",           " 1999", " Zürich",
                                       ".\n",    " isn't", " unheardofword", " 😀"};
  std::mt19937 random(1);
  std::string text;
  while (text.size() < n_byte) text += words[random() % words.size()];
  return text;
}

void report_bytes(benchmark::State& state, std::size_t n_byte) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * n_byte));
}

void tokenizer_encode_text(benchmark::State& state) {
  const Tokenizer tokenizer = make_tokenizer();
  const std::string text = make_text(1 << 20);
  while (state.KeepRunning()) benchmark::DoNotOptimize(tokenizer.encode(text));
  report_bytes(state, text.size());
}
BENCHMARK(tokenizer_encode_text)->Unit(benchmark::kMillisecond);

void tokenizer_encode_one_long_word(benchmark::State& state) {
  const Tokenizer tokenizer = make_tokenizer();
  std::string text;
  while (text.size() < 1 << 20) text += "thetoken";
  while (state.KeepRunning()) benchmark::DoNotOptimize(tokenizer.encode(text));
  report_bytes(state, text.size());
}
BENCHMARK(tokenizer_encode_one_long_word)->Unit(benchmark::kMillisecond);

void tokenizer_decode(benchmark::State& state) {
  const Tokenizer tokenizer = make_tokenizer();
  const std::string text = make_text(1 << 20);
  const TokenIds ids = tokenizer.encode(text).ids;
  while (state.KeepRunning()) benchmark::DoNotOptimize(tokenizer.decode(ids));
  report_bytes(state, text.size());
}
BENCHMARK(tokenizer_decode)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headscope
