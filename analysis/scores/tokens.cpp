#include "scores/tokens.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

enum class ByteClass : unsigned char { other, space, punctuation };

/// Marks the bytes of every match of `pattern` in `text`.
void mark_matches(const UnicodePattern& pattern, const std::string& text, ByteClass mark,
                  std::vector<ByteClass>& classes) {
  UnicodePattern::Search search(pattern, text);
  for (auto match = search.next(0); match; match = search.next(match->second)) {
    std::fill(classes.begin() + static_cast<std::ptrdiff_t>(match->first),
              classes.begin() + static_cast<std::ptrdiff_t>(match->second), mark);
  }
}

}  // namespace

void count_tokens(const Piece& piece, Array& counts) {
  for (const TokenId token : piece.tokens) {
    if (token < 0 || static_cast<std::size_t>(token) >= counts.size()) {
      throw ShapeError("token ids of document " + piece.id + ": expected below " +
                       std::to_string(counts.size()) + ", got " + std::to_string(token));
    }
    ++counts(token);
  }
}

std::vector<unsigned char> punctuation_tokens(const Piece& piece) {
  if (piece.token_text.empty()) return {};
  const Index n_token = piece.tokens.size();
  const Index first = piece.has_bos ? 1 : 0;
  std::string text;
  for (Index t = first; t < n_token; ++t) text += piece.token_text[t];
  std::vector<ByteClass> classes(text.size(), ByteClass::other);
  text = with_placeholders(text);
  static const UnicodePattern punctuation(R"(\p{P}+)"), space(R"(\s+)");
  mark_matches(punctuation, text, ByteClass::punctuation, classes);
  mark_matches(space, text, ByteClass::space, classes);

  std::vector<unsigned char> is_punctuation(n_token, 0);
  auto byte = classes.begin();
  for (Index t = first; t < n_token; ++t) {
    const auto end = byte + static_cast<std::ptrdiff_t>(piece.token_text[t].size());
    const bool any = std::find(byte, end, ByteClass::punctuation) != end;
    const bool pure = std::find(byte, end, ByteClass::other) == end;
    is_punctuation[t] = any && pure ? 1 : 0;
    byte = end;
  }
  return is_punctuation;
}

Ratio delimiter_share(const Matrix& pattern, const std::vector<unsigned char>& is_punctuation) {
  Ratio share;
  for (Index q = 2; q < pattern.n_cols; ++q) {
    const float* weights = pattern.colptr(q);
    const unsigned char* marks = is_punctuation.data();
    double marked = 0;
    double mass = 0;
#pragma omp simd reduction(+ : marked, mass)
    for (Index k = 1; k <= q; ++k) {
      mass += weights[k];
      marked += marks[k] != 0 ? static_cast<double>(weights[k]) : 0.0;
    }
    share += {marked, mass};
  }
  return share;
}

Ratio delimiter_baseline(const std::vector<unsigned char>& is_punctuation) {
  Ratio share;
  double marked = is_punctuation.size() > 1 ? is_punctuation[1] : 0;
  for (Index q = 2; q < is_punctuation.size(); ++q) {
    marked += is_punctuation[q];
    share += {marked, static_cast<double>(q)};
  }
  return share;
}

std::vector<std::vector<Index>> earlier_copies(const TokenIds& tokens) {
  std::vector<std::vector<Index>> copies(tokens.size());
  std::unordered_map<TokenId, std::vector<Index>> seen;
  for (Index t = 1; t < tokens.size(); ++t) {
    std::vector<Index>& positions = seen[tokens[t]];
    copies[t] = positions;
    positions.push_back(t);
  }
  return copies;
}

Ratio duplicate_token_mass(const Matrix& pattern, const std::vector<std::vector<Index>>& copies) {
  Ratio mass;
  for (Index q = 2; q < pattern.n_cols; ++q) {
    if (copies[q].empty()) continue;
    double on_copies = 0;
    for (const Index k : copies[q]) on_copies += pattern(k, q);
    mass += {on_copies, 1};
  }
  return mass;
}

Ratio after_copies_mass(const Matrix& pattern, const std::vector<std::vector<Index>>& copies) {
  Ratio mass;
  for (Index q = 2; q < pattern.n_cols; ++q) {
    double after = 0;
    bool any = false;
    for (const Index k : copies[q]) {
      if (k + 1 == q) continue;
      after += pattern(k + 1, q);
      any = true;
    }
    if (any) mass += {after, 1};
  }
  return mass;
}

std::vector<std::optional<TokenId>> rarest_tokens(const TokenIds& tokens,
                                                  const std::vector<double>& counts) {
  std::vector<std::optional<TokenId>> rarest(tokens.size());
  if (tokens.size() < 2) return rarest;
  const auto count_of = [&](TokenId token) { return counts.at(static_cast<std::size_t>(token)); };
  TokenId least = tokens[1];
  bool tied = false;
  for (Index t = 2; t < tokens.size(); ++t) {
    if (count_of(tokens[t]) < count_of(least)) {
      least = tokens[t];
      tied = false;
    } else if (tokens[t] != least && count_of(tokens[t]) == count_of(least)) {
      tied = true;
    }
    if (!tied) rarest[t] = least;
  }
  return rarest;
}

Ratio rare_token_share(const std::vector<Index>& largest, const TokenIds& tokens,
                       const std::vector<std::optional<TokenId>>& rarest) {
  Ratio share;
  for (Index q = 2; q < largest.size(); ++q) {
    if (rarest[q]) share += {tokens[largest[q]] == *rarest[q] ? 1.0 : 0.0, 1};
  }
  return share;
}

}  // namespace headscope
