#include "headscope/corpus.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <unordered_set>

#include "base/text.hpp"
#include "corpus/conllu.hpp"
#include "corpus/corpus_file.hpp"
#include "files/file_version.hpp"
#include "files/hdf5_file.hpp"
#include "files/read_file.hpp"
#include "files/sha256.hpp"
#include "files/text_file.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

/// The extension in lower case, before `.gz` if there is one.
std::string extension_of(const fs::path& path) {
  const fs::path name = lower_ascii(path.filename().string());
  return (name.extension() == ".gz" ? name.stem() : name).extension().string();
}

bool is_known(const std::string& extension) {
  return extension == ".txt" || extension == ".conllu" || extension == ".conll" ||
         extension == ".h5";
}

/// README, LICENSE and the like, in any case: `README.txt`, `license-code.txt`.
bool is_about_the_corpus(std::string name) {
  name = lower_ascii(std::move(name));
  return std::ranges::any_of(
      std::array<std::string_view, 4>{"readme", "license", "licence", "copying"},
      [&](std::string_view word) {
        return name.starts_with(word) && (name.size() == word.size() ||
                                          !(name[word.size()] >= 'a' && name[word.size()] <= 'z'));
      });
}

/// The files that a path stands for. @param folders  gets what a folder holds.
std::vector<std::string> files_of(const std::string& path, std::vector<CorpusFolder>& folders) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return {path};
  if (!fs::is_directory(path, ignored)) {
    throw DataError(path, "",
                    fs::exists(path, ignored) ? "expected a file or folder, got a pipe or device"
                                              : "expected a file or folder, but there is none");
  }
  std::vector<std::string> files;
  CorpusFolder folder{path, {}, {}};
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    if (entry.is_regular_file() && is_known(extension_of(name)) && !is_about_the_corpus(name)) {
      files.push_back(entry.path().string());
      folder.read.push_back(name);
    } else {
      folder.ignored.push_back(name);
    }
  }
  if (files.empty()) {
    throw DataError(path, "",
                    "expected .txt, .conllu, .conll or .h5 files, or those as .gz, got none");
  }
  for (auto* const names : {&files, &folder.read, &folder.ignored}) std::ranges::sort(*names);
  folders.push_back(std::move(folder));
  return files;
}

/// Refuses files of other programs by their names or first bytes.
void check_is_text(const std::string& path) {
  static constexpr std::array<std::string_view, 8> tables_and_markup{
      ".csv", ".html", ".json", ".jsonl", ".ndjson", ".parquet", ".tsv", ".xml"};
  if (const std::string extension = extension_of(path);
      std::ranges::count(tables_and_markup, extension) > 0) {
    throw DataError(path, "",
                    "expected plain text, CoNLL-U or token ids, got a file named " + extension);
  }
  struct Signature {
    std::string_view begin, name;
  };
  static constexpr std::array<Signature, 8> signatures{
      {{"%PDF-", "a PDF document"},
       {"\x89PNG", "a PNG image"},
       {"\xFF\xD8\xFF", "a JPEG image"},
       {"GIF8", "a GIF image"},
       {"PK\x03\x04", "a zip archive or office document"},
       {"\xD0\xCF\x11\xE0", "an office document"},
       {"{\\rtf", "an RTF document"},
       {"\x7F"
        "ELF",
        "a program"}}};
  std::string begin;
  constexpr std::uintmax_t n_byte = 8;
  read_blocks(
      path, [&](std::string_view block) { begin += block; }, n_byte);
  for (const auto& [bytes, name] : signatures) {
    if (!begin.starts_with(bytes)) continue;
    throw DataError(path, "", "expected text, CoNLL-U or token ids, got " + std::string(name));
  }
}

/// Refuses a `.conll` file in one of the other formats of that name.
void check_conllu(const std::string& path, const CorpusContext& context) {
  const std::unique_ptr<std::istream> text = TextFile(path, context.encoding).open();
  for (TextLine line; read_line(*text, path, line);) {
    if (line.text.empty() || line.text == "\r" || line.text.starts_with('#')) continue;
    if (conllu::is_word_line(line.text)) return;
    throw DataError(path, std::to_string(line.number),
                    "expected CoNLL-U, whose words are lines of ten columns that begin with a "
                    "number, got another form of CoNLL");
  }
}

std::unique_ptr<CorpusFile> open_file(const std::string& path, const CorpusContext& context) {
  const std::string extension = extension_of(path);
  check_is_text(path);
  if (extension == ".h5" || hdf5::InputFile::recognises(path)) {
    return open_token_ids(path, context);
  }
  if (context.tokenizer == nullptr) {
    throw DataError(path, "", "expected a tokenizer to read text with, got none",
                    Remedy::tokenizer);
  }
  if (extension == ".conll") check_conllu(path, context);
  return extension == ".conllu" || extension == ".conll" ? open_conllu(path, context)
                                                         : open_plain_text(path, context);
}

}  // namespace

std::pair<const CorpusFile*, std::uint64_t> Corpus::find(std::uint64_t document) const {
  if (document >= n_document_) {
    throw ShapeError("document: expected 0 to " + std::to_string(n_document_ - 1) + ", got " +
                     std::to_string(document));
  }
  const auto next = std::ranges::upper_bound(first_document_, document);
  const auto file = static_cast<std::size_t>(next - first_document_.begin()) - 1;
  return {files_[file].get(), document - first_document_[file]};
}

Corpus::Corpus(const std::vector<std::string>& paths, const Tokenizer* tokenizer,
               const CorpusOptions& options) {
  const Index n_bos = options.prepend_bos ? 1 : 0,
              n_before = n_bos + (tokenizer != nullptr ? tokenizer->most_space_tokens() : 0);
  if (options.max_tokens <= n_before) {
    throw OptionError("--context", "expected at least " + std::to_string(n_before + 1) + ", got " +
                                       std::to_string(options.max_tokens));
  }
  if (options.prepend_bos && tokenizer != nullptr) tokenizer->first_token();
  const std::uint64_t limit =
      options.max_documents > 0 ? options.max_documents : std::numeric_limits<std::uint64_t>::max();
  CorpusContext context{options, tokenizer};
  context.max_tokens -= n_bos;
  Sha256 hash, layout_hash;
  std::set<fs::path> read;
  std::unordered_set<std::size_t> contents;
  for (const std::string& path : paths) {
    for (const std::string& file : files_of(path, folders_)) {
      if (!read.insert(fs::canonical(file)).second) {
        throw DataError(file, "", "expected once in a corpus, got twice");
      }
      context.max_documents = limit - n_document_;
      auto opened = FileVersion(file).during([&]() -> std::unique_ptr<CorpusFile> {
        hash.add_file(file);
        return context.max_documents > 0 ? open_file(file, context) : nullptr;
      });
      if (!opened) continue;
      files_.push_back(std::move(opened));
      const CorpusFile& found = *files_.back();
      if (found.n_document() == 0) {
        throw DataError(file, "", "expected at least one document, got none");
      }
      if (found.n_undivided() > 1) {
        undivided_files_.push_back({file, found.n_undivided()});
      }
      if (found.n_separator() > 0) {
        separated_files_.push_back({file, found.n_separator()});
      }
      std::error_code ignored;
      layout_hash.add(found.kind() + " " + std::to_string(fs::file_size(file, ignored)) + " " +
                      std::to_string(found.n_document()) + " " + std::to_string(found.n_piece()) +
                      "\n");
      kinds_.insert(found.kind());
      relations_.insert(found.relations().begin(), found.relations().end());
      first_document_.push_back(n_document_);
      n_document_ += found.n_document();
      n_piece_ += found.n_piece();
      longest_piece_ = std::max(longest_piece_, n_bos + found.longest_piece());
      for (const std::size_t content : found.content_hashes()) {
        n_copy_ += contents.insert(content).second ? 0 : 1;
      }
    }
  }
  if (n_document_ == 0) throw OptionError("corpus", "expected files or folders, got none");
  sha256_ = hash.finish();
  layout_sha256_ = layout_hash.finish();
}

Corpus::~Corpus() = default;
Corpus::Corpus(Corpus&&) noexcept = default;
Corpus& Corpus::operator=(Corpus&&) noexcept = default;

std::uint64_t Corpus::n_piece(std::uint64_t document) const {
  const auto [file, number] = find(document);
  return file->n_piece(number);
}

Piece Corpus::piece(std::uint64_t document, std::uint64_t index) const {
  const auto [file, number] = find(document);
  const std::uint64_t n_piece = file->n_piece(number);
  if (index >= n_piece) {
    throw ShapeError("piece: expected 0 to " + std::to_string(n_piece - 1) + ", got " +
                     std::to_string(index));
  }
  Piece piece = file->piece(number, index);
  piece.document = document;
  piece.index = index;
  piece.n_piece = n_piece;
  return piece;
}

bool Corpus::begins_predictions(const Piece& piece) const {
  if (piece.tokens.size() < 2) return false;
  for (std::uint64_t index = 0; index < piece.index; ++index) {
    if (this->piece(piece.document, index).tokens.size() > 1) return false;
  }
  return true;
}

Piece text_piece(const Tokenizer& tokenizer, const std::string& text, bool prepend_bos) {
  Piece piece;
  tokenize({{.prepend_bos = prepend_bos}, &tokenizer}, text, piece);
  return piece;
}

void set_tokens(const CorpusContext& context, std::span<const TokenId> ids, Piece& piece) {
  piece.has_bos = context.prepend_bos;
  if (context.prepend_bos) piece.tokens.push_back(context.tokenizer->first_token());
  piece.tokens.insert(piece.tokens.end(), ids.begin(), ids.end());
  if (context.tokenizer == nullptr) return;
  piece.token_text.reserve(piece.tokens.size());
  for (const TokenId id : piece.tokens) piece.token_text.push_back(context.tokenizer->decode(id));
}

std::vector<std::pair<std::size_t, std::size_t>> tokenize(const CorpusContext& context,
                                                          std::string_view text, Piece& piece) {
  Tokenizer::Encoding encoding = context.tokenizer->encode(text);
  set_tokens(context, encoding.ids, piece);
  return std::move(encoding.spans);
}

std::string piece_name(const std::string& document, std::size_t piece, std::size_t n_piece) {
  return n_piece > 1 ? document + "/" + std::to_string(piece + 1) : document;
}

std::string name_in_file(const std::string& path, std::uint64_t number) {
  return fs::path(path).filename().string() + ":" + std::to_string(number);
}

}  // namespace headscope
