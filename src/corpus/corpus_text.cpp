#include <algorithm>

#include "corpus/conllu.hpp"
#include "corpus/corpus_file.hpp"
#include "corpus/document_cut.hpp"
#include "files/file_version.hpp"
#include "files/text_file.hpp"

namespace headscope {
namespace {

struct TextPiece {
  std::uint64_t begin = 0;  // bytes of the file
  std::size_t length = 0;
  std::string id;
};

class PlainText : public CorpusFile {
 public:
  PlainText(const std::string& path, const CorpusContext& context)
      : path_(path), version_(path), text_(path, context.encoding), context_(context) {
    const std::unique_ptr<std::istream> opened = text_.open();
    std::istream& file = *opened;
    TextLine read;
    const std::string& line = read.text;
    std::string block;
    std::uint64_t block_begin = 0;
    std::size_t block_line = 0;
    bool seen_text = false;
    while (n_document() < context.max_documents && read_line(file, path, read)) {
      if (line.find('\0') != std::string::npos) {
        throw DataError(path, std::to_string(read.number), "expected text, got a NUL byte");
      }
      if (line.find_first_not_of(" \t\r\v\f") == std::string::npos) {
        add_text(block, block_begin, block_line);
        block.clear();
        continue;
      }
      if (!seen_text && !line.starts_with('#')) {
        seen_text = true;
        if (conllu::is_word_line(line)) {
          throw DataError(path, std::to_string(read.number),
                          "expected plain text, got CoNLL-U, which is read from files named "
                          "*.conllu or *.conll");
        }
      }
      if (block.empty()) {
        block_begin = read.begin;
        block_line = read.number;
      }
      block += line + '\n';
    }
    if (!file.eof() && n_document() < context.max_documents) {
      throw DataError(path, "", "cannot be read");
    }
    add_text(block, block_begin, block_line);
  }

 private:
  Piece read_piece(std::uint64_t index) const override {
    return version_.during([&] { return read(pieces_[index]); });
  }

  Piece read(const TextPiece& place) const {
    Piece piece;
    piece.id = place.id;
    tokenize(context_, text_.read(place.begin, place.length), piece);
    return piece;
  }

  void add_text(std::string_view text, std::uint64_t begin, std::size_t line) {
    while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty() || n_document() == context_.max_documents) return;
    const auto spans = cut_text(*context_.tokenizer, text, context_.max_tokens);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      pieces_.push_back({begin + spans[i].first, spans[i].second - spans[i].first,
                         piece_name(name_in_file(path_, line), i, spans.size())});
    }
    add_document(spans.size());
  }

  std::string path_;
  FileVersion version_;
  TextFile text_;
  CorpusContext context_;
  std::vector<TextPiece> pieces_;
};

}  // namespace

std::unique_ptr<CorpusFile> open_plain_text(const std::string& path, const CorpusContext& context) {
  return std::make_unique<PlainText>(path, context);
}

}  // namespace headscope
