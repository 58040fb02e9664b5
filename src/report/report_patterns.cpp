#include "report/report_patterns.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "headscope/number_text.hpp"
#include "headscope/utf8.hpp"

namespace headscope {
namespace {

std::string base64(const std::vector<unsigned char>& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                  static_cast<int>(bytes.size()));
  return text;
}

unsigned char quantised(double weight) {
  if (!(weight > 0)) return 0;
  return static_cast<unsigned char>(std::lround(255 * std::sqrt(std::min(weight, 1.0))));
}

bool holds_patterns(const ResultsGroup& group, const HeadShape& shape) {
  const std::string pattern(contract::pattern);
  if (!group.name.starts_with(contract::pattern_groups) || !group.has(pattern)) return false;
  const Shape& extents = group.variable(pattern).values.shape;
  return extents.size() == 4 && extents[0] == shape.n_layer && extents[1] == shape.n_head &&
         extents[2] == extents[3] && extents[2] > 0;
}

// The largest n with n (n + 1) / 2 weights a head within the budget.
std::size_t most_tokens(std::size_t n_document, const HeadShape& shape) {
  const double n_weight =
      static_cast<double>(most_pattern_bytes) / static_cast<double>(n_document * shape.n_unit());
  return std::max<std::size_t>(2, static_cast<std::size_t>((std::sqrt(8 * n_weight + 1) - 1) / 2));
}

std::vector<std::string> token_labels(const ResultsGroup& group, std::size_t n_token) {
  std::vector<std::string> labels;
  const std::string text(contract::token_text), ids(contract::token_ids);
  if (group.has(text)) {
    for (const std::string& token : group.variable(text).text) labels.push_back(one_line(token));
  } else if (group.has(ids)) {
    for (const double id : group.variable(ids).values.values) {
      labels.push_back(number_text(id, 0) + " ");
    }
  }
  labels.resize(n_token, "?");
  return labels;
}

std::string packed_pattern(const Array& pattern, const HeadShape& shape, std::size_t n_token) {
  std::vector<unsigned char> bytes;
  bytes.reserve(shape.n_unit() * n_token * (n_token + 1) / 2);
  for (std::size_t layer = 0; layer < shape.n_layer; ++layer) {
    for (std::size_t head = 0; head < shape.n_head; ++head) {
      for (std::size_t query = 0; query < n_token; ++query) {
        for (std::size_t key = 0; key <= query; ++key) {
          bytes.push_back(quantised(pattern(layer, head, query, key)));
        }
      }
    }
  }
  return base64(bytes);
}

}  // namespace

nlohmann::json pattern_documents(const Results& results, const HeadShape& shape) {
  std::vector<const ResultsGroup*> groups;
  for (const ResultsGroup& group : results.groups) {
    if (holds_patterns(group, shape) && groups.size() < most_pattern_documents) {
      groups.push_back(&group);
    }
  }
  nlohmann::json documents = nlohmann::json::array();
  for (const ResultsGroup* group : groups) {
    const Array& pattern = group->variable(std::string(contract::pattern)).values;
    const std::size_t n_token = std::min(pattern.shape[2], most_tokens(groups.size(), shape));
    documents.push_back({{"title", one_line(group->title.empty() ? group->name : group->title)},
                         {"of", pattern.shape[2]},
                         {"tokens", token_labels(*group, n_token)},
                         {"pattern", packed_pattern(pattern, shape, n_token)}});
  }
  return documents;
}

}  // namespace headscope
