#include "classification/explained/prototypes.hpp"

#include <algorithm>

#include "classification/tests/relations.hpp"
#include "classification/types/evidence.hpp"

namespace headscope {
namespace {

/// The tokens of `earlier` that are not after the query.
std::vector<Index> keys_before(const std::vector<Index>& earlier, Index query) {
  std::vector<Index> keys;
  std::ranges::copy_if(earlier, std::back_inserter(keys), [&](Index key) { return key <= query; });
  return keys;
}

void add_word_pair(const WordStructure& words, Index later, Index earlier, PrototypeKeys& keys) {
  for (const Index query : words.tokens[later]) {
    keys[query] = keys_before(words.tokens[earlier], query);
  }
}

void add_words(const Prototype& prototype, const WordStructure& words, PrototypeKeys& keys) {
  if (prototype.type == HeadType::positional) {
    for (Index later = prototype.offset; later < words.tokens.size(); ++later) {
      add_word_pair(words, later, later - prototype.offset, keys);
    }
  }
  if (prototype.type == HeadType::syntactic) {
    for (const Arc& arc : words.arcs) {
      if (arc.relation != prototype.relation || arc.direction != prototype.direction) continue;
      add_word_pair(words, arc.later, arc.earlier, keys);
    }
  }
  if (prototype.type == HeadType::coreference) {
    for (const CoreferenceQuery& reference : words.references) {
      add_word_pair(words, reference.word, reference.antecedents.back(), keys);
    }
  }
}

/// The one key of a query; no_position where the type says nothing.
Index token_key(const Prototype& prototype, const PrototypeSource& source, Index query) {
  switch (prototype.type) {
    case HeadType::positional:
      return query >= prototype.offset ? query - prototype.offset : no_position;
    case HeadType::current_token:
      return query;
    case HeadType::sink:
      return 0;
    case HeadType::duplicate:
      return source.copies[query].empty() ? no_position : source.copies[query].back();
    case HeadType::induction:
      for (auto copy = source.copies[query].rbegin(); copy != source.copies[query].rend(); ++copy) {
        if (*copy + 1 < query) return *copy + 1;
      }
      return no_position;
    case HeadType::delimiter:
    case HeadType::rare:
      for (Index key = query; key >= 1; --key) {
        const bool is_sought = prototype.type == HeadType::rare
                                   ? source.rarest[query] == source.tokens[key]
                                   : !source.is_punctuation.empty() && source.is_punctuation[key];
        if (is_sought) return key;
      }
      return no_position;
    default:
      return no_position;
  }
}

/// Of a syntactic head, its relation's number by relation and direction.
std::size_t relation_number(const ResultsGroup& group, std::size_t head_index) {
  const auto value = [&](const char* name) {
    return static_cast<std::size_t>(group.values(name).values[head_index]);
  };
  return 2 * value("syntactic_relation") + value("syntactic_direction");
}

}  // namespace

PrototypeKeys prototype_keys(const Prototype& prototype, const PrototypeSource& source) {
  PrototypeKeys keys(source.tokens.size());
  const bool between_words = prototype.in_words || prototype.type == HeadType::syntactic ||
                             prototype.type == HeadType::coreference;
  if (between_words) {
    add_words(prototype, source.words, keys);
    return keys;
  }
  for (Index query = 0; query < keys.size(); ++query) {
    const Index key = token_key(prototype, source, query);
    if (key != no_position) keys[query] = {key};
  }
  return keys;
}

std::optional<Prototype> label_prototype(const ResultsGroup& group, HeadType type,
                                         std::size_t head_index) {
  Prototype prototype{.type = type};
  switch (type) {
    case HeadType::semantic:
    case HeadType::long_range:
    case HeadType::copying:
    case HeadType::suppressing:
      return std::nullopt;
    case HeadType::positional:
      prototype.offset = static_cast<Index>(group.values("positional_offset").values[head_index]);
      return prototype;
    case HeadType::syntactic: {
      const std::size_t number = relation_number(group, head_index);
      prototype.relation = group.labels("relation")[number / 2];
      prototype.direction = static_cast<ArcDirection>(number % 2);
      return prototype;
    }
    default:
      return prototype;
  }
}

Prototype control_prototype(const ResultsGroup& group, HeadType type, std::size_t head_index) {
  std::vector<Prototype> rivals;
  if (type == HeadType::syntactic && group.has("relation_offset")) {
    const double offset =
        group.values("relation_offset").values[relation_number(group, head_index)];
    if (offset > 0) {
      rivals.push_back(
          {.type = HeadType::positional, .offset = static_cast<Index>(offset), .in_words = true});
    }
  }
  if (type == HeadType::induction) rivals.push_back({.type = HeadType::duplicate});
  if (type == HeadType::duplicate) rivals.push_back({.type = HeadType::induction});
  if (type == HeadType::positional) rivals.push_back({.type = HeadType::current_token});
  rivals.push_back({.type = HeadType::positional, .offset = 1});
  rivals.push_back({.type = HeadType::current_token});
  for (const Prototype& rival : rivals) {
    if (rival.type != type && !is_of_type(group, rival.type, head_index)) return rival;
  }
  return {.type = type == HeadType::sink ? HeadType::duplicate : HeadType::sink};
}

std::string prototype_text(const Prototype& prototype) {
  switch (prototype.type) {
    case HeadType::positional:
      if (prototype.in_words) {
        return prototype.offset == 1 ? "the word before"
                                     : "the word " + std::to_string(prototype.offset) + " before";
      }
      return prototype.offset == 1 ? "the previous token"
                                   : "the token " + std::to_string(prototype.offset) + " before";
    case HeadType::current_token:
      return "the token itself";
    case HeadType::delimiter:
      return "the nearest punctuation";
    case HeadType::syntactic:
      return "the other end of " + arc_text(prototype.relation, prototype.direction);
    case HeadType::coreference:
      return "the nearest antecedent";
    case HeadType::duplicate:
      return "the last copy";
    case HeadType::induction:
      return "the token after the last copy";
    case HeadType::rare:
      return "the rarest token";
    case HeadType::sink:
      return "the first position";
    default:
      return "";
  }
}

void fill_prototype(const PrototypeKeys& keys, const std::vector<double>& row, double sink,
                    Matrix& pattern) {
  pattern.zeros();
  for (Index query = 0; query < keys.size(); ++query) {
    float* const weights = pattern.colptr(query);
    for (const Index key : keys[query])
      weights[key] = 1.0F / static_cast<float>(keys[query].size());
    if (!keys[query].empty()) continue;
    double sum = 0;
    for (Index distance = 0; distance < query; ++distance) sum += row[distance];
    const double scale = sum > 0 ? (1 - sink) / sum : 0;
    weights[0] = sum > 0 ? static_cast<float>(sink) : 1;
    for (Index distance = 0; distance < query; ++distance) {
      weights[query - distance] = static_cast<float>(scale * row[distance]);
    }
  }
}

}  // namespace headscope
