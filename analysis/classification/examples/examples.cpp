#include "classification/examples/examples.hpp"

#include <algorithm>
#include <set>

#include "base/label_text.hpp"
#include "base/utf8.hpp"
#include "classification/types/evidence.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

constexpr Index tokens_before = 12, tokens_after = 4;  // of an excerpt without sentences
constexpr Index furthest_shown = 40;                   // tokens from a target to the query

Declaration start_of(const std::string& place, const std::string& meaning) {
  return Declaration::whole(
      place + "_start", "example",
      "First character in text of the first token of " + meaning + "; -1 if it is not there");
}

Declaration end_of(const std::string& place, const std::string& meaning) {
  return Declaration::whole(
      place + "_end", "example",
      "Character in text after the first token of " + meaning + "; -1 if it is not there");
}

const char *const attending = "the word or token that attends",
                  *const sought = "what a head of the type seeks",
                  *const attended_most = "what the head attends to most";

const VariableTable example_variables{
    Declaration::whole("layer", "example", "Layer of the head"),
    Declaration::whole("head", "example", "Number of the head in its layer"),
    {"type", "example", "1", "Type of the head that is shown"},
    {"about", "example", "1", "Offset or relation that is shown"},
    Declaration::whole("document", "example", "Number of the document"),
    {"text", "example", "1", "The sentence, or some tokens before and after the query"},
    start_of("query", attending),
    end_of("query", attending),
    start_of("target", sought),
    end_of("target", sought),
    start_of("attended", attended_most),
    end_of("attended", attended_most),
    {"attended", "example", "1", "The token that the head attends to most"},
    Declaration::flag("found", "example", {"no", "yes"},
                      "Whether the head attends most to what is sought"),
};

// Records and texts of a document.
constexpr const char *text_name = "example_text", *sentence_name = "example_sentence",
                     *relations_name = "example_relations", *cases_name = "example_cases";

// Numbers of one case: type, relation's place among the texts, query, word, targets.
void append_case(const ExampleCase& example, std::size_t relation, std::vector<double>& numbers) {
  const auto add = [&](Index index) {
    numbers.push_back(index == no_position ? -1 : static_cast<double>(index));
  };
  add(static_cast<Index>(example.type));
  add(relation);
  add(example.query);
  add(example.word);
  add(example.targets.size());
  for (const Index target : example.targets) add(target);
}

Index index_of(double number) {
  return number < 0 ? no_position : static_cast<Index>(number);
}

ExampleDocument kept_example(const Statistics& statistics, std::uint64_t document) {
  ExampleDocument example;
  example.token_text = statistics.texts(text_name, document);
  for (const double number : statistics.record(sentence_name, document).values) {
    example.sentence.push_back(index_of(number));
  }
  const std::vector<std::string>& relations = statistics.texts(relations_name, document);
  const std::vector<double>& numbers = statistics.record(cases_name, document).values;
  for (auto next = numbers.begin(); next != numbers.end();) {
    ExampleCase each;
    each.type = static_cast<HeadType>(*next++);
    each.relation = relations[static_cast<std::size_t>(*next++)];
    each.query = index_of(*next++);
    each.word = index_of(*next++);
    const auto n_target = static_cast<std::size_t>(*next++);
    for (std::size_t i = 0; i < n_target; ++i) each.targets.push_back(index_of(*next++));
    example.cases.push_back(std::move(each));
  }
  return example;
}

/// A stretch of a document's text, and where tokens lie in it, in characters.
class Excerpt {
 public:
  /// The query's sentence, or some tokens around it, with the other positions as far as they are
  /// not too far back.
  Excerpt(const ExampleDocument& document, Index query, const std::vector<Index>& others) {
    const Index n_token = document.token_text.size();
    first_ = query > tokens_before ? query - tokens_before : 1;
    end_ = std::min(n_token, query + tokens_after + 1);
    const Index sentence = document.sentence[query];
    if (sentence != no_position) {
      first_ = end_ = query;
      while (first_ > 1 && document.sentence[first_ - 1] == sentence) --first_;
      while (end_ < n_token && document.sentence[end_] == sentence) ++end_;
    }
    for (const Index other : others) {
      if (other != no_position && other > 0 && other + furthest_shown >= query) {
        first_ = std::min(first_, other);
      }
    }
    for (Index token = first_; token < end_; ++token) {
      const std::string text = one_line(document.token_text[token]);
      const bool blank = !text.empty() && text[0] == ' ';
      starts_.push_back(length_ + (blank && token > first_ ? 1 : 0));
      const std::string shown = blank && token == first_ ? text.substr(1) : text;
      length_ += character_count(shown);
      ends_.push_back(length_);
      joins_.push_back(!text.empty() && utf8::is_word_byte(text[0]));
      text_ += shown;
    }
  }

  const std::string& text() const { return text_; }
  bool has(Index token) const { return token >= first_ && token < end_; }
  double start(Index token) const { return has(token) ? place(starts_, token) : -1; }
  /// @param whole_word  the end of the word that the token begins.
  double end(Index token, bool whole_word) const {
    if (!has(token)) return -1;
    while (whole_word && has(token + 1) && joins_[token + 1 - first_]) ++token;
    return place(ends_, token);
  }

 private:
  double place(const std::vector<std::size_t>& places, Index token) const {
    return static_cast<double>(places[token - first_]);
  }

  Index first_ = 0, end_ = 0;
  std::size_t length_ = 0;
  std::string text_;
  std::vector<std::size_t> starts_, ends_;
  std::vector<bool> joins_;  // the token goes on with the word of the token before
};

/// The variables of the group, a row per example.
struct ExampleRows {
  std::vector<double> layer, head, document, found;
  std::vector<double> starts[3], ends[3];  // of query, target and attended
  std::vector<std::string> type, about, text, attended;
};

/// A case of a document with the target to show.
struct PlacedCase {
  std::uint64_t document;
  const ExampleDocument* example;
  const ExampleCase* found_in;
  Index target, attended;
  bool found;
};

class ExampleChooser {
 public:
  ExampleChooser(const Statistics& statistics, const ResultsGroup& group)
      : statistics_(statistics), group_(group) {
    const Shape& shape = group.values("type").shape;
    n_layer_ = shape[1];
    n_head_ = shape[2];
    for (std::uint64_t i = 0; i < n_example_document; ++i) {
      const std::uint64_t document = 2 * i + 1;
      if (!statistics.has(text_name, document)) continue;
      documents_.emplace(document, kept_example(statistics, document));
    }
  }

  ExampleRows choose() {
    for (std::size_t head_index = 0; head_index < n_layer_ * n_head_; ++head_index) {
      for (std::size_t i = 0; i < n_head_type; ++i) {
        const auto type = static_cast<HeadType>(i);
        if (is_of_type(group_, type, head_index))
          choose_of(type, HeadIndex::of(head_index, n_head_));
      }
    }
    return rows_;
  }

 private:
  /// A type of a head and what that label is about.
  struct Label {
    HeadType type;
    std::string about;     // as `type_about`
    Index offset = 0;      // of a positional head
    std::string relation;  // that a syntactic head claims
  };

  Label label_of(HeadType type, HeadIndex head) const {
    const Index head_index = head.flat(n_head_);
    const auto place = static_cast<std::size_t>(type) * n_layer_ * n_head_ + head_index;
    Label label{type, group_.variable("type_about").text[place], 0, ""};
    if (type == HeadType::positional) {
      label.offset = index_of(group_.values("positional_offset").values[head_index]);
    }
    if (type == HeadType::syntactic) {
      label.relation = relation_text(group_, passed_relations(group_, head_index).front());
    }
    return label;
  }

  /// What a head with the label seeks in a case.
  std::vector<Index> targets_of(const Label& label, std::uint64_t document, HeadIndex head,
                                const ExampleCase& each) const {
    const Index query = each.query;
    if (label.type == HeadType::suppressing) {
      const Array& lowered = statistics_.record(example_lowered, document);
      const Index key = index_of(lowered(head.layer, head.head, query));
      return key == no_position ? std::vector<Index>() : std::vector<Index>{key};
    }
    if (label.type == HeadType::positional || label.type == HeadType::current_token) {
      if (query < 1 + label.offset) return {};
      return {query - label.offset};
    }
    if (label.type != HeadType::long_range) return each.targets;
    // Keys as far back as the rule asks of the mean distance, for this query.
    const double furthest = static_cast<double>(query - 1),
                 threshold = long_range_threshold(furthest / 2, furthest);
    std::vector<Index> targets;
    for (Index key = 1; static_cast<double>(query - key) >= threshold; ++key) {
      targets.push_back(key);
    }
    return targets;
  }

  void choose_of(HeadType type, HeadIndex head) {
    const Label label = label_of(type, head);
    std::vector<PlacedCase> found, missed;
    for (const PlacedCase& each : cases_of(label, head)) {
      (each.found ? found : missed).push_back(each);
    }
    std::set<std::pair<std::uint64_t, Index>> used;
    add_first(found, most_found, head, label, used);
    add_first(missed, most_missed, head, label, used);
  }

  std::vector<PlacedCase> cases_of(const Label& label, HeadIndex head) const {
    const HeadType type = label.type;
    const bool at_any_query = type == HeadType::positional || type == HeadType::current_token ||
                              type == HeadType::long_range || type == HeadType::suppressing;
    const HeadType kind = at_any_query ? HeadType::positional : type;
    std::vector<PlacedCase> placed;
    for (const auto& [document, example] : documents_) {
      const Array& attended = statistics_.record(example_attended, document);
      for (std::size_t i = 0; i < example.cases.size(); ++i) {
        const ExampleCase& each = example.cases[i];
        if (each.type != kind || each.relation != label.relation) continue;
        // The excerpt must show the token that comes next.
        const std::vector<Index>& sentence = example.sentence;
        if (type == HeadType::copying && sentence[each.query + 1] != sentence[each.query]) continue;
        const std::vector<Index> targets = targets_of(label, document, head, each);
        if (targets.empty()) continue;
        const Index at = index_of(attended(head.layer, head.head, i));
        const bool found = std::ranges::find(targets, at) != targets.end();
        const Index target = found ? at : targets.back();
        // The sink is never shown.
        if (type != HeadType::sink && target + furthest_shown < each.query) continue;
        placed.push_back({document, &example, &each, target, at, found});
      }
    }
    return placed;
  }

  // Prefers sentences not used yet.
  void add_first(const std::vector<PlacedCase>& cases, std::size_t most, HeadIndex head,
                 const Label& label, std::set<std::pair<std::uint64_t, Index>>& used) {
    std::size_t n = 0;
    for (const PlacedCase& each : cases) {
      if (n == most) return;
      const Index query = each.found_in->query;
      const Index sentence = each.example->sentence[query];
      const Index place = sentence == no_position ? query / tokens_before : sentence;
      if (!used.emplace(each.document, place).second) continue;
      add(each, head, label);
      ++n;
    }
  }

  void add(const PlacedCase& each, HeadIndex head, const Label& label) {
    const Index query = each.found_in->query;
    // An induction head's target follows an earlier copy of the query, which is shown too.
    const Index copy = label.type == HeadType::induction ? each.target - 1 : no_position;
    const Excerpt excerpt(*each.example, query, {each.target, each.attended, copy});
    rows_.layer.push_back(static_cast<double>(head.layer));
    rows_.head.push_back(static_cast<double>(head.head));
    rows_.document.push_back(static_cast<double>(each.document));
    rows_.found.push_back(each.found ? 1 : 0);
    rows_.type.emplace_back(head_type_name(label.type));
    rows_.about.push_back(label.about);
    rows_.text.push_back(excerpt.text());
    const Index tokens[] = {query, each.target, each.attended};
    for (std::size_t i = 0; i < 3; ++i) {
      rows_.starts[i].push_back(excerpt.start(tokens[i]));
      rows_.ends[i].push_back(excerpt.end(tokens[i], each.found_in->word != no_position));
    }
    rows_.attended.push_back(
        each.attended == no_position ? "" : one_line(each.example->token_text[each.attended]));
  }

  const Statistics& statistics_;
  const ResultsGroup& group_;
  Index n_layer_ = 0, n_head_ = 0;
  std::map<std::uint64_t, ExampleDocument> documents_;
  ExampleRows rows_;
};

/// The key among 1 .. query-2, of another token than the query's, whose token is most similar; none
/// if there are fewer than 5.
std::vector<Index> most_similar(const ExampleSource& source, Index query) {
  std::vector<float> similarity(query + 1);
  source.similarity.column(query, similarity.data());
  Index best = no_position, n = 0;
  for (Index key = 1; key + 2 <= query; ++key) {
    if (source.tokens[key] == source.tokens[query]) continue;
    ++n;
    if (best == no_position || similarity[key] > similarity[best]) best = key;
  }
  if (n < least_semantic_keys) return {};
  return {best};
}

}  // namespace

bool is_example_document(std::uint64_t document) {
  return document % 2 == 1 && document / 2 < n_example_document;
}

std::vector<Index> token_sentences(const Piece& piece) {
  std::vector<Index> sentences(piece.tokens.size(), no_position);
  for (const Word& word : piece.words) {
    for (const Index token : word.tokens) sentences[token] = word.sentence;
  }
  for (Index token = 1; token < sentences.size(); ++token) {
    if (sentences[token] == no_position) sentences[token] = sentences[token - 1];
  }
  return sentences;
}

std::vector<ExampleCase> example_cases(const ExampleSource& source) {
  std::vector<ExampleCase> cases;
  const Index n_token = n_example_token(source.tokens.size());
  const auto add = [&](HeadType type, Index query, std::vector<Index> targets) {
    if (!targets.empty()) cases.push_back({type, "", query, std::move(targets), no_position});
  };
  for (Index query = 2; query < n_token; ++query) {
    cases.push_back({HeadType::positional, "", query, {}, no_position});
    add(HeadType::duplicate, query, source.copies[query]);
    std::vector<Index> delimiters, rare, successors;
    add(HeadType::sink, query, {0});
    add(HeadType::semantic, query, most_similar(source, query));
    for (Index key = 1; key <= query; ++key) {
      if (!source.is_punctuation.empty() && source.is_punctuation[key]) delimiters.push_back(key);
      if (source.rarest[query] == source.tokens[key]) rare.push_back(key);
    }
    for (const Index copy : source.copies[query]) successors.push_back(copy + 1);
    if (query + 1 < n_token) add(HeadType::copying, query, source.copies[query + 1]);
    add(HeadType::delimiter, query, delimiters);
    add(HeadType::rare, query, rare);
    add(HeadType::induction, query, successors);
  }
  const auto first_token = [&](Index word) { return source.words.tokens[word].front(); };
  const auto add_words = [&](HeadType type, const std::string& relation, Index word,
                             const std::vector<Index>& earlier) {
    std::vector<Index> targets(earlier.size());
    std::ranges::transform(earlier, targets.begin(), first_token);
    const Index query = first_token(word);
    if (query < n_token) cases.push_back({type, relation, query, std::move(targets), word});
  };
  for (const Arc& arc : source.words.arcs) {
    if (!is_scored_relation(arc.relation)) continue;
    add_words(HeadType::syntactic, arc_text(arc.relation, arc.direction), arc.later, {arc.earlier});
  }
  for (const CoreferenceQuery& reference : source.words.references) {
    if (!reference.is_pronoun || reference.antecedents.empty()) continue;
    add_words(HeadType::coreference, "", reference.word, reference.antecedents);
  }
  return cases;
}

Index attended_token(const ExampleCase& example, const Matrix& pattern,
                     const std::vector<Index>& largest_key, const std::vector<Index>& largest_word,
                     const WordStructure& words) {
  if (example.word == no_position) {
    const Index query = example.query, key = largest_key[query];
    const bool rests = example.type == HeadType::sink &&
                       (key == no_position || pattern(0, query) >= pattern(key, query));
    return rests ? 0 : key;
  }
  const Index word = largest_word[example.word];
  return word == no_position ? no_position : words.tokens[word].front();
}

void keep_example(const ExampleDocument& example, DocumentStatistics& statistics) {
  const auto keep = [&](const char* name, const std::vector<double>& values) {
    statistics.record(name, {values.size()}).values = values;
  };
  const Index n_token = n_example_token(example.token_text.size());
  const auto n = static_cast<std::ptrdiff_t>(n_token);
  statistics.texts(text_name) = {example.token_text.begin(), example.token_text.begin() + n};
  std::vector<double> sentence, cases;
  for (Index token = 0; token < n_token; ++token) {
    const Index each = example.sentence[token];
    sentence.push_back(each == no_position ? -1 : static_cast<double>(each));
  }
  std::vector<std::string> relations{""};
  for (const ExampleCase& each : example.cases) {
    const auto found = std::ranges::find(relations, each.relation);
    const auto place = static_cast<std::size_t>(found - relations.begin());
    if (found == relations.end()) relations.push_back(each.relation);
    append_case(each, place, cases);
  }
  statistics.texts(relations_name) = std::move(relations);
  keep(sentence_name, sentence);
  keep(cases_name, cases);
}

std::optional<ResultsGroup> examples_group(const Statistics& statistics,
                                           const ResultsGroup& group) {
  ExampleRows rows = ExampleChooser(statistics, group).choose();
  const std::size_t n = rows.text.size();
  if (n == 0) return std::nullopt;
  ResultsGroup examples;
  examples.name = group.name + "/examples";
  examples.title = "Examples of what heads do";
  examples.summary =
      "Places in the first documents of odd number where a head attends most to what its type "
      "says, "
      "and one where it does not.";
  examples.add_dimension(Dimension::count("example", n));
  const auto add = [&](const std::string& name, auto values) {
    examples.add(example_variables[name], std::move(values));
  };
  add("layer", std::move(rows.layer));
  add("head", std::move(rows.head));
  add("type", std::move(rows.type));
  add("about", std::move(rows.about));
  add("document", std::move(rows.document));
  add("text", std::move(rows.text));
  const std::string places[] = {"query", "target", "attended"};
  for (std::size_t i = 0; i < 3; ++i) {
    add(places[i] + "_start", std::move(rows.starts[i]));
    add(places[i] + "_end", std::move(rows.ends[i]));
  }
  add("attended", std::move(rows.attended));
  add("found", std::move(rows.found));
  return examples;
}

}  // namespace headscope
