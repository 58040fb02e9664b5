#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "report_text.hpp"
#include "score_model/score_results.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_terms = 4, most_families = 3;
constexpr double least_share = 0.02;  // of a term in the sum of all terms' pulls

const std::map<std::string, std::string> feature_words{
    {"offset_0", "itself"},
    {"offset_1", "the token before"},
    {"log_distance", "keys for each unit of ln(1 + distance)"},
    {"distance", "keys for each 100 tokens of distance"},
    {"same_sentence", "the same sentence"},
    {"same_word", "the same word"},
    {"begins_word", "tokens that begin a word"},
    {"first_of_sentence", "the first token of a sentence"},
    {"last_of_sentence", "the last token of a sentence"},
    {"latest_punctuation", "the latest punctuation"},
    {"same_token", "earlier copies of its token"},
    {"after_copy", "tokens after an earlier copy"},
    {"after_copy_latest", "the token after the latest copy"},
    {"after_copy_2", "tokens after a copy of the last two tokens"},
    {"before_copy", "tokens before an earlier copy"},
    {"capital", "tokens with a capital"},
    {"log_frequency", "frequent tokens (for each 5 units of ln)"},
    {"sibling", "words with the same head"},
    {"same_entity", "words of the same entity"},
    {"latest_mention", "the latest mention of its entity"},
    {"similarity", "tokens of similar embedding"},
    {"similarity_before", "tokens after one of similar embedding"},
    {"lexical", "each unit of its own score out of context"},
};

std::string words_of_feature(const std::string& name) {
  const auto found = feature_words.find(name);
  if (found != feature_words.end()) return found->second;
  if (name.starts_with("offset_")) return "the token " + name.substr(7) + " before";
  if (name.starts_with("upos_")) return "words of class " + name.substr(5);
  if (name.starts_with("user_")) return name.substr(5);
  if (name.ends_with("_to_head")) return "the head of its " + name.substr(0, name.size() - 8);
  return "its dependent by " + name.substr(0, name.size() - std::string("_to_dependent").size());
}

/// Families by which the head may attend, the largest gain first.
std::vector<std::string> measurable_families(const ResultsGroup& group, std::size_t head,
                                             std::size_t n_head_total, Index d_model) {
  const Variable& gain = group.variable("family_gain");
  const double divergence = group.values("divergence_beyond_sink").values[head];
  const std::vector<std::string>& names = group.labels("family");
  std::vector<std::pair<double, std::string>> found;
  for (std::size_t family = 0; family < names.size(); ++family) {
    const Estimate found_gain = gain.estimate(family * n_head_total + head);
    if (!found_gain.is_above(least_family_gain)) continue;
    if (names[family] == "lexical" && divergence < least_lexical_divergence(d_model)) continue;
    found.emplace_back(found_gain.value, names[family]);
  }
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const auto& found_gain) { return found_gain.first; });
  found.resize(std::min(found.size(), most_families));
  std::vector<std::string> families;
  for (const auto& [value, name] : found) families.push_back(name);
  return families;
}

/// The terms that pull the model furthest from uniform attention, and of each of the families the
/// one that pulls furthest or, if all pull back, least.
std::string largest_terms(const ResultsGroup& group, std::size_t head, std::size_t n_head_total,
                          const std::vector<std::string>& families) {
  const std::vector<std::string>&names = group.labels("feature"),
        &family_of = group.texts("feature_family");
  const Array &pulls = group.values("coefficient_pull"), &coefficient = group.values("coefficient");
  const auto pull = [&](std::size_t f) { return pulls.values[f * n_head_total + head]; };
  double sum = 0;
  std::vector<std::size_t> order;
  for (std::size_t f = 1; f < names.size(); ++f) {
    sum += std::max(pull(f), 0.0);
    order.push_back(f);
  }
  std::ranges::stable_sort(order, std::ranges::greater(), pull);
  const auto leads_family = [&](std::size_t f) {
    const auto first =
        std::ranges::find(order, family_of[f], [&](std::size_t i) { return family_of[i]; });
    return *first == f && std::ranges::count(families, family_of[f]) > 0;
  };
  std::vector<std::size_t> shown;
  std::ranges::copy_if(order, std::back_inserter(shown), leads_family);
  for (const std::size_t f : order) {
    if (shown.size() < most_terms && pull(f) >= least_share * sum && !leads_family(f)) {
      shown.push_back(f);
    }
  }
  std::ranges::stable_sort(shown, std::ranges::greater(), pull);
  std::vector<std::string> terms;
  for (const std::size_t f : shown) {
    const std::string logits = number_text(coefficient.values[f * n_head_total + head], 2);
    terms.push_back(signed_text(logits) + (terms.empty() ? " logits" : "") + " to " +
                    words_of_feature(names[f]));
  }
  return joined(terms, ", ");
}

/// `; the model keeps 98 % of the head's effect on the loss (with position alone 94 %, with the
/// features of the label none)`.
std::string effect_part(const ResultsGroup& group, std::size_t head, std::size_t n_head_total) {
  if (!group.has("effect_explained")) return "";
  const Array& effect = group.values("effect_explained");
  const auto kept = [&](const char* step) {
    return effect.values[group.dimension("step").index_of(step) * n_head_total + head];
  };
  if (std::isnan(kept("full"))) return "";
  const auto share = [&](const char* step) {
    return kept(step) > 0 ? percent(kept(step)) : std::string("none");
  };
  return "; the model keeps " + share("full") +
         " of the head's effect on the loss (with position alone " + share("position") +
         (std::isnan(kept("label")) ? "" : ", with the features of the label " + share("label")) +
         ")";
}

std::string attended_part(const ResultsGroup& group, std::size_t head,
                          const std::vector<std::string>& families, bool by_several,
                          bool has_interval) {
  if (!families.empty()) {
    return "Attends by " + enumeration(families, [&](const std::string& family) {
             return family_words_of_head(group, family, head);
           });
  }
  if (!has_interval) return "Without intervals the run cannot tell what the head attends by";
  if (!by_several) return "Attends by no measurable family of features";
  return "Attends by several families of features: without any one of them its model still "
         "explains more than half as much";
}

/// ` (position alone 94 %, all but the two tokens alone 98 %)`.
std::string explained_part(const ResultsGroup& group, std::size_t head, std::size_t n_head_total) {
  const auto share = [&](const char* step) {
    const double explained =
        group.values("deviance_explained_beyond_sink")
            .values[group.dimension("step").index_of(step) * n_head_total + head];
    return explained > 0 ? percent(explained) : std::string("nothing");
  };
  return " (position alone " + share("position") + ", all but the two tokens alone " +
         share("features") + ")";
}

}  // namespace

bool has_parts_of_speech(const ResultsGroup& group) {
  return std::ranges::any_of(group.labels("feature"), [](const std::string& feature) {
    return feature.starts_with("upos_");
  });
}

std::string family_words(const ResultsGroup& group, const std::string& family) {
  if (family == "lexical") return "the two tokens alone";
  if (family == "user") return "your features";
  if (family != "word_class") return spaced(family);
  if (has_parts_of_speech(group)) return "word class or frequency";
  return group.dimension("feature").place_of("capital") ? "capitals and frequency"
                                                        : "token frequency";
}

std::string family_words_of_head(const ResultsGroup& group, const std::string& family,
                                 std::size_t head_index) {
  if (family != "word_class" || !group.has("coefficient_pull")) return family_words(group, family);
  const Array& pulls = group.values("coefficient_pull");
  const std::size_t n_head_total = pulls.size() / pulls.shape[0];
  const std::vector<std::string>& names = group.labels("feature");
  const std::vector<std::size_t> features = numbers_where(
      names.size(), [&](std::size_t f) { return group.texts("feature_family")[f] == family; });
  if (features.empty()) return family_words(group, family);
  const std::string& leading = names[*std::ranges::max_element(
      features, {}, [&](std::size_t f) { return pulls.values[f * n_head_total + head_index]; })];
  if (leading == "log_frequency") return "frequency of the key's token";
  return leading == "capital" ? "capital of the key's token" : "word class";
}

void add_head_texts(Index d_model, ResultsGroup& group) {
  const auto full = group.dimension("step").index_of("full");
  const std::vector<double> explained =
      group.values("deviance_explained_beyond_sink").part(full).values;
  std::vector<std::string> texts(explained.size());
  for (std::size_t head = 0; head < explained.size(); ++head) {
    if (std::isnan(explained[head])) continue;
    const std::vector<std::string> families =
        measurable_families(group, head, explained.size(), d_model);
    const bool by_several = attends_by_several_families(group, head);
    const std::string terms = largest_terms(group, head, explained.size(), families);
    texts[head] = attended_part(group, head, families, by_several, has_gain_interval(group, head)) +
                  (terms.empty() ? "" : ". The largest terms of its model: " + terms) +
                  ". All features explain " + percent(explained[head]) +
                  " of its attention beyond the first token on held-out text" +
                  (by_several ? explained_part(group, head, explained.size()) : "") +
                  effect_part(group, head, explained.size()) + ".";
  }
  group.add(score_variables()["attends_text"], std::move(texts));
}

}  // namespace headscope
