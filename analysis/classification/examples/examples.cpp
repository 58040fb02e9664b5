#include "classification/examples/examples.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "excerpt.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

constexpr Index tokens_before = 12, tokens_after = 4;  // of an excerpt without sentences
constexpr Index furthest_shown = 40;                   // tokens from a target to the query

Declaration start_of(const std::string& place, const std::string& meaning) {
  return Declaration::integer(place + "_start", "example",
                              "Character of text where the first token of " + meaning +
                                  " begins; -1 if text does not contain it");
}

Declaration end_of(const std::string& place, const std::string& meaning) {
  return Declaration::integer(
      place + "_end", "example",
      "Character of text after the first token of " + meaning + "; -1 if text does not contain it");
}

const char *const attending = "the word or token that attends",
                  *const sought = "what a head of the type seeks",
                  *const attended_most = "what the head attends to most";

const VariableTable example_variables{
    Declaration::integer("layer", "example", "Layer of the head"),
    Declaration::integer("head", "example", "Number of the head in its layer"),
    {"type", "example", "1", "Type of the head"},
    {"about", "example", "1", "Offset, part of speech or relation of the example"},
    Declaration::integer("document", "example", "Number of the document"),
    {"text", "example", "1", "The sentence, or the tokens around the query"},
    start_of("query", attending),
    end_of("query", attending),
    start_of("target", sought),
    end_of("target", sought),
    start_of("attended", attended_most),
    end_of("attended", attended_most),
    {"attended", "example", "1", "The token that the head attends to most"},
    Declaration::flag("found", "example", {"no", "yes"},
                      "Whether the head attends most to what its type seeks"),
};

// Records and texts of a document.
constexpr const char *text_name = "example_text", *sentence_name = "example_sentence",
                     *class_name = "example_class", *choices_name = "example_choices",
                     *cases_name = "example_cases";

// Numbers of one case: type, choice's place among the texts, whether the sink counts, query, word,
// targets.
void append_case(const ExampleCase& example, std::size_t choice, std::vector<double>& numbers) {
  const auto add = [&](Index index) { numbers.push_back(recorded_position(index)); };
  add(example.type);
  add(choice);
  add(Index{example.includes_sink});
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
  for (const double number : statistics.record(class_name, document).values) {
    example.token_class.push_back(index_of(number));
  }
  const std::vector<std::string>& choices = statistics.texts(choices_name, document);
  const std::vector<double>& numbers = statistics.record(cases_name, document).values;
  for (auto next = numbers.begin(); next != numbers.end();) {
    ExampleCase shown;
    shown.type = index_of(*next++);
    shown.choice = choices[static_cast<std::size_t>(*next++)];
    shown.includes_sink = *next++ == 1;
    shown.query = index_of(*next++);
    shown.word = index_of(*next++);
    const auto n_target = static_cast<std::size_t>(*next++);
    for (std::size_t i = 0; i < n_target; ++i) shown.targets.push_back(index_of(*next++));
    example.cases.push_back(std::move(shown));
  }
  return example;
}

/// The query's sentence, or some tokens around it, with the other positions as far as they are not
/// too far back.
Excerpt example_excerpt(const ExampleDocument& document, Index query,
                        const std::vector<Index>& beside) {
  const Index n_token = document.token_text.size();
  Index first = query > tokens_before ? query - tokens_before : 1;
  Index end = std::min(n_token, query + tokens_after + 1);
  const Index sentence = document.sentence[query];
  if (sentence != no_position) {
    first = end = query;
    while (first > 1 && document.sentence[first - 1] == sentence) --first;
    while (end < n_token && document.sentence[end] == sentence) ++end;
  }
  for (const Index other : beside) {
    if (other != no_position && other > 0 && other + furthest_shown >= query) {
      first = std::min(first, other);
    }
  }
  return {document.token_text, first, end};
}

/// The variables of the group for one example.
struct ExampleRow {
  Index layer, head;
  std::uint64_t document;
  bool found;
  std::string type, about, text, attended;
  std::array<double, 3> starts, ends;  // of query, target and attended
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
  ExampleChooser(const HeadTypeList& types, const Statistics& statistics, const ResultsGroup& group)
      : types_(types), statistics_(statistics), group_(group) {
    const Shape& shape = group.values("type").shape;
    n_layer_ = shape[1];
    n_head_ = shape[2];
    for (std::uint64_t i = 0; i < n_example_document; ++i) {
      const std::uint64_t document = 2 * i + 1;
      if (!statistics.has(text_name, document)) continue;
      documents_.emplace(document, kept_example(statistics, document));
    }
  }

  std::vector<ExampleRow> choose() {
    const Array& is_type = group_.values("type");
    for (Index head_index = 0; head_index < n_layer_ * n_head_; ++head_index) {
      for (Index type = 0; type < types_.size(); ++type) {
        if (is_type.values[type * n_layer_ * n_head_ + head_index] == 1)
          choose_of(type, head_index);
      }
    }
    return rows_;
  }

 private:
  void choose_of(Index type, Index head_index) {
    std::vector<PlacedCase> found, missed;
    for (const PlacedCase& shown : cases_of(type, head_index)) {
      (shown.found ? found : missed).push_back(shown);
    }
    std::set<std::pair<std::uint64_t, Index>> used;
    add_first(found, most_found, head_index, type, used);
    add_first(missed, most_missed, head_index, type, used);
  }

  std::vector<PlacedCase> cases_of(Index type, Index head_index) const {
    const TypeExamples& examples = types_[type].examples;
    const Index kind = examples.cases ? type : no_position;
    const std::string choice = examples.choice ? examples.choice(group_, head_index) : "";
    const HeadIndex head = HeadIndex::of(head_index, n_head_);
    std::vector<PlacedCase> placed;
    for (const auto& [document, example] : documents_) {
      const Array& attended = statistics_.record(example_attended, document);
      const Array& lowered = statistics_.record(example_lowered, document);
      const SeenHead seen{group_, head_index, example, [&](Index query) {
                            return index_of(lowered(head.layer, head.head, query));
                          }};
      for (std::size_t i = 0; i < example.cases.size(); ++i) {
        const ExampleCase& shown = example.cases[i];
        if (shown.type != kind || shown.choice != choice) continue;
        const std::vector<Index> targets =
            examples.targets ? examples.targets(shown, seen) : shown.targets;
        if (targets.empty()) continue;
        const Index at = index_of(attended(head.layer, head.head, i));
        const bool found = std::ranges::find(targets, at) != targets.end();
        const Index target = found ? at : targets.back();
        // The sink is never shown.
        if (!shown.includes_sink && target + furthest_shown < shown.query) continue;
        placed.push_back({document, &example, &shown, target, at, found});
      }
    }
    return placed;
  }

  // Leaves out sentences that were used.
  void add_first(const std::vector<PlacedCase>& cases, std::size_t most, Index head_index,
                 Index type, std::set<std::pair<std::uint64_t, Index>>& used) {
    std::size_t n = 0;
    for (const PlacedCase& shown : cases) {
      if (n == most) return;
      const Index query = shown.found_in->query;
      const Index sentence = shown.example->sentence[query];
      const Index place = sentence == no_position ? query / tokens_before : sentence;
      if (!used.emplace(shown.document, place).second) continue;
      add(shown, head_index, type);
      ++n;
    }
  }

  void add(const PlacedCase& shown, Index head_index, Index type) {
    const Index query = shown.found_in->query;
    const HeadIndex head = HeadIndex::of(head_index, n_head_);
    const auto& also_shown = types_[type].examples.also_shown;
    const Index beside = also_shown ? also_shown(shown.target) : no_position;
    const Excerpt excerpt =
        example_excerpt(*shown.example, query, {shown.target, shown.attended, beside});
    ExampleRow& row = rows_.emplace_back(
        ExampleRow{head.layer,
                   head.head,
                   shown.document,
                   shown.found,
                   types_[type].name,
                   group_.texts("type_about")[type * n_layer_ * n_head_ + head_index],
                   excerpt.text(),
                   "",
                   {},
                   {}});
    if (shown.attended != no_position) {
      row.attended = Excerpt(shown.example->token_text, shown.attended, shown.attended + 1)
                         .text_of(shown.attended);
    }
    const Index tokens[] = {query, shown.target, shown.attended};
    for (std::size_t i = 0; i < 3; ++i) {
      row.starts[i] = excerpt.start(tokens[i]);
      const bool are_words = shown.found_in->word != no_position;
      row.ends[i] = are_words ? excerpt.word_end(tokens[i]) : excerpt.end(tokens[i]);
    }
  }

  const HeadTypeList& types_;
  const Statistics& statistics_;
  const ResultsGroup& group_;
  Index n_layer_ = 0, n_head_ = 0;
  std::map<std::uint64_t, ExampleDocument> documents_;
  std::vector<ExampleRow> rows_;
};

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

std::vector<ExampleCase> example_cases(const HeadTypeList& types, const ExampleSource& source) {
  std::vector<ExampleCase> cases;
  for (Index query = 2; query < source.n_token(); ++query) cases.push_back({.query = query});
  for (Index type = 0; type < types.size(); ++type) {
    if (!types[type].examples.cases) continue;
    for (ExampleCase& shown : types[type].examples.cases(source)) {
      shown.type = type;
      cases.push_back(std::move(shown));
    }
  }
  return cases;
}

Index attended_token(const ExampleCase& example, const Matrix& pattern,
                     const std::vector<Index>& largest_key, const std::vector<Index>& largest_word,
                     const WordStructure& words) {
  if (example.word == no_position) {
    const Index query = example.query, key = largest_key[query];
    const bool rests =
        example.includes_sink && (key == no_position || pattern(0, query) >= pattern(key, query));
    return rests ? 0 : key;
  }
  const Index word = largest_word[example.word];
  return word == no_position ? no_position : words.tokens[word].front();
}

std::uint64_t example_bytes(const RunShape& run, std::size_t n_type) {
  return std::min(n_example_document, (run.n_document + 1) / 2) * n_example_token(run.n_token) *
         n_type * run.n_head_total() * Statistics::row_bytes;
}

void keep_example(const ExampleDocument& example, DocumentStatistics& statistics) {
  const auto keep = [&](const char* name, const std::vector<double>& values) {
    statistics.record(name, {values.size()}).values = values;
  };
  const Index n_token = n_example_token(example.token_text.size());
  const auto n = static_cast<std::ptrdiff_t>(n_token);
  statistics.texts(text_name) = {example.token_text.begin(), example.token_text.begin() + n};
  std::vector<double> sentence, classes, cases;
  for (Index token = 0; token < n_token; ++token) {
    sentence.push_back(recorded_position(example.sentence[token]));
    classes.push_back(example.token_class.empty() ? -1
                                                  : recorded_position(example.token_class[token]));
  }
  std::vector<std::string> choices{""};
  for (const ExampleCase& shown : example.cases) {
    const auto found = std::ranges::find(choices, shown.choice);
    const auto place = static_cast<std::size_t>(found - choices.begin());
    if (found == choices.end()) choices.push_back(shown.choice);
    append_case(shown, place, cases);
  }
  statistics.texts(choices_name) = std::move(choices);
  keep(sentence_name, sentence);
  keep(class_name, classes);
  keep(cases_name, cases);
}

std::optional<ResultsGroup> examples_group(const HeadTypeList& types, const Statistics& statistics,
                                           const ResultsGroup& group) {
  const std::vector<ExampleRow> rows = ExampleChooser(types, statistics, group).choose();
  if (rows.empty()) return std::nullopt;
  ResultsGroup examples;
  examples.name = group.name + "/examples";
  examples.title = "Examples of what heads do";
  examples.summary =
      "For each head: places in the first odd-numbered documents where the head attends most to "
      "what its type seeks, and one place where it does not.";
  examples.add_dimension(Dimension::count("example", rows.size()));
  const auto add = [&](const std::string& name, auto of_row) {
    examples.add(example_variables[name], rows, of_row);
  };
  add("layer", &ExampleRow::layer);
  add("head", &ExampleRow::head);
  add("type", &ExampleRow::type);
  add("about", &ExampleRow::about);
  add("document", &ExampleRow::document);
  add("text", &ExampleRow::text);
  const std::string places[] = {"query", "target", "attended"};
  for (std::size_t i = 0; i < 3; ++i) {
    add(places[i] + "_start", [i](const ExampleRow& row) { return row.starts[i]; });
    add(places[i] + "_end", [i](const ExampleRow& row) { return row.ends[i]; });
  }
  add("attended", &ExampleRow::attended);
  add("found", &ExampleRow::found);
  return examples;
}

}  // namespace headscope
