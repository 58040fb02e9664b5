#pragma once

#include "headscope/corpus.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"

/// The model with planted heads.
namespace headscope::test {

inline const std::string planted_model_file = HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
                         stories_file = HEADSCOPE_PROJECT_DIR "/data/stories.conllu";

inline Model planted_model() {
  return load_model(planted_model_file);
}

/// The tokenizer that a model's file holds.
inline Tokenizer tokenizer_in(const Model& model) {
  return Tokenizer(*model.tokenizer_vocab, *model.tokenizer_merges, model.path);
}

/// The planted model, its tokenizer and the first stories.
struct PlantedStories {
  explicit PlantedStories(std::uint64_t n_story, Index max_tokens = 256)
      : model(planted_model()),
        tokenizer(tokenizer_in(model)),
        corpus({stories_file}, &tokenizer, {.max_tokens = max_tokens, .max_documents = n_story}) {}

  const Model model;
  const Tokenizer tokenizer;
  const Corpus corpus;
};

}  // namespace headscope::test
