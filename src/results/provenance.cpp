#include "headscope/provenance.hpp"

#include <ctime>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "headscope/version.hpp"

namespace headscope {
namespace {

std::string utc_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::string recorded_text(const std::string& text) {
  return utf8::valid_prefix(text) == text.size() ? text : escaped_utf8(text);
}

void add_program(Results& results, const std::string& title) {
  results.attributes["title"] = title;
  results.attributes["version"] = version();
  results.attributes["git_commit"] = git_commit();
  results.attributes["date"] = utc_date();
}

std::string first_token_of(const Results& results) {
  const std::string text = results.text("first_token");
  return text.substr(0, text.rfind(" ("));
}

void add_model(Results& results, const Model& model) {
  auto& attributes = results.attributes;
  attributes["model_path"] = recorded_text(model.path);
  attributes["model_sha256"] = model.sha256;
  const ModelConfig& config = model.config;
  const auto count = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  attributes["architecture"] = config.architecture;
  attributes["n_layer"] = count(config.n_layer);
  attributes["n_head"] = count(config.n_head);
  attributes["n_kv_head"] = count(config.n_group());
  attributes["positions"] =
      std::string(config.positions == PositionKind::rotary ? "rotary" : "learned");
  attributes["d_model"] = count(config.d_model);
  attributes["d_head"] = count(config.d_head());
  attributes["d_mlp"] = count(config.d_mlp);
  attributes["n_ctx"] = count(config.n_ctx);
  attributes["d_vocab"] = count(config.d_vocab);
  attributes["activation"] = std::string(activation_name(config.activation));
  const std::string pruned = joined(config.pruned_heads, ",", &HeadIndex::text);
  if (!pruned.empty()) attributes["pruned_heads"] = pruned;
}

}  // namespace headscope
