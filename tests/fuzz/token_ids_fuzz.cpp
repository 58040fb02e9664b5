#include "hdf5_samples.hpp"
#include "headscope/corpus.hpp"
#include "small_tokenizer.hpp"

// A corpus of token ids, changed object by object.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope;
  using namespace headscope::fuzz;
  static const std::string image = token_ids_image();
  static const DraftWords words = token_ids_words();
  static const MemoryFile file;
  Bytes bytes(data, size);
  CorpusOptions options;
  options.prepend_bos = bytes.below(2) == 0;
  options.max_tokens = 2 + bytes.below(16);
  options.max_documents = bytes.below(4);
  const bool with_tokenizer = options.prepend_bos || bytes.below(2) == 0;
  Hdf5Draft draft(image, words);
  draft.edit(bytes);
  file.fill(draft.image());
  read_or_refuse([&] {
    const Tokenizer* const tokenizer = with_tokenizer ? &small_tokenizer() : nullptr;
    const Corpus corpus({file.path()}, tokenizer, options);
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
  return 0;
}
