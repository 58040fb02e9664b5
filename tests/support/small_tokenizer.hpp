#pragma once

#include "headscope/tokenizer.hpp"

namespace headscope::test {

/// The tokenizer of tests/data/tokenizer, with a few hundred entries.
inline const Tokenizer& small_tokenizer() {
  static const Tokenizer tokenizer = Tokenizer::from_directory(HEADSCOPE_TEST_DATA "/tokenizer");
  return tokenizer;
}

}  // namespace headscope::test
