#include "headscope/literature.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/number_text.hpp"
#include "headscope/results.hpp"
#include "results/literature_data.hpp"

namespace headscope {
namespace {

/// How the model was recognised; empty if it is another one.
std::string recognised(const Results& results, const nlohmann::json& model) {
  const std::string digest = results.text("model_sha256");
  for (const nlohmann::json& known : model["sha256"]) {
    if (known == digest) return "the digest of its file";
  }
  for (const auto& [name, value] : model["shape"].items()) {
    if (results.integer(name) != value.get<std::int64_t>()) return "";
  }
  const std::filesystem::path path = results.text("model_path");
  const std::string file = path.stem().string(), folder = path.parent_path().filename().string();
  const bool named = std::ranges::any_of(
      model["names"], [&](const nlohmann::json& name) { return name == file || name == folder; });
  return named ? "its shape and name" : "";
}

void measure(const Results& results, const std::string& group, bool smallest, PublishedRole& role) {
  if (!results.has(group) || !results.group(group).has(role.variable)) return;
  const Array& values = results.group(group).values(role.variable);
  const double value = values(role.head.layer, role.head.head);
  if (!std::isfinite(value)) return;
  role.value = value;
  role.rank = 1 + static_cast<Index>(std::ranges::count_if(values.values, [&](double other) {
                return smallest ? other < value : other > value;
              }));
}

}  // namespace

std::optional<bool> PublishedRole::agrees(Index n_head_total) const {
  if (rank == 0) return std::nullopt;
  return 10 * rank <= n_head_total;
}

std::optional<Literature> published_roles(const Results& results) {
  const nlohmann::json model = nlohmann::json::parse(gpt2_literature);
  Literature literature;
  literature.recognised_by = recognised(results, model);
  if (literature.recognised_by.empty()) return std::nullopt;
  literature.model = model["model"];
  const auto n_layer = results.integer("n_layer"), n_head = results.integer("n_head");
  literature.n_head_total = static_cast<Index>(n_layer.value_or(0) * n_head.value_or(0));
  for (const nlohmann::json& entry : model["roles"]) {
    PublishedRole role{{entry["layer"], entry["head"]},
                       entry["role"],
                       entry["source"],
                       entry.value("variable", "")};
    measure(results, model["variables_of_group"], entry.value("smallest", false), role);
    literature.roles.push_back(std::move(role));
  }
  return literature;
}

std::string role_text(const PublishedRole& role, Index n_head_total) {
  const std::string text = role.head.text() + ", " + role.role + " (" + role.source + "): ";
  const std::optional<bool> agrees = role.agrees(n_head_total);
  if (!agrees) return text + "not measured by this run";
  return text + role.variable + " " + number_text(role.value, 2) + ", rank " +
         std::to_string(role.rank) + " of " + std::to_string(n_head_total) +
         (*agrees ? "; agrees" : "; does not agree");
}

}  // namespace headscope
