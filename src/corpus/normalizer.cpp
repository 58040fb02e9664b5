#include "corpus/normalizer.hpp"

#include <algorithm>

#include "base/normal_form.hpp"
#include "base/utf8.hpp"

namespace headscope {
namespace {

/// A text being changed: parts are taken from the old one, or put in their place.
class ChangedText {
 public:
  explicit ChangedText(const NormalizedText& old) : old_(old) {}

  void keep(std::size_t begin, std::size_t end) {
    new_.bytes.append(old_.bytes, begin, end - begin);
    new_.well_formed.append(old_.well_formed, begin, end - begin);
    new_.origins.insert(new_.origins.end(), old_.origins.begin() + begin,
                        old_.origins.begin() + end);
  }
  /// @param text  takes the place of [begin, end), which may be empty.
  void put(std::string_view text, std::size_t begin, std::size_t end) {
    new_.bytes += text;
    new_.well_formed += text;
    new_.origins.insert(new_.origins.end(), text.size(), old_.origin({begin, end}));
  }
  NormalizedText finish() { return std::move(new_); }

 private:
  const NormalizedText& old_;
  NormalizedText new_;
};

/// Bytes of the characters that both begin with.
std::size_t same_characters(std::string_view a, std::string_view b) {
  auto n = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  while (n > 0 && ((n < a.size() && utf8::is_continuation(a[n])) ||
                   (n < b.size() && utf8::is_continuation(b[n])))) {
    --n;
  }
  return n;
}

}  // namespace

ByteSpan NormalizedText::origin(ByteSpan part) const {
  const auto [begin, end] = part;
  if (begin == end) {
    const std::size_t place = begin < origins.size() ? origins[begin].first
                              : begin == 0           ? 0
                                                     : origins.back().second;
    return {place, place};
  }
  return {origins[part.first].first, origins[part.second - 1].second};
}

bool Normalizer::has(Kind kind) const {
  return std::ranges::any_of(steps_, [&](const Step& step) { return step.kind == kind; });
}

bool Normalizer::composes() const {
  return has(Kind::compose);
}

bool Normalizer::prepends() const {
  return has(Kind::prepend);
}

std::string Normalizer::space_mark() const {
  for (const Step& step : steps_) {
    if (step.kind == Kind::mark_spaces) return step.prefix.text;
  }
  return "";
}

NormalizedText Normalizer::apply(std::string_view text, std::string_view well_formed,
                                 Place place) const {
  NormalizedText result{std::string(text), std::string(well_formed), {}};
  result.origins.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) result.origins.emplace_back(i, i + 1);
  for (const Step& step : steps_) {
    ChangedText changed(result);
    const std::string &bytes = result.bytes, &added = step.prefix.text;
    switch (step.kind) {
      case Kind::compose:
        compose_canonically(
            result.well_formed, [&](std::size_t begin, std::size_t end, std::string_view composed) {
              const auto before = std::string_view(result.well_formed).substr(begin, end - begin);
              const std::size_t n_same = same_characters(before, composed);
              changed.keep(begin, begin + n_same);
              changed.put(composed.substr(n_same), begin + n_same, end);
            });
        break;
      case Kind::prepend:
        if (!bytes.empty() && !place.continues &&
            (place.begins_document || !step.prefix.first_alone) &&
            !(step.prefix.if_missing && bytes.starts_with(added))) {
          changed.put(added, 0, 0);
        }
        changed.keep(0, bytes.size());
        break;
      case Kind::mark_spaces:
        for (std::size_t begin = 0; begin < bytes.size();) {
          const std::size_t space = std::min(bytes.find(' ', begin), bytes.size());
          changed.keep(begin, space);
          if (space < bytes.size()) changed.put(added, space, space + 1);
          begin = space + 1;
        }
        break;
    }
    result = changed.finish();
  }
  return result;
}

}  // namespace headscope
