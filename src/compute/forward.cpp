#include "headscope/forward.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "compute/buffer.hpp"
#include "compute/causal_attention.hpp"
#include "compute/layer.hpp"
#include "compute/pack.hpp"
#include "compute/product/weight_product.hpp"
#include "headscope/attention.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

Index sequences_at_once(Index n_token) {
  return std::max<Index>(1, Forward::columns_at_once / std::max<Index>(1, n_token));
}

Index sequence_length(Index n_column, Index n_sequence) {
  if (n_sequence > 0 && n_column > 0 && n_column % n_sequence == 0) return n_column / n_sequence;
  throw ShapeError("residual stream columns: expected a multiple of " + std::to_string(n_sequence) +
                   " sequences, got " + std::to_string(n_column));
}

bool is_document(std::span<const Pack::Segment> segments) {
  return segments.size() == 1;
}

void check_masks(std::span<const HeadMask> masks, const ModelConfig& config, Index n_sequence) {
  if (masks.empty()) return;
  check_count("head masks", n_sequence, masks.size());
  for (const HeadMask& mask : masks) {
    check_count("rows of a head mask", config.n_head, mask.n_rows);
    check_count("columns of a head mask", config.n_layer, mask.n_cols);
  }
}

/// Zeroes the rows of z whose head is masked, in the columns of one sequence.
void mask_heads(const arma::Col<unsigned char>& mask, Matrix& z, Index first_column,
                Index n_column) {
  const Index d_head = z.n_rows / mask.n_elem;
  for (Index head = 0; head < mask.n_elem; ++head) {
    if (mask(head) != 0) continue;
    z.submat(head * d_head, first_column, arma::size(d_head, n_column)).zeros();
  }
}

}  // namespace

struct Forward::Workspace {
  Buffer resid[2], resid_mid, normalized, qkv, pattern, z, attention_output, hidden, mlp_normalized;
  std::optional<Matrix> resid_final;

  // Attention and MLP of one layer on a few sequences, in place.
  void run_layer(Engine engine, const ModelConfig& config, const LayerWeights& layer,
                 bool with_attention, std::span<const Pack::Segment> segments, Index n_sequence,
                 std::span<const HeadMask> masks, Index index, Matrix& stream) {
    Matrix ln = normalized.matrix(stream.n_rows, stream.n_cols);
    if (with_attention) {
      Matrix projected = qkv.matrix(3 * stream.n_rows, stream.n_cols);
      Matrix mixed = z.matrix(stream.n_rows, stream.n_cols);
      project_qkv(config, layer, stream, ln, projected, engine);
      packed_attention(projected, config.n_head, config.score_scale(index), segments, n_sequence,
                       mixed, engine);
      for (Index s = 0; s < masks.size(); ++s) {
        mask_heads(masks[s].col(index), mixed, s * stream.n_cols / n_sequence,
                   stream.n_cols / n_sequence);
      }
      add_bias(stream, layer.b_O);
      multiply_weights(engine, layer.W_O, blas::Transpose::no, mixed, stream, true);
    }
    Matrix activations = hidden.matrix(config.d_mlp, stream.n_cols);
    add_mlp(config, layer, stream, ln, activations, engine);
  }
};

Forward::Forward(const Model& model, Engine engine)
    : model_(model), engine_(engine), workspace_(std::make_unique<Workspace>()) {
  if (!model.is_complete()) {
    throw ShapeError("model: expected token embedding and MLP weights, got attention weights only");
  }
}

Forward::~Forward() = default;

Matrix Forward::embed(std::span<const TokenId> tokens) const {
  const Pack pack = Pack::of_document(tokens);
  check_input(model_, pack);
  Matrix resid(model_.config.d_model, tokens.size(), arma::fill::none);
  embed_into(model_, pack, resid);
  return resid;
}

const Matrix& Forward::run(std::span<const TokenId> tokens,
                           std::span<LayerObserver* const> observers) {
  return run(Pack::of_document(tokens), observers);
}

const Matrix& Forward::run(const Pack& pack, std::span<LayerObserver* const> observers) {
  const ModelConfig& config = model_.config;
  const Index d_model = config.d_model, n_token = pack.n_column();
  check_input(model_, pack);
  Workspace& w = *workspace_;
  Matrix normalized = w.normalized.matrix(d_model, n_token);
  Matrix qkv = w.qkv.matrix(3 * d_model, n_token);
  Matrix z = w.z.matrix(d_model, n_token);
  Matrix attention_output = w.attention_output.matrix(d_model, n_token);
  Matrix resid_mid = w.resid_mid.matrix(d_model, n_token);
  Matrix mlp_normalized = w.mlp_normalized.matrix(d_model, n_token);
  Matrix hidden = w.hidden.matrix(config.d_mlp, n_token);
  Matrix stream[2] = {w.resid[0].matrix(d_model, n_token), w.resid[1].matrix(d_model, n_token)};
  embed_into(model_, pack, stream[0]);

  for (Index l = 0; l < config.n_layer; ++l) {
    const LayerWeights& layer = model_.layers[l];
    const Matrix& resid_pre = stream[l % 2];
    Matrix& resid_post = stream[(l + 1) % 2];
    const bool with_pattern =
        is_document(pack.segments) &&
        std::any_of(observers.begin(), observers.end(),
                    [l](const LayerObserver* observer) { return observer->wants_pattern(l); });
    Cube pattern = with_pattern ? w.pattern.cube(n_token, n_token, config.n_head) : Cube();

    project_qkv(config, layer, resid_pre, normalized, qkv, engine_);
    const double scale = config.score_scale(l);
    if (with_pattern) {
      causal_attention(qkv, config.n_head, scale, 1, z, &pattern, engine_);
    } else {
      packed_attention(qkv, config.n_head, scale, pack.segments, 1, z, engine_);
    }
    multiply_weights(engine_, layer.W_O, blas::Transpose::no, z, attention_output);
    add_bias(attention_output, layer.b_O);
    add(resid_pre, attention_output, resid_mid);
    copy(resid_mid, resid_post);
    add_mlp(config, layer, resid_post, mlp_normalized, hidden, engine_);

    const LayerView view{l,       n_token, resid_pre,        normalized, qkv,
                         pattern, z,       attention_output, resid_mid,  resid_post};
    for (LayerObserver* const observer : observers) observer->observe_layer(view);
  }
  Matrix& last = stream[config.n_layer % 2];
  return w.resid_final.emplace(last.memptr(), d_model, n_token, false, true);
}

void Forward::run_from(StartPoint start, Matrix& resid, Index n_sequence,
                       std::span<const HeadMask> masks) {
  const Pack::Segment whole{0, sequence_length(resid.n_cols, n_sequence)};
  run_layers(start, resid, {&whole, 1}, n_sequence, masks);
}

void Forward::run_from(StartPoint start, Matrix& resid, const Pack& pack, Index n_sequence,
                       std::span<const HeadMask> masks) {
  check_pack(pack, model_.config);
  check_count("residual stream columns", pack.n_column() * n_sequence, resid.n_cols);
  run_layers(start, resid, pack.segments, n_sequence, masks);
}

void Forward::run_layers(StartPoint start, Matrix& resid, std::span<const Pack::Segment> segments,
                         Index n_sequence, std::span<const HeadMask> masks) {
  const ModelConfig& config = model_.config;
  check_count("residual stream rows", config.d_model, resid.n_rows);
  const Index n_token = sequence_length(resid.n_cols, n_sequence);
  check_masks(masks, config, n_sequence);
  for (Index first = 0; first < n_sequence; first += sequences_at_once(n_token)) {
    const Index count = std::min(sequences_at_once(n_token), n_sequence - first);
    Matrix group(resid.colptr(first * n_token), config.d_model, count * n_token, false, true);
    for (Index l = start.layer; l < config.n_layer; ++l) {
      const bool with_attention =
          l != start.layer || start.sublayer == StartPoint::Sublayer::attention;
      workspace_->run_layer(engine_, config, model_.layers[l], with_attention, segments, count,
                            masks.empty() ? masks : masks.subspan(first, count), l, group);
    }
  }
}

TokenLoss Forward::loss(blas::ConstView resid_final, std::span<const TokenId> tokens) {
  return loss(resid_final, tokens, 1).front();
}

std::vector<TokenLoss> Forward::loss(blas::ConstView resid_final, std::span<const TokenId> tokens,
                                     Index n_sequence) {
  return loss(resid_final, Pack::of_document(tokens), n_sequence);
}

std::vector<TokenLoss> Forward::loss(blas::ConstView resid_final, const Pack& pack,
                                     Index n_sequence) {
  check_count("residual stream rows", model_.config.d_model, resid_final.n_row);
  check_count("residual stream columns", pack.n_column() * n_sequence, resid_final.n_col);
  std::vector<TokenLoss> losses(n_sequence);
  const Index n_predicted = pack.predictions.size();
  if (n_predicted == 0) return losses;

  const Index group = sequences_at_once(n_predicted);
  TokenIds group_targets;
  for (Index first = 0; first < n_sequence; first += group) {
    const Index count = std::min(group, n_sequence - first);
    Matrix normalized = workspace_->normalized.matrix(resid_final.n_row, count * n_predicted);
    group_targets.clear();
    for (Index s = 0; s < count; ++s) {
      const TokenIds targets = final_norm_of_predictions(
          model_, resid_final.cols((first + s) * pack.n_column(), pack.n_column()),
          pack.predictions, blas::View(normalized).cols(s * n_predicted, n_predicted));
      group_targets.insert(group_targets.end(), targets.begin(), targets.end());
    }
    const TokenLoss all =
        token_loss(normalized, model_.unembedding(), model_.b_U, group_targets, engine_);
    for (Index s = 0; s < count; ++s) {
      const auto begin = static_cast<std::ptrdiff_t>(s * n_predicted);
      const auto end = begin + static_cast<std::ptrdiff_t>(n_predicted);
      losses[first + s].nll.assign(all.nll.begin() + begin, all.nll.begin() + end);
      losses[first + s].correct.assign(all.correct.begin() + begin, all.correct.begin() + end);
    }
  }
  return losses;
}

Matrix Forward::logits(const Matrix& resid_final) {
  check_count("residual stream rows", model_.config.d_model, resid_final.n_rows);
  Matrix normalized = workspace_->normalized.matrix(resid_final.n_rows, resid_final.n_cols);
  layer_norm(resid_final, model_.ln_f_gain, model_.ln_f_bias, model_.config.layer_norm_epsilon,
             normalized);
  Matrix logits(model_.unembedding().n_cols, resid_final.n_cols, arma::fill::none);
  // A part of the vocabulary at a time, so that not all of it is split at once.
  constexpr Index at_once = 4096;
  const blas::ConstView unembedding = model_.unembedding();
  for (Index first = 0; first < unembedding.n_col; first += at_once) {
    const Index count = std::min(at_once, unembedding.n_col - first);
    multiply_weights(engine_, unembedding.cols(first, count), blas::Transpose::yes, normalized,
                     blas::View(logits).rows(first, count));
  }
  add_bias(logits, model_.b_U);
  return logits;
}

}  // namespace headscope
