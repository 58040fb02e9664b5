#include <algorithm>

#include "corpus/conllu.hpp"
#include "corpus/coreference.hpp"
#include "corpus/corpus_file.hpp"
#include "corpus/document_cut.hpp"
#include "files/file_version.hpp"
#include "files/text_file.hpp"

namespace headscope {
namespace {

using conllu::Sentence;
using coreference::EntityFields;
using coreference::MentionReader;

/// Surfaces of one sentence, [first, end).
struct SurfaceRange {
  std::size_t first = 0, end = 0;
};

struct ConlluPiece {
  std::uint64_t begin = 0, end = 0;  // bytes of the file, whole sentences
  std::size_t line = 0;              // where they begin
  std::optional<SurfaceRange> part;  // of a single sentence; none: all sentences in full
  std::string id;
  std::size_t document = 0;
};

/// What all pieces of a document share.
struct DocumentTraits {
  EntityFields fields;
  bool has_dependencies = false, has_coreference = false;
};

/// The joined text of sentences, and the spans of their surfaces in it.
class JoinedText {
 public:
  void add(const Sentence& sentence, SurfaceRange range) {
    for (std::size_t i = range.first; i < range.end; ++i) {
      const conllu::Surface& surface = sentence.surfaces[i];
      if (space_pending_) text_ += ' ';
      const std::size_t begin = text_.size();
      text_ += surface.form;
      surfaces_.emplace_back(begin, text_.size());
      space_pending_ = surface.space_after;
    }
  }
  const std::string& text() const { return text_; }
  const std::vector<ByteSpan>& surfaces() const { return surfaces_; }

 private:
  std::string text_;
  std::vector<ByteSpan> surfaces_;
  bool space_pending_ = false;
};

void add_nodes(const Sentence& sentence, Index first_word, MentionReader& mentions,
               MentionReader::Heads& heads) {
  for (const conllu::Node& node : sentence.nodes) {
    mentions.add(node.word ? std::optional(*node.word + first_word) : std::nullopt, node.entity,
                 node.line);
  }
  for (const Word& word : sentence.words) {
    heads.push_back(word.head ? std::optional(*word.head + first_word) : std::nullopt);
  }
}

/// What the first read of a file keeps of a document, to check and cut it.
class OpeningDocument {
 public:
  OpeningDocument(std::string path, std::string id, EntityFields fields)
      : path_(std::move(path)), id_(std::move(id)), mentions_(path_, fields, true) {
    traits_.fields = fields;
  }

  void add(const Sentence& sentence) {
    const std::size_t first = joined_.surfaces().size();
    joined_.add(sentence, {0, sentence.surfaces.size()});
    sentences_.push_back({sentence.begin, sentence.end, sentence.line,
                          SurfaceRange{first, joined_.surfaces().size()}, id_, 0});
    add_nodes(sentence, heads_.size(), mentions_, heads_);
    traits_.has_dependencies |= sentence.has_dependencies;
    traits_.has_coreference |= sentence.entities.has_value() ||
                               std::ranges::any_of(sentence.nodes, [](const conllu::Node& node) {
                                 return !node.entity.empty();
                               });
  }

  const DocumentTraits& traits() const { return traits_; }
  const std::string& text() const { return joined_.text(); }

  /// The pieces, and the most tokens of a piece.
  std::pair<std::vector<ConlluPiece>, Index> finish(const CorpusContext& context) {
    mentions_.finish(heads_);
    std::vector<ConlluPiece> pieces;
    const auto add_piece = [&](std::size_t first, std::size_t end) {
      pieces.push_back({sentences_[first].begin, sentences_[end - 1].end, sentences_[first].line,
                        std::nullopt, id_, 0});
    };
    const std::size_t n_token =
        count_tokens(*context.tokenizer, joined_.text(), context.max_tokens);
    if (n_token <= context.max_tokens) {
      add_piece(0, sentences_.size());
      return {std::move(pieces), n_token};
    }
    std::vector<ByteSpan> spans;
    for (const ConlluPiece& sentence : sentences_) {
      spans.emplace_back(joined_.surfaces()[sentence.part->first].first,
                         joined_.surfaces()[sentence.part->end - 1].second);
    }
    for (const auto& packed : pack(*context.tokenizer, joined_.text(), spans, context.max_tokens)) {
      if (packed.fits) {
        add_piece(packed.first, packed.end);
      } else {
        cut_sentence(sentences_[packed.first], context, pieces);
      }
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i].id = piece_name(id_, i, pieces.size());
    }
    return {std::move(pieces), context.max_tokens};
  }

 private:
  void cut_sentence(const ConlluPiece& sentence, const CorpusContext& context,
                    std::vector<ConlluPiece>& pieces) const {
    const std::vector<ByteSpan> spans(joined_.surfaces().begin() + sentence.part->first,
                                      joined_.surfaces().begin() + sentence.part->end);
    for (const auto& packed : pack(*context.tokenizer, joined_.text(), spans, context.max_tokens)) {
      pieces.push_back(sentence);
      pieces.back().part = SurfaceRange{packed.first, packed.end};
    }
  }

  std::string path_, id_;
  DocumentTraits traits_;
  MentionReader mentions_;
  MentionReader::Heads heads_;
  JoinedText joined_;
  std::vector<ConlluPiece> sentences_;  // parts index the document's surfaces
};

class ConlluFile : public CorpusFile {
 public:
  ConlluFile(const std::string& path, const CorpusContext& context)
      : path_(path), version_(path), text_(path, context.encoding), context_(context) {
    const std::unique_ptr<std::istream> file = text_.open();
    conllu::Reader reader(*file, path);
    EntityFields fields;
    std::optional<OpeningDocument> document;
    std::uint64_t n_sentence = 0;
    bool is_divided = false;  // a sentence has `# newdoc`
    while (auto sentence = reader.next()) {
      if (sentence->entities) fields = EntityFields::parse(*sentence->entities);
      is_divided |= sentence->starts_document;
      const bool is_full = !is_divided && context.document_sentences > 0 &&
                           n_sentence % context.document_sentences == 0;
      if ((sentence->starts_document || is_full) && document) {
        add(*document);
        document.reset();
        if (n_document() == context.max_documents) return;
      }
      if (!document) {
        const bool named = !sentence->document_id.empty();
        document.emplace(path, named ? sentence->document_id : name_in_file(path, sentence->line),
                         fields);
      }
      document->add(*sentence);
      for (const Word& word : sentence->words) {
        if (word.head && !word.relation.empty()) relations_.insert(word.relation);
      }
      ++n_sentence;
    }
    if (document) add(*document);
    if (!is_divided && context.document_sentences == 0) n_undivided_ = n_sentence;
  }

  std::string kind() const override { return "CoNLL-U"; }

 private:
  Piece read_piece(std::uint64_t index) const override {
    return version_.during([&] { return read(pieces_[index]); });
  }
  Piece read(const ConlluPiece& place) const;

  void add(OpeningDocument& document) {
    const std::size_t n_before = pieces_.size();
    auto [pieces, most_tokens] = document.finish(context_);
    for (ConlluPiece& piece : pieces) {
      piece.document = traits_.size();
      pieces_.push_back(std::move(piece));
    }
    traits_.push_back(document.traits());
    add_document(document.text(), pieces_.size() - n_before, most_tokens);
  }

  std::string path_;
  FileVersion version_;
  TextFile text_;
  CorpusContext context_;
  std::vector<ConlluPiece> pieces_;
  std::vector<DocumentTraits> traits_;
};

/// Words of the surfaces in `range`, [first, end) in the sentence.
std::pair<Index, Index> words_of(const Sentence& sentence, SurfaceRange range) {
  return {sentence.surfaces[range.first].first_word, sentence.surfaces[range.end - 1].end_word};
}

void add_words(Sentence& sentence, SurfaceRange range, Index sentence_index, Piece& piece) {
  const auto [first, end] = words_of(sentence, range);
  const Index base = piece.words.size();
  for (Index i = first; i < end; ++i) {
    Word& word = piece.words.emplace_back(std::move(sentence.words[i]));
    if (word.head < first || word.head >= end) word.head.reset();
    if (word.head) *word.head += base - first;
    word.sentence = sentence_index;
  }
}

/// Appends the text span of each word of the surfaces in `range`.
void add_word_spans(const Sentence& sentence, SurfaceRange range,
                    const std::vector<ByteSpan>& surfaces, std::vector<ByteSpan>& word_spans) {
  const std::size_t first_surface = surfaces.size() - (range.end - range.first);
  for (std::size_t i = range.first; i < range.end; ++i) {
    const conllu::Surface& surface = sentence.surfaces[i];
    std::vector<std::string_view> forms;
    for (Index w = surface.first_word; w < surface.end_word; ++w) {
      forms.push_back(sentence.words[w].form);
    }
    const auto spans = spans_within(surfaces[first_surface + i - range.first], surface.form, forms);
    word_spans.insert(word_spans.end(), spans.begin(), spans.end());
  }
}

/// Keeps the mentions whose words are all in [first, end), and renumbers words from `first`.
std::vector<Mention> mentions_within(std::vector<Mention> mentions, Index first, Index end) {
  std::erase_if(mentions, [&](const Mention& mention) {
    return mention.words.front() < first || mention.words.back() >= end;
  });
  for (Mention& mention : mentions) {
    for (Index& word : mention.words) word -= first;
    mention.head_word -= first;
  }
  return mentions;
}

Piece ConlluFile::read(const ConlluPiece& place) const {
  const DocumentTraits& traits = traits_[place.document];
  const std::unique_ptr<std::istream> file = text_.open(place.begin);
  conllu::Reader reader(*file, path_, place.begin, place.line - 1);
  Piece piece;
  piece.id = place.id;
  piece.has_dependencies = traits.has_dependencies;
  piece.has_coreference = traits.has_coreference;
  JoinedText joined;
  std::vector<ByteSpan> word_spans;
  MentionReader mentions(path_, traits.fields, false);
  MentionReader::Heads heads;
  std::pair<Index, Index> kept_words;
  for (Index i = 0, read = 0; place.begin + read < place.end; ++i) {
    auto sentence = reader.next();
    if (!sentence) {
      throw DataError(path_, "", "expected the bytes seen when it was opened, got fewer");
    }
    read = sentence->end - place.begin;
    add_nodes(*sentence, heads.size(), mentions, heads);
    const SurfaceRange range = place.part.value_or(SurfaceRange{0, sentence->surfaces.size()});
    kept_words = place.part ? words_of(*sentence, range) : std::pair<Index, Index>(0, heads.size());
    joined.add(*sentence, range);
    add_word_spans(*sentence, range, joined.surfaces(), word_spans);
    add_words(*sentence, range, i, piece);
  }
  if (traits.has_coreference) {
    piece.mentions = mentions_within(mentions.finish(heads), kept_words.first, kept_words.second);
  }
  std::string_view text = joined.text();
  // Only a word that is too long by itself makes a piece that does not fit.
  if (place.part &&
      count_tokens(*context_.tokenizer, text, context_.max_tokens) > context_.max_tokens) {
    text = text.substr(0, longest_beginning(*context_.tokenizer, text, context_.max_tokens));
  }
  const auto token_spans = tokenize(context_, text, piece);
  const auto word_of_token = align(text, token_spans, word_spans);
  for (std::size_t t = 0; t < word_of_token.size(); ++t) {
    if (word_of_token[t]) {
      piece.words[*word_of_token[t]].tokens.push_back(t + (piece.has_bos ? 1 : 0));
    }
  }
  return piece;
}

}  // namespace

std::unique_ptr<CorpusFile> open_conllu(const std::string& path, const CorpusContext& context) {
  return std::make_unique<ConlluFile>(path, context);
}

}  // namespace headscope
