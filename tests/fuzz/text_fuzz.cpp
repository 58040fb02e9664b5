#include "corpus/corpus_file.hpp"
#include "fuzz.hpp"
#include "small_tokenizer.hpp"

namespace headscope::fuzz {

// A plain-text corpus; the first byte sets the context length and whether <|endoftext|> is
// prepended.
void test_input(Bytes bytes) {
  const std::size_t room = bytes.below(256);
  const CorpusContext context{{.prepend_bos = room % 2 == 0,
                               .max_tokens = room < 128 ? 1 + room : 1024,
                               .max_documents = 1000},
                              &small_tokenizer()};
  if (bytes.rest().starts_with("\x1f\x8b")) return;  // gzip
  const std::string& path = file_with(bytes.rest());
  const std::string text_read = with_lf(bytes.rest());
  read_or_refuse([&] {
    const auto corpus = open_plain_text(path, context);
    const Index n_bos = context.prepend_bos ? 1 : 0;
    std::size_t from = 0;
    for_each_piece(*corpus, [&](const Piece& piece) {
      require(piece.tokens.size() > n_bos, "a piece holds text");
      require(piece.tokens.size() <= context.max_tokens + n_bos, "a piece fits the context");
      std::string text;
      for (std::size_t t = n_bos; t < piece.tokens.size(); ++t) text += piece.token_text[t];
      const std::size_t found = text_read.find(text, from);
      require(found != std::string::npos, "pieces are parts of the file, in order");
      from = found + text.size();
    });
  });
}

}  // namespace headscope::fuzz
