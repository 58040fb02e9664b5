#include "base/label_text.hpp"
#include "report/report_heads.hpp"
#include "report/script_json.hpp"

namespace headscope {

using nlohmann::json;

json predictions(const Results& results, const HeadShape& shape) {
  for (const ResultsGroup& group : results.groups) {
    const Variable* const text = group.find("candidate_text");
    const Variable* const probability = group.find("candidate_probability");
    const Variable* const logit = group.find("candidate_logit");
    const Variable* const effect = group.find("candidate_effect");
    if (text == nullptr || probability == nullptr || logit == nullptr || effect == nullptr)
      continue;
    const std::size_t count = text->text.size();
    if (probability->values.shape.size() != 2 || probability->values.size() != count ||
        logit->values.size() != count || effect->values.size() != count * shape.n_head_total()) {
      continue;
    }
    std::vector<std::string> labels;
    for (const std::string& token_text : text->text) {
      labels.push_back(token_text.empty() ? "" : token_label(token_text, "a"));  // after a word
    }
    return {{"candidates", probability->values.shape[1]},
            {"labels", json_texts(labels)},
            {"probability", json_numbers(probability->values.values)},
            {"logit", json_numbers(logit->values.values)},
            {"effect", packed_numbers(effect->values.values)}};
  }
  return nullptr;
}

json neurons(const Results& results, const HeadShape& shape) {
  for (const ResultsGroup& group : results.groups) {
    const Variable* const query = group.find("query");
    const Variable* const key = group.find("key");
    if (query == nullptr || key == nullptr) continue;
    const Shape& extents = query->values.shape;
    if (extents.size() != 4 || extents != key->values.shape || extents[0] != shape.n_layer ||
        extents[1] != shape.n_head) {
      continue;
    }
    return {{"tokens", extents[2]},
            {"size", extents[3]},
            {"query", packed_numbers(query->values.values)},
            {"key", packed_numbers(key->values.values)}};
  }
  return nullptr;
}

}  // namespace headscope
