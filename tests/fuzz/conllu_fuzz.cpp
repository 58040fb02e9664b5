#include <algorithm>
#include <sstream>

#include "corpus/conllu.hpp"
#include "corpus/corpus_file.hpp"
#include "fuzz.hpp"
#include "small_tokenizer.hpp"

namespace headscope::fuzz {
namespace {

void check_piece(const Piece& piece, Index most_tokens) {
  require(piece.tokens.size() <= most_tokens, "a piece fits the context");
  require(piece.token_text.size() == piece.tokens.size(), "every token has its text");
  std::vector<bool> taken(piece.tokens.size());
  for (const Word& word : piece.words) {
    require(!word.form.empty(), "a word has a form");
    require(!word.head || *word.head < piece.words.size(), "a head is a word of the piece");
    for (const Index token : word.tokens) {
      require(token < taken.size() && !taken[token], "a token belongs to one word");
      taken[token] = true;
    }
  }
  for (std::size_t i = 1; i < piece.mentions.size(); ++i) {
    require(piece.mentions[i - 1].words[0] <= piece.mentions[i].words[0], "mentions are in order");
  }
  for (const Mention& mention : piece.mentions) {
    require(!mention.words.empty(), "a mention has words");
    require(std::is_sorted(mention.words.begin(), mention.words.end()), "its words are in order");
    require(mention.words.back() < piece.words.size(), "its words are in the piece");
    require(std::binary_search(mention.words.begin(), mention.words.end(), mention.head_word),
            "its head is one of its words");
  }
}

std::size_t count_words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  conllu::Reader reader(stream, "corpus.conllu");
  std::size_t n_word = 0;
  std::uint64_t end = 0;
  while (const auto sentence = reader.next()) {
    require(sentence->begin == end && sentence->end > end && sentence->end <= text.size(),
            "sentences follow each other in the file");
    end = sentence->end;
    std::size_t covered = 0;
    for (const conllu::Surface& surface : sentence->surfaces) {
      require(surface.first_word == covered && surface.end_word > covered,
              "surfaces follow each other");
      covered = surface.end_word;
    }
    require(covered == sentence->words.size(), "surfaces cover the words");
    n_word += covered;
  }
  return n_word;
}

}  // namespace

// A CoNLL-U corpus; the first byte sets the context length and whether <|endoftext|> is prepended.
void test_input(Bytes bytes) {
  const std::size_t room = bytes.below(256);
  CorpusContext context{{.prepend_bos = room % 2 == 0,
                         .max_tokens = room < 128 ? 1 + room : 1024,
                         .max_documents = 1000},
                        &small_tokenizer()};
  if (bytes.rest().starts_with("\x1f\x8b")) return;  // gzip
  const std::string& path = file_with(bytes.rest());
  read_or_refuse([&] {
    const auto corpus = open_conllu(path, context);
    const Index most_tokens = context.max_tokens + (context.prepend_bos ? 1 : 0);
    std::size_t n_word = 0;
    try {
      for_each_piece(*corpus, [&](const Piece& piece) {
        check_piece(piece, most_tokens);
        n_word += piece.words.size();
      });
    } catch (const Error& error) {
      // A file that opens must have only pieces that can be read.
      require(false, error.what());
    }
    if (corpus->n_document() < context.max_documents) {
      require(n_word == count_words(with_lf(bytes.rest())), "cutting loses no words");
    }
  });
}

}  // namespace headscope::fuzz
