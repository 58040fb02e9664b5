#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "headscope/corpus.hpp"
#include "score_model/user_features.hpp"
#include "scores/words.hpp"

/// The score model adds up features: each looks at one query and one key.
namespace headscope {

enum class FeatureFamily {
  sink,
  position,
  segment,
  repetition,
  word_class,
  syntax,
  coreference,
  similarity,
  lexical,
  user
};
inline constexpr std::size_t n_feature_family = 10;
const char* feature_family_name(FeatureFamily family);

/// A direction of an arc, read from a query's word to the key's.
std::string syntax_feature_name(const std::string& relation, ArcDirection direction);

/// What of a corpus decides which features there are.
struct CorpusTraits {
  bool has_text = false, has_words = false, has_dependencies = false, has_coreference = false;
  /// Relations and directions with at least `least_arcs` arcs in even documents, sorted.
  std::vector<std::pair<std::string, ArcDirection>> relations = {};

  static constexpr double least_arcs = 30;
};

/// The number of a feature that a corpus lacks.
inline constexpr std::uint16_t no_feature = 0xFFFF;
inline constexpr std::size_t n_feature_offset = 9;  ///< offset_0 to offset_8

/// Features with a number for each pair, the same for all heads. The others are marks, 1 at some
/// pairs and 0 elsewhere, but for `lexical`, a number by head.
enum class NumericFeature { log_distance, distance, log_frequency, similarity, similarity_before };
inline constexpr std::size_t n_numeric_feature = 5;

/// The features of a run, in order of their families, and where each stands.
class FeatureList {
 public:
  FeatureList(const CorpusTraits& traits, const std::vector<UserFeature>& user_features);

  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  FeatureFamily family(std::size_t feature) const { return families_[feature]; }
  bool has(FeatureFamily family) const;
  /// no_feature if there is none of that name.
  std::uint16_t place_of(const std::string& name) const;
  std::uint16_t numeric(NumericFeature feature) const;
  std::uint16_t lexical() const { return place_of("lexical"); }
  const std::vector<UserFeature>& user() const { return user_; }

 private:
  void add(FeatureFamily family, const std::string& name);

  std::vector<std::string> names_;
  std::vector<FeatureFamily> families_;
  std::map<std::string, std::uint16_t> places_;
  std::vector<UserFeature> user_;
};

/// Finds the marks of a piece: the features that are 1 at a query and a key.
class PieceMarks {
 public:
  /// Both arguments must outlive this object.
  PieceMarks(const Piece& piece, const FeatureList& features);

  /// The features that are 1 at a query's keys 1 .. q.
  /// @param mark_ends  appended: for each key, where its marks end in `marks`.
  /// @param marks      appended, ascending for each key.
  void add_query(Index query, std::vector<std::uint32_t>& mark_ends,
                 std::vector<std::uint16_t>& marks) const;

 private:
  struct WordPair {
    Index earlier;
    std::uint16_t feature;
  };
  using KeyMark = std::pair<Index, std::uint16_t>;

  void mark_keys();
  void mark_word_classes();
  void add_syntax();
  void add_coreference();
  void mark_repetition(Index query, std::vector<KeyMark>& marked) const;
  void mark_words(Index query, std::vector<KeyMark>& marked) const;

  const Piece& piece_;
  const FeatureList& features_;
  std::vector<Index> word_of_;                         // of each token; no_position
  std::vector<std::vector<std::uint16_t>> key_marks_;  // of each token as a key
  std::vector<Index> latest_punctuation_;              // of each token as a query
  std::vector<std::vector<Index>> copies_;
  std::vector<std::vector<WordPair>> pairs_;  // of each word as the later one
  std::vector<Index> latest_mention_;         // of each word, a token
  std::vector<PairTest> user_tests_;
  std::uint16_t offset_0_, same_sentence_, same_word_, same_token_, after_copy_, after_copy_latest_,
      after_copy_2_, before_copy_, latest_punctuation_feature_, latest_mention_feature_;
};

}  // namespace headscope
