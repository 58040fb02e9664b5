// Measures one case of Headscope for bench/compare_huggingface.py, which documents the options and
// the JSON line printed.
#include "headscope/ablation.hpp"
#include "headscope/attention.hpp"
#include "headscope/gradient.hpp"
#include "program.hpp"

namespace headscope::bench {
namespace {

struct Arguments {
  int runs = 1;
  Precision precision = Precision::float32;
  ComputeContext context = {};
};

Precision precision_of(const std::string& name) {
  const std::optional<Precision> precision = parse_precision(name);
  if (!precision) throw OptionError("--precision", "expected float32, high or fast, got " + name);
  return *precision;
}

double peak_resident_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

double square_sum(const float* values, Index count) {
  double sum = 0;
  for (Index i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

json head_square_sums(const Cube& pattern) {
  json sums = json::array();
  for (Index h = 0; h < pattern.n_slices; ++h)
    sums.push_back(square_sum(pattern.slice_memptr(h), pattern.n_elem_slice));
  return sums;
}

/// Requests every pattern. Sums their squares only when asked, outside the timed runs.
class Patterns : public LayerObserver {
 public:
  bool wants_pattern(Index) const override { return true; }
  void observe_layer(const LayerView& view) override {
    if (sum_squares) sums.push_back(head_square_sums(view.pattern));
    if (keep_qkv) qkv.push_back(view.qkv);
  }
  bool sum_squares = false, keep_qkv = false;
  json sums = json::array();
  std::vector<Matrix> qkv;
};

/// Times `runs` runs after one warm-up run.
template <typename Work>
json seconds_of(int runs, const Work& work, bool warm_up = true) {
  json taken = json::array();
  if (warm_up) work();
  for (int i = 0; i < runs; ++i) taken.push_back(seconds(work));
  return taken;
}

double mean_loss(const TokenLoss& loss) {
  return loss.sum() / static_cast<double>(loss.nll.size());
}

json forward_patterns(const Model& model, const TokenIds& tokens, const Arguments& arguments) {
  Forward forward(model, arguments.context);
  Patterns patterns;
  double loss = 0;
  const auto work = [&] {
    loss = mean_loss(forward.loss(forward.run(tokens, {&patterns}), tokens));
  };
  const json taken = seconds_of(arguments.runs, work);
  const double peak = peak_resident_mb();
  patterns.sum_squares = true;
  work();
  return {{"seconds", taken},
          {"peak_rss_mb", peak},
          {"loss", loss},
          {"pattern_square_sum", patterns.sums}};
}

json attention_patterns(const Model& model, const TokenIds& tokens, const Arguments& arguments) {
  const ModelConfig& config = model.config;
  Forward forward(model);
  Patterns inputs;
  inputs.keep_qkv = true;
  forward.run(tokens, {&inputs});
  const Index n_token = tokens.size();
  std::vector<Cube> patterns(config.n_layer,
                             Cube(n_token, n_token, config.n_head, arma::fill::zeros));
  std::vector<Matrix> z(config.n_layer, Matrix(config.d_model, n_token, arma::fill::zeros));
  const json taken = seconds_of(arguments.runs, [&] {
    for (Index l = 0; l < config.n_layer; ++l)
      causal_attention(inputs.qkv[l], config.n_head, config.score_scale(l), z[l], &patterns[l],
                       arguments.context);
  });
  const double peak = peak_resident_mb();
  json pattern_sums = json::array(), z_sums = json::array();
  for (Index l = 0; l < config.n_layer; ++l) {
    pattern_sums.push_back(head_square_sums(patterns[l]));
    json layer = json::array();
    for (Index h = 0; h < config.n_head; ++h) {
      const Matrix z_h = z[l].rows(h * config.d_head(), (h + 1) * config.d_head() - 1);
      layer.push_back(square_sum(z_h.memptr(), z_h.n_elem));
    }
    z_sums.push_back(layer);
  }
  return {{"seconds", taken},
          {"peak_rss_mb", peak},
          {"pattern_square_sum", pattern_sums},
          {"z_square_sum", z_sums}};
}

json zero_ablation_all(const Model& model, const TokenIds& tokens, const Arguments& arguments) {
  const ModelConfig& config = model.config;
  std::vector<HeadVariant> variants;
  for (Index l = 0; l < config.n_layer; ++l) {
    for (Index h = 0; h < config.n_head; ++h) variants.push_back({l, {h}});
  }
  Forward forward(model, arguments.context);
  const AblationPrecision precision = ablation_precision(
      arguments.precision, arguments.context.engines().differences, config.d_vocab, 0);
  HeadAblation ablation(model, arguments.context, precision);
  double baseline = 0;
  json losses;
  const json taken = seconds_of(
      arguments.runs,
      [&] {
        forward.run(tokens, {&ablation});
        baseline = mean_loss(ablation.clean_loss(tokens));
        losses = json::array();
        for (const TokenLoss& loss : ablation.losses(tokens, variants)) {
          if (losses.empty() || losses.back().size() == config.n_head) {
            losses.push_back(json::array());
          }
          losses.back().push_back(mean_loss(loss));
        }
      },
      false);
  return {{"seconds", taken},
          {"peak_rss_mb", peak_resident_mb()},
          {"engine", engine_name(arguments.context.engines().differences)},
          {"loss_baseline", baseline},
          {"loss", losses}};
}

json importance(const Model& model, const TokenIds& tokens, const Arguments& arguments) {
  const ModelConfig& config = model.config;
  Forward forward(model, arguments.context);
  HeadAblation clean(model, arguments.context);
  clean.keep_projections(true);
  HeadGradient gradient(model, arguments.context);
  json per_token, sign;
  double loss = 0;
  const json taken = seconds_of(arguments.runs, [&] {
    per_token = json::array();
    sign = json::array();
    for (Index l = 0; l < config.n_layer; ++l) {
      per_token.push_back(std::vector<double>(config.n_head));
      sign.push_back(std::vector<double>(config.n_head));
    }
    forward.run(tokens, {&clean});
    loss = mean_loss(gradient.run(clean.activations(), tokens, [&](const LayerGradient& view) {
      const arma::mat products = z_dot_gradient(view, config.n_head);
      for (Index h = 0; h < config.n_head; ++h) {
        per_token[view.layer][h] = arma::accu(arma::abs(products.row(h)));
        sign[view.layer][h] = -arma::accu(products.row(h));
      }
    }));
  });
  return {{"seconds", taken},
          {"peak_rss_mb", peak_resident_mb()},
          {"loss", loss},
          {"importance_per_token", per_token},
          {"importance_signed", sign}};
}

json measure(const Options& options) {
  const Precision precision = precision_of(options.at("--precision"));
  const Model model = load_model(options.at("--model"));
  const Arguments arguments{std::stoi(options.at("--runs")), precision,
                            fastest_engines(precision, try_engines(model.config))};
  const TokenIds tokens = read_json(options.at("--tokens")).at("tokens").get<TokenIds>();
  const std::map<std::string, json (*)(const Model&, const TokenIds&, const Arguments&)> cases{
      {"forward_patterns", forward_patterns},
      {"attention_patterns", attention_patterns},
      {"zero_ablation_all", zero_ablation_all},
      {"importance", importance}};
  json result = cases.at(options.at("--case"))(model, tokens, arguments);
  result["case"] = options.at("--case");
  result["versions"] = blas::library_description();
  return result;
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  return headscope::bench::run(argc, argv, headscope::bench::measure);
}
