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
    bool seen_text = false;
    while (n_document() < context.max_documents && read_line(file, path, read)) {
      const bool is_blank = read.text.find_first_not_of(blanks) == std::string::npos;
      if (is_blank) {
        end_document();
        continue;
      }
      if (!seen_text && !read.text.starts_with('#')) {
        seen_text = true;
        if (conllu::is_word_line(read.text)) {
          throw DataError(path, std::to_string(read.number),
                          "expected plain text, got CoNLL-U, which is read from files named "
                          "*.conllu or *.conll");
        }
      }
      add_line(read);
    }
    end_document();
  }

  std::string kind() const override { return "plain text"; }

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

  /// Adds a line to the document that is being read; separators in it end documents.
  void add_line(const TextLine& line) {
    std::size_t begin = 0;
    while (!context_.literal_special_tokens) {
      const std::size_t separator = line.text.find(document_separator, begin);
      if (separator == std::string::npos) break;
      add_part(line, begin, line.text.substr(begin, separator - begin));
      end_document();
      ++n_separator_;
      begin = separator + document_separator.size();
    }
    add_part(line, begin, line.text.substr(begin) + '\n');
  }

  /// Adds the part of a line that begins at a byte of it.
  void add_part(const TextLine& line, std::size_t begin, std::string_view part) {
    if (document_.empty()) {
      const std::size_t first = part.find_first_not_of(begin > 0 ? blanks_and_ends : "");
      if (first == std::string_view::npos) return;
      part.remove_prefix(first);
      document_begin_ = line.begin + begin + first;
      const bool is_second = line.number == document_line_;
      same_line_ = is_second ? same_line_ + 1 : 1;
      document_line_ = line.number;
    }
    document_ += part;
    if (document_.size() <= most_line_bytes) return;
    throw DataError(path_, std::to_string(document_line_),
                    "expected documents of at most 64 MiB, which a blank line or " +
                        std::string(document_separator) + " ends, got a longer one");
  }

  void end_document() {
    std::string_view text = document_;
    while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
    if (!text.empty() && n_document() < context_.max_documents) {
      const auto [spans, most_tokens] = cut_text(*context_.tokenizer, text, context_.max_tokens);
      std::string name = name_in_file(path_, document_line_);
      if (same_line_ > 1) name += "." + std::to_string(same_line_);
      for (std::size_t i = 0; i < spans.size(); ++i) {
        pieces_.push_back({document_begin_ + spans[i].first, spans[i].second - spans[i].first,
                           piece_name(name, i, spans.size())});
      }
      // A long text of white space has no words to make pieces of.
      if (!spans.empty()) add_document(text, spans.size(), most_tokens);
    }
    document_.clear();
  }

  static constexpr const char* blanks = " \t\r\v\f";
  static constexpr const char* blanks_and_ends = " \t\r\v\f\n";

  std::string path_;
  FileVersion version_;
  TextFile text_;
  CorpusContext context_;
  std::vector<TextPiece> pieces_;
  // The document that is being read, and where it begins.
  std::string document_;
  std::uint64_t document_begin_ = 0;
  std::size_t document_line_ = 0, same_line_ = 0;
};

}  // namespace

std::unique_ptr<CorpusFile> open_plain_text(const std::string& path, const CorpusContext& context) {
  return std::make_unique<PlainText>(path, context);
}

}  // namespace headscope
