#include <algorithm>
#include <limits>

#include "base/text.hpp"
#include "corpus/corpus_file.hpp"
#include "files/gzip.hpp"
#include "files/hdf5_file.hpp"
#include "files/temporary_file.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

void check_datasets(const hdf5::InputFile& file) {
  if (file.has("tokens") && file.has("offsets")) return;
  const auto found = file.datasets();
  throw DataError(file.path(), "",
                  "expected the datasets tokens and offsets, got " +
                      (found.empty() ? "none" : first_joined(found, 3, &hdf5::DatasetInfo::name)));
}

std::vector<std::int64_t> read_row(const hdf5::InputFile& file, const std::string& name) {
  const hdf5::DatasetInfo info = file.info(name);
  if (info.kind != hdf5::Kind::integer || info.shape.size() != 1) {
    throw DataError(file.path(), name,
                    "expected whole numbers in one row, got " + info.type + " of shape " +
                        shape_text(info.shape));
  }
  return file.read_integers(name);
}

class TokenIdFile : public CorpusFile {
 public:
  TokenIdFile(const std::string& path, const CorpusContext& context)
      : path_(path), context_(context) {
    if (context.prepend_bos && context.tokenizer == nullptr) {
      throw DataError(path, "",
                      "expected a tokenizer that knows the id of the token with which documents "
                      "begin, got none",
                      Remedy::no_bos);
    }
    const auto offsets = read_file(path);
    const auto n_token = static_cast<std::int64_t>(tokens_.size());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const std::int64_t least = i == 0 ? 0 : offsets[i - 1] + 1;
      if (offsets[i] < least || offsets[i] > n_token) {
        throw DataError(path, "offsets",
                        "expected positions that rise from 0 to at most " +
                            std::to_string(n_token) + ", got " + std::to_string(offsets[i]) +
                            " as number " + std::to_string(i));
      }
    }
    if (!offsets.empty() && (offsets.front() != 0 || offsets.back() != n_token)) {
      throw DataError(path, "offsets",
                      "expected positions from 0 to " + std::to_string(n_token) +
                          ", the number of tokens, got " + std::to_string(offsets.front()) +
                          " to " + std::to_string(offsets.back()));
    }
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      if (n_document() == context.max_documents) break;
      cut(i, static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1]));
    }
  }

  std::string kind() const override { return "token ids"; }

 private:
  struct TokenRange {
    std::size_t begin = 0, end = 0;  // in tokens_
    std::string id;
  };

  Piece read_piece(std::uint64_t index) const override {
    const TokenRange& range = pieces_[index];
    Piece piece;
    piece.id = range.id;
    set_tokens(context_, std::span(tokens_).subspan(range.begin, range.end - range.begin), piece);
    return piece;
  }

  /// Reads the tokens, from a decompressed copy if need be.
  /// @return  the offsets.
  std::vector<std::int64_t> read_file(const std::string& path) {
    if (!is_gzip(path)) return read_arrays(path);
    TemporaryFile copy;
    read_gzip(path, [&](std::string_view block) { copy.append(block); });
    try {
      return read_arrays(copy.path());
    } catch (const DataError& error) {
      std::string text = error.what();
      if (text.starts_with(copy.path())) text.replace(0, copy.path().size(), path);
      throw Error(text);
    }
  }

  std::vector<std::int64_t> read_arrays(const std::string& path) {
    const hdf5::InputFile file(path);
    check_datasets(file);
    read_tokens(file);
    return read_row(file, "offsets");
  }

  void read_tokens(const hdf5::InputFile& file) {
    const Index n_id =
        context_.tokenizer != nullptr ? context_.tokenizer->size() : context_.d_vocab;
    const std::int64_t largest =
        n_id > 0 ? static_cast<std::int64_t>(n_id) - 1 : std::numeric_limits<TokenId>::max();
    const auto ids = read_row(file, "tokens");
    tokens_.reserve(ids.size());
    for (const std::int64_t id : ids) {
      if (id < 0 || id > largest) {
        throw DataError(path_, "tokens",
                        "expected ids from 0 to " + std::to_string(largest) + ", got " +
                            std::to_string(id) + " at position " + std::to_string(tokens_.size()));
      }
      tokens_.push_back(static_cast<TokenId>(id));
    }
  }

  void cut(std::size_t document, std::size_t begin, std::size_t end) {
    // Every piece gets a first token, so drop the document's own.
    if (context_.prepend_bos && tokens_[begin] == context_.tokenizer->first_token()) ++begin;
    const auto content = std::as_bytes(std::span(tokens_).subspan(begin, end - begin));
    const std::size_t n_token = end - begin,
                      n_piece = std::max<std::size_t>(
                          1, (n_token + context_.max_tokens - 1) / context_.max_tokens);
    for (std::size_t i = 0; i < n_piece; ++i) {
      const std::size_t piece_end = std::min<std::size_t>(end, begin + context_.max_tokens);
      pieces_.push_back({begin, piece_end, piece_name(name_in_file(path_, document), i, n_piece)});
      begin = piece_end;
    }
    add_document({reinterpret_cast<const char*>(content.data()), content.size()}, n_piece,
                 std::min<Index>(n_token, context_.max_tokens));
  }

  std::string path_;
  CorpusContext context_;
  TokenIds tokens_;
  std::vector<TokenRange> pieces_;
};

}  // namespace

std::unique_ptr<CorpusFile> open_token_ids(const std::string& path, const CorpusContext& context) {
  return std::make_unique<TokenIdFile>(path, context);
}

}  // namespace headscope
