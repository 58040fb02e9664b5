#include "scores/words.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace headscope {
namespace {

const std::map<std::string, Agreement> pronoun_agreement{
    {"he", {"Masc", "Sing"}},      {"him", {"Masc", "Sing"}},    {"his", {"Masc", "Sing"}},
    {"himself", {"Masc", "Sing"}}, {"she", {"Fem", "Sing"}},     {"her", {"Fem", "Sing"}},
    {"hers", {"Fem", "Sing"}},     {"herself", {"Fem", "Sing"}}, {"it", {"Neut", "Sing"}},
    {"its", {"Neut", "Sing"}},     {"itself", {"Neut", "Sing"}}, {"i", {"", "Sing"}},
    {"me", {"", "Sing"}},          {"my", {"", "Sing"}},         {"mine", {"", "Sing"}},
    {"myself", {"", "Sing"}},      {"they", {"", "Plur"}},       {"them", {"", "Plur"}},
    {"their", {"", "Plur"}},       {"theirs", {"", "Plur"}},     {"themselves", {"", "Plur"}},
    {"we", {"", "Plur"}},          {"us", {"", "Plur"}},         {"our", {"", "Plur"}},
    {"ours", {"", "Plur"}},        {"ourselves", {"", "Plur"}},
};

void add_classes(const Piece& piece, WordStructure& words) {
  bool is_tagged = false;
  std::vector<Index> of_token(piece.tokens.size(), no_position);
  for (Index i = 0; i < piece.words.size(); ++i) {
    is_tagged = is_tagged || !piece.words[i].upos.empty();
    words.word_class.push_back(word_class_of(piece.words[i].upos));
    for (const Index token : words.tokens[i]) of_token[token] = words.word_class.back();
  }
  if (is_tagged) words.token_class = std::move(of_token);
}

/// The arc's `nearest_class`.
Index nearest_class(const Arc& arc, const std::vector<Index>& word_class) {
  const Index sought = word_class[arc.earlier];
  for (Index between = arc.earlier + 1; between < arc.later; ++between) {
    if (word_class[between] == sought) return no_position;
  }
  return sought;
}

void add_arcs(const Piece& piece, WordStructure& words) {
  words.has_dependencies = piece.has_dependencies;
  if (!piece.has_dependencies) return;
  for (Index dependent = 0; dependent < piece.words.size(); ++dependent) {
    const Word& word = piece.words[dependent];
    if (!word.head || *word.head == dependent) continue;
    const Index head = *word.head;
    if (words.tokens[dependent].empty() || words.tokens[head].empty()) continue;
    words.arcs.push_back(
        {std::max(head, dependent), std::min(head, dependent), word.relation,
         dependent > head ? ArcDirection::dependent_to_head : ArcDirection::head_to_dependent});
    words.arcs.back().nearest_class = nearest_class(words.arcs.back(), words.word_class);
  }
}

/// The mention completed last before word `first`: of those that end before it, the one whose last
/// word comes last, the longest on ties; null if there is none.
const Mention* last_completed(const std::vector<const Mention*>& mentions, Index first) {
  const Mention* last = nullptr;
  for (const Mention* mention : mentions) {
    if (mention->words.back() >= first) continue;
    if (last == nullptr || mention->words.back() > last->words.back() ||
        (mention->words.back() == last->words.back() &&
         mention->words.front() < last->words.front())) {
      last = mention;
    }
  }
  return last;
}

/// The last head word before `before` that passes; no_position if there is none.
template <typename Passes>
Index nearest_head_word(const std::vector<const Mention*>& mentions, Index before,
                        const Passes& passes) {
  Index nearest = no_position;
  for (const Mention* mention : mentions) {
    const Index word = mention->head_word;
    if (word >= before || (nearest != no_position && word <= nearest) || !passes(word)) continue;
    nearest = word;
  }
  return nearest;
}

/// Whether each rule takes an antecedent of the mention.
std::array<bool, n_coreference_rule> rules_right(const Piece& piece, const Mention& mention,
                                                 const std::vector<const Mention*>& mentions,
                                                 const std::vector<Index>& antecedents) {
  const Word& head_word = piece.words[mention.head_word];
  const std::string form = lower_ascii(head_word.form);
  const Agreement agreement = agreement_of(head_word);
  const auto nearest = [&](const auto& passes) {
    return nearest_head_word(mentions, mention.head_word, passes);
  };
  const Mention* const completed = last_completed(mentions, mention.words.front());
  std::array<Index, n_coreference_rule> taken{
      nearest([](Index) { return true; }),
      completed == nullptr ? no_position : completed->head_word,
      nearest([&](Index word) { return lower_ascii(piece.words[word].form) == form; }),
      nearest([&](Index word) { return agreement_of(piece.words[word]) == agreement; })};
  for (const CoreferenceRule rule : {CoreferenceRule::same_form, CoreferenceRule::agreement}) {
    Index& word = taken[static_cast<std::size_t>(rule)];
    if (word == no_position) word = taken[static_cast<std::size_t>(CoreferenceRule::nearest)];
  }
  std::array<bool, n_coreference_rule> right{};
  for (std::size_t rule = 0; rule < n_coreference_rule; ++rule) {
    right[rule] = std::ranges::binary_search(antecedents, taken[rule]);
  }
  return right;
}

void add_references(const Piece& piece, WordStructure& words) {
  if (!piece.has_coreference) return;
  std::map<Index, std::set<std::string>> entities_at;
  std::vector<const Mention*> aligned;
  for (const Mention& mention : piece.mentions) {
    if (words.tokens[mention.head_word].empty()) continue;
    entities_at[mention.head_word].insert(mention.entity);
    aligned.push_back(&mention);
  }
  for (const Mention& mention : piece.mentions) {
    const auto here = entities_at.find(mention.head_word);
    if (here == entities_at.end()) continue;
    CoreferenceQuery query;
    query.word = mention.head_word;
    for (auto earlier = entities_at.begin(); earlier != here; ++earlier) {
      if (earlier->second.count(mention.entity) > 0) query.antecedents.push_back(earlier->first);
    }
    if (query.antecedents.empty()) continue;
    query.is_pronoun = piece.words[mention.head_word].upos == "PRON";
    query.rule_is_right = rules_right(piece, mention, aligned, query.antecedents);
    words.references.push_back(std::move(query));
  }
}

void mark_sentences(const Piece& piece, WordStructure& words) {
  if (words.token_class.empty()) return;
  std::set<Index> with_pronoun;
  for (const Word& word : piece.words) {
    if (word.upos == "PRON") with_pronoun.insert(word.sentence);
  }
  for (Index i = 0; i < piece.words.size(); ++i) {
    const bool with = with_pronoun.count(piece.words[i].sentence) > 0;
    for (const Index token : words.tokens[i]) {
      words.sentence[token] = with ? SentencePronoun::with : SentencePronoun::without;
    }
  }
}

}  // namespace

Index word_class_of(const std::string& upos) {
  const auto found = std::ranges::find(word_classes, upos, &WordClass::name);
  return found == word_classes.end() ? no_position
                                     : static_cast<Index>(found - word_classes.begin());
}

Agreement agreement_of(const Word& word) {
  Agreement agreement;
  if (word.upos == "PRON") {
    const auto of_form = pronoun_agreement.find(lower_ascii(word.form));
    if (of_form != pronoun_agreement.end()) agreement = of_form->second;
  }
  for (const auto& [name, value] : word.features) {
    if (name == "Gender") agreement.gender = value;
    if (name == "Number") agreement.number = value;
  }
  return agreement;
}

WordStructure word_structure(const Piece& piece) {
  WordStructure words;
  words.sentence.assign(piece.tokens.size(), SentencePronoun::unknown);
  for (const Word& word : piece.words) {
    std::vector<Index> tokens = word.tokens;
    tokens.erase(std::remove(tokens.begin(), tokens.end(), Index{0}), tokens.end());
    if (tokens.empty()) ++words.n_unaligned;
    words.tokens.push_back(std::move(tokens));
  }
  add_classes(piece, words);
  add_arcs(piece, words);
  add_references(piece, words);
  mark_sentences(piece, words);
  return words;
}

bool is_scored_relation(const std::string& relation) {
  return !relation.empty() && relation != "root" && relation != "punct";
}

void word_attention(const Matrix& pattern, const WordStructure& words, arma::mat& attention) {
  const Index n_word = words.tokens.size();
  attention.set_size(n_word, n_word);
  std::vector<double> from(pattern.n_rows);
  for (Index later = 0; later < n_word; ++later) {
    const std::vector<Index>& queries = words.tokens[later];
    if (queries.empty()) {
      std::fill_n(attention.colptr(later), later, 0.0);
      continue;
    }
    const Index n_key = queries.back() + 1;
    std::fill_n(from.begin(), n_key, 0.0);
    for (const Index q : queries) {
      const float* weights = pattern.colptr(q);
      for (Index k = 0; k <= q; ++k) from[k] += weights[k];
    }
    const double scale = 1.0 / static_cast<double>(queries.size());
    double* to = attention.colptr(later);
    for (Index earlier = 0; earlier < later; ++earlier) {
      double sum = 0;
      for (const Index k : words.tokens[earlier]) sum += k < n_key ? from[k] : 0.0;
      to[earlier] = sum * scale;
    }
  }
}

std::vector<Index> largest_earlier_words(const arma::mat& attention, const WordStructure& words) {
  const Index n_word = words.tokens.size();
  std::vector<Index> largest(n_word, no_position);
  for (Index later = 0; later < n_word; ++later) {
    if (words.tokens[later].empty()) continue;
    const double* to = attention.colptr(later);
    Index best = no_position;
    for (Index earlier = 0; earlier < later; ++earlier) {
      if (words.tokens[earlier].empty()) continue;
      if (best == no_position || to[earlier] >= to[best]) best = earlier;
    }
    largest[later] = best;
  }
  return largest;
}

Ratio dependency_alignment(const arma::mat& attention, const WordStructure& words) {
  Ratio alignment;
  for (Index later = 1; later < attention.n_cols; ++later) {
    const double* to = attention.colptr(later);
    double mass = 0;
#pragma omp simd reduction(+ : mass)
    for (Index earlier = 0; earlier < later; ++earlier) mass += to[earlier];
    alignment.denominator += mass;
  }
  for (const Arc& arc : words.arcs) alignment.numerator += attention(arc.earlier, arc.later);
  return alignment;
}

Ratio dependency_alignment_baseline(const WordStructure& words) {
  std::vector<double> n_partner(words.tokens.size(), 0);
  for (const Arc& arc : words.arcs) ++n_partner[arc.later];
  Ratio alignment;
  double n_earlier = 0;
  for (Index later = 0; later < words.tokens.size(); ++later) {
    if (words.tokens[later].empty()) continue;
    if (n_earlier > 0) alignment += {n_partner[later] / n_earlier, 1};
    ++n_earlier;
  }
  return alignment;
}

Ratio dependency_alignment_previous(const WordStructure& words) {
  std::vector<Index> before(words.tokens.size(), no_position);
  Ratio alignment;
  Index last = no_position;
  for (Index word = 0; word < words.tokens.size(); ++word) {
    if (words.tokens[word].empty()) continue;
    if (last != no_position) ++alignment.denominator;
    before[word] = std::exchange(last, word);
  }
  for (const Arc& arc : words.arcs) {
    if (arc.earlier == before[arc.later]) ++alignment.numerator;
  }
  return alignment;
}

std::array<Ratio, n_word_class> word_class_shares(const Matrix& pattern,
                                                  const std::vector<Index>& token_class) {
  // The last place takes the attention on words of no class.
  std::array<double, n_word_class + 1> mass{};
  std::vector<Index> place(token_class.size());
  std::ranges::transform(token_class, place.begin(),
                         [](Index word_class) { return std::min(word_class, n_word_class); });
  for (Index q = 2; q < pattern.n_cols; ++q) {
    const float* const weights = pattern.colptr(q);
    for (Index k = 1; k <= q; ++k) mass[place[k]] += weights[k];
  }
  double all = 0;
  for (const double share : mass) all += share;
  std::array<Ratio, n_word_class> shares;
  for (Index i = 0; i < n_word_class; ++i) shares[i] = {mass[i], all};
  return shares;
}

std::array<Ratio, n_word_class> word_class_baselines(const std::vector<Index>& token_class) {
  std::array<Ratio, n_word_class> shares;
  std::array<double, n_word_class> n_key{};
  for (Index q = 1; q < token_class.size(); ++q) {
    if (token_class[q] != no_position) ++n_key[token_class[q]];
    if (q < 2) continue;
    for (Index i = 0; i < n_word_class; ++i) shares[i] += {n_key[i], static_cast<double>(q)};
  }
  return shares;
}

Ratio coreference_accuracy(const std::vector<Index>& largest,
                           const std::vector<CoreferenceQuery>& references, bool pronouns_only) {
  Ratio accuracy;
  for (const CoreferenceQuery& query : references) {
    if (pronouns_only && !query.is_pronoun) continue;
    const auto& antecedents = query.antecedents;
    const bool hit =
        std::find(antecedents.begin(), antecedents.end(), largest[query.word]) != antecedents.end();
    accuracy += {hit ? 1.0 : 0.0, 1};
  }
  return accuracy;
}

Ratio coreference_rule_accuracy(const std::vector<CoreferenceQuery>& references,
                                CoreferenceRule rule, bool pronouns_only) {
  Ratio accuracy;
  for (const CoreferenceQuery& query : references) {
    if (pronouns_only && !query.is_pronoun) continue;
    accuracy += {query.rule_is_right[static_cast<std::size_t>(rule)] ? 1.0 : 0.0, 1};
  }
  return accuracy;
}

}  // namespace headscope
