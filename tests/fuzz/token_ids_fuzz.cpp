#include "hdf5_samples.hpp"
#include "headscope/corpus.hpp"
#include "small_tokenizer.hpp"

namespace headscope::fuzz {

// A corpus of token ids, changed object by object.
void test_input(Bytes bytes) {
  static const Hdf5Sample sample{token_ids_image(), token_ids_words()};
  CorpusOptions options;
  options.prepend_bos = bytes.below(2) == 0;
  options.max_tokens = 2 + bytes.below(16);
  options.max_documents = bytes.below(4);
  const bool with_tokenizer = options.prepend_bos || bytes.below(2) == 0;
  const std::string& path = edited_file(sample, bytes);
  read_or_refuse([&] {
    const Tokenizer* const tokenizer = with_tokenizer ? &small_tokenizer() : nullptr;
    const Corpus corpus({path}, tokenizer, options);
    require(corpus.n_document() > 0, "a corpus has documents");
    require(options.max_documents == 0 || corpus.n_document() <= options.max_documents,
            "no more documents than asked for");
    for_each_piece(corpus, [&](const Piece& piece) {
      require(piece.tokens.size() <= options.max_tokens, "a piece fits the context");
      for (const TokenId id : piece.tokens) {
        require(id >= 0, "ids are not negative");
        require(!with_tokenizer || static_cast<std::size_t>(id) < tokenizer->size(),
                "ids are of the vocabulary");
      }
    });
  });
}

}  // namespace headscope::fuzz
