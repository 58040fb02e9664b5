#include "headscope/forward.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "compute/buffer.hpp"
#include "compute/layer.hpp"
#include "compute/ops.hpp"
#include "compute/token_loss.hpp"
#include "headscope/error.hpp"

namespace headscope {

namespace {

/// The memory that an observer gives for a layer's projections.
/// @throws std::logic_error if several do.
std::optional<ProjectionMemory> given_memory(std::span<LayerObserver* const> observers, Index layer,
                                             Index n_token) {
  std::optional<ProjectionMemory> given;
  for (LayerObserver* const observer : observers) {
    const std::optional<ProjectionMemory> memory = observer->projection_memory(layer, n_token);
    if (memory && given) throw std::logic_error("two observers give memory for projections");
    if (memory) given = memory;
  }
  return given;
}

}  // namespace

struct Forward::Workspace {
  Buffer resid[2], resid_mid, normalized, qkv, pattern, z, attention_output, hidden, mlp_normalized;
  std::optional<Matrix> resid_final;
};

Forward::Forward(const Model& model, ComputeContext context)
    : model_(model), context_(std::move(context)), workspace_(std::make_unique<Workspace>()) {
  check_complete(model);
}

Forward::~Forward() = default;

const Matrix& Forward::run(const SequenceBatch& batch, std::span<LayerObserver* const> observers,
                           const ForwardChange& change) {
  const ModelConfig& config = model_.config;
  const Index d_model = config.d_model, n_token = batch.n_column();
  const Products products = context_.passes();
  check_input(model_, batch);
  Workspace& w = *workspace_;
  Matrix normalized = w.normalized.matrix(d_model, n_token);
  Matrix z = w.z.matrix(config.d_z(), n_token);
  Matrix attention_output = w.attention_output.matrix(d_model, n_token);
  Matrix resid_mid = w.resid_mid.matrix(d_model, n_token);
  Matrix mlp_normalized = w.mlp_normalized.matrix(d_model, n_token);
  Matrix hidden = w.hidden.matrix(config.d_in(), n_token);
  Matrix stream[2] = {w.resid[0].matrix(d_model, n_token), w.resid[1].matrix(d_model, n_token)};
  embed_into(model_, batch, stream[0]);
  if (change.embeddings) change.embeddings(stream[0]);

  for (Index l = 0; l < config.n_layer; ++l) {
    const Layer layer(model_, l);
    const Matrix& resid_pre = stream[l % 2];
    Matrix& resid_post = stream[(l + 1) % 2];
    const bool with_pattern = batch.sequences.size() == 1 &&
                              std::ranges::any_of(observers, [l](const LayerObserver* observer) {
                                return observer->wants_pattern(l);
                              });
    const std::optional<ProjectionMemory> given = given_memory(observers, l, n_token);
    Matrix qkv = given ? Matrix(given->qkv, config.d_qkv(), n_token, false, true)
                       : w.qkv.matrix(config.d_qkv(), n_token);
    Matrix mlp_pre(given ? given->mlp_pre : hidden.memptr(), config.d_in(), n_token, false, true);
    Cube pattern = with_pattern ? w.pattern.cube(n_token, n_token, config.n_head) : Cube();

    layer.ln_1.apply(resid_pre, normalized);
    layer.attention.project(normalized, batch.sequences, qkv, products);
    layer.attention.mix(qkv, batch.sequences, 1, z, products, with_pattern ? &pattern : nullptr);
    if (change.z) change.z(l, qkv, z);
    layer.attention.write(z, attention_output, products);
    add(resid_pre, attention_output, resid_mid);
    copy(resid_mid, resid_post);
    layer.ln_2.apply(config.parallel_residual ? resid_pre : resid_mid, mlp_normalized);
    layer.mlp.apply(mlp_normalized, mlp_pre, blas::View(hidden).rows(0, config.d_mlp), resid_post,
                    products);
    if (!resid_post.is_finite()) {
      throw DataError(model_.path, "layer " + std::to_string(l),
                      "expected finite activations, got NaN or infinity: float32 does not hold "
                      "what these weights compute");
    }

    const LayerView view{l,       n_token, resid_pre,        normalized, qkv,
                         pattern, z,       attention_output, resid_mid,  resid_post};
    for (LayerObserver* const observer : observers) observer->observe_layer(view);
  }
  Matrix& last = stream[config.n_layer % 2];
  return w.resid_final.emplace(last.memptr(), d_model, n_token, false, true);
}

TokenLoss Forward::loss(blas::ConstView resid_final, const SequenceBatch& batch) {
  check_count("residual stream rows", model_.config.d_model, resid_final.n_row);
  check_count("residual stream columns", batch.n_column(), resid_final.n_col);
  if (batch.predictions.empty()) return {};
  Matrix normalized = workspace_->normalized.matrix(resid_final.n_row, batch.predictions.size());
  const TokenIds targets =
      final_norm_of_predictions(model_, resid_final, batch.predictions, normalized);
  return token_loss(normalized, model_.unembedding(), model_.b_U, targets, context_.passes());
}

Matrix Forward::logits(const Matrix& resid_final) {
  check_count("residual stream rows", model_.config.d_model, resid_final.n_rows);
  Matrix normalized = workspace_->normalized.matrix(resid_final.n_rows, resid_final.n_cols);
  final_norm(model_).apply(resid_final, normalized);
  Matrix logits(model_.unembedding().n_cols, resid_final.n_cols, arma::fill::none);
  // In chunks of the vocabulary, so that only a chunk is packed at once.
  constexpr Index at_once = 4096;
  const blas::ConstView unembedding = model_.unembedding();
  const Products products = context_.passes();
  for (Index first = 0; first < unembedding.n_col; first += at_once) {
    const Index count = std::min(at_once, unembedding.n_col - first);
    products.multiply(unembedding.cols(first, count), blas::Transpose::yes, normalized,
                      blas::View(logits).rows(first, count));
  }
  add_bias(logits, model_.b_U);
  return logits;
}

std::uint64_t Forward::bytes(const ModelConfig& config, Index n_token, bool with_patterns) {
  // resid_pre, resid_mid, resid_post, both normalized streams and the attention output; z; queries,
  // keys and values; hidden units.
  const std::uint64_t rows = 6 * config.d_model + config.d_z() + config.d_qkv() + config.d_in();
  const std::uint64_t patterns = with_patterns ? config.n_head * n_token * n_token : 0;
  return (rows * n_token + patterns) * sizeof(float);
}

std::uint64_t Forward::loss_bytes(const ModelConfig& config, Index n_token, int n_thread) {
  return config.d_model * n_token * sizeof(float) + n_thread * token_loss_thread_bytes(n_token);
}

}  // namespace headscope
