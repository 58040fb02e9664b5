#include "headscope/ablation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "compute/activations.hpp"
#include "compute/causal_attention.hpp"
#include "compute/difference.hpp"
#include "compute/layer.hpp"
#include "compute/loss_difference.hpp"
#include "compute/ops.hpp"
#include "compute/sampled_loss.hpp"
#include "compute/sequence_batch.hpp"
#include "compute/token_loss.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

/// Columns of variants that go through a layer together: wide enough for matrix products at full
/// speed, narrow enough that the layer's memory does not grow with the number of variants.
constexpr Index layer_columns = 1024;

Index variants_at_once(Index at_once, Index n_token) {
  return std::max<Index>(1, at_once / std::max<Index>(1, n_token));
}

/// The first layer with a masked head; n_layer if all heads are kept.
Index first_masked_layer(const HeadMask& mask) {
  for (Index layer = 0; layer < mask.n_cols; ++layer) {
    if (mask.col(layer).min() == 0) return layer;
  }
  return mask.n_cols;
}

/// What a variant changes.
struct Change {
  StartPoint start;
  const HeadVariant* variant = nullptr;
  const HeadMask* mask = nullptr;
  blas::ConstView difference = {};  // added at the start; if there is neither variant nor mask

  // Starts in the order of the forward pass.
  Index place() const { return place_of(start); }
  static Index place_of(StartPoint start) {
    return 2 * start.layer + (start.sublayer == StartPoint::Sublayer::mlp ? 1 : 0);
  }

  bool replaces_heads() const { return variant != nullptr || mask != nullptr; }
  bool replaces(Index layer, Index head) const {
    if (mask != nullptr) return (*mask)(head, layer) == 0;
    return variant != nullptr && layer == variant->layer &&
           std::find(variant->heads.begin(), variant->heads.end(), head) != variant->heads.end();
  }
};

/// The rows of a layer's z from the first replaced head to the last.
struct Rows {
  Index first = 0, count = 0;
  auto operator<=>(const Rows&) const = default;
};

Rows replaced_rows(const Change& change, const ModelConfig& config) {
  if (!change.replaces_heads()) return {};
  Index first = config.n_head, end = 0;
  for (Index head = 0; head < config.n_head; ++head) {
    if (!change.replaces(change.start.layer, head)) continue;
    first = std::min(first, head);
    end = head + 1;
  }
  if (end == 0) return {};
  return {first * config.d_head(), (end - first) * config.d_head()};
}

void check_below(const char* what, Index limit, Index got) {
  if (got < limit) return;
  throw ShapeError(std::string(what) + ": expected below " + std::to_string(limit) + ", got " +
                   std::to_string(got));
}

void check_variant(const StreamVariant& variant, const ModelConfig& config, Index n_token) {
  const bool in_layer = variant.start.sublayer == StartPoint::Sublayer::mlp;
  check_below("layer of a change of the stream", config.n_layer + (in_layer ? 0 : 1),
              variant.start.layer);
  check_count("rows of a change of the stream", config.d_model, variant.difference.n_row);
  check_count("columns of a change of the stream", n_token, variant.difference.n_col);
}

void check_variant(const HeadVariant& variant, const ModelConfig& config, Index n_token) {
  check_below("ablated layer", config.n_layer, variant.layer);
  for (const Index head : variant.heads) check_below("ablated head", config.n_head, head);
  if (variant.z.data == nullptr) return;
  check_count("rows of the replacement z", config.d_model, variant.z.n_row);
  check_count("columns of the replacement z", n_token, variant.z.n_col);
}

std::vector<Change> changes_of(std::span<const HeadVariant> variants, const ModelConfig& config,
                               Index n_token) {
  std::vector<Change> changes;
  for (const HeadVariant& variant : variants) {
    check_variant(variant, config, n_token);
    changes.push_back({{variant.layer, StartPoint::Sublayer::mlp}, &variant});
  }
  return changes;
}

/// The variants that change the losses by more than `multiple` times what the median of those does
/// that replace as many heads. A change is the sum of |changes| over the predictions: its rounding
/// errors are relative to that, also where changes cancel.
std::vector<std::size_t> large_changes(const std::vector<TokenLoss>& losses, const TokenLoss& clean,
                                       std::span<const HeadVariant> variants, double multiple) {
  std::vector<double> sizes;
  std::map<std::size_t, std::vector<double>> by_heads;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    double size = 0;
    for (std::size_t t = 0; t < clean.nll.size(); ++t) {
      size += std::abs(losses[i].nll[t] - clean.nll[t]);
    }
    sizes.push_back(size);
    by_heads[variants[i].heads.size()].push_back(size);
  }
  std::map<std::size_t, double> most;
  for (const auto& [n_head, of_variants] : by_heads) {
    most[n_head] = multiple * arma::median(arma::vec(of_variants));
  }
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > most[variants[i].heads.size()]) large.push_back(i);
  }
  return large;
}

}  // namespace

struct HeadAblation::Workspace {
  struct LayerProducts {
    WeightProduct W_QKV, W_O, W_in, W_out;

    void set(const LayerWeights& layer, bool with_queries, const Products& chosen) {
      if (with_queries) W_QKV.set(layer.W_QKV, blas::Transpose::no, chosen);
      W_O.set(layer.W_O, blas::Transpose::no, chosen);
      W_in.set(layer.W_in, blas::Transpose::no, chosen);
      W_out.set(layer.W_out, blas::Transpose::no, chosen);
    }
  };

  Workspace(const Model& model_given, const VocabularySample& sample_given)
      : model(model_given), config(model.config), sample(sample_given), clean(config.n_layer) {}

  /// How a group of variants is computed.
  struct Method {
    Products differences, passes;
    bool is_sampled = false;  // whether losses come from the sample
  };

  const Model& model;
  const ModelConfig& config;
  const VocabularySample sample;
  LayerProducts products;   // of one layer
  Vector mean_unembedding;  // empty until it is needed
  Activations clean;
  std::optional<TokenLoss> clean_loss;
  std::optional<VocabularyDraw> draw;  // of the clean batch
  Buffer normalized, qkv, z, hidden;   // of the variants
  // Of one layer.
  Buffer clean_normalized, clean_chosen, clean_qkv, clean_hidden, clean_activated;

  /// Variants side by side on their way through the layers.
  struct Streams {
    Matrix memory;                   // d_model x (columns x variants)
    blas::View all;                  // the part of it in use
    std::span<const Index> columns;  // of the batch; each variant has these

    Streams(Index d_model, std::span<const Index> columns_given, Index n_variant)
        : memory(d_model, columns_given.size() * n_variant, arma::fill::zeros),
          all(memory),
          columns(columns_given) {}

    Index n_column() const { return columns.size(); }
    blas::View of(Index first, Index count) const {
      return all.cols(first * n_column(), count * n_column());
    }
    /// @param kept  ascending, some of `columns`, which are all columns of the batch.
    void keep(std::span<const Index> kept) {
      const Index n_variant = all.n_col / n_column();
      for (Index v = 0; v < n_variant; ++v) {
        copy_columns(of(v, 1), kept, all.cols(v * kept.size(), kept.size()));
      }
      all = all.cols(0, n_variant * kept.size());
      columns = kept;
    }
  };

  /// After the attention of the last layer, only the columns that predict something go on.
  ///
  /// @param changes  in ascending order of place, at most variants_at_once.
  std::vector<TokenLoss> losses(const SequenceBatch& batch, std::span<const Change> changes,
                                const Method& method) {
    if (batch.predictions.empty()) return std::vector<TokenLoss>(changes.size());
    const PredictingColumns predicting(batch.predictions);
    std::vector<Index> every(clean.n_token());
    std::iota(every.begin(), every.end(), 0);
    Streams streams(config.d_model, every, changes.size());
    const Products differences = method.differences.for_columns(streams.all.n_col);
    Index n_begun = 0;
    const auto begin_at = [&](StartPoint point) {
      Index n_active = n_begun;
      while (n_active < changes.size() && changes[n_active].place() <= Change::place_of(point)) {
        ++n_active;
      }
      for_blocks(n_begun, n_active, streams.n_column(), [&](Index first, Index count) {
        start(point, changes.subspan(first, count), differences, streams.columns,
              streams.of(first, count));
      });
      n_begun = n_active;
    };
    const Index last = config.n_layer - 1;
    for (Index l = std::min(changes.front().start.layer, last); l <= last; ++l) {
      begin_at({l, StartPoint::Sublayer::attention});
      products.set(model.layers[l], n_begun > 0, differences);
      if (n_begun > 0) prepare_attention(l, method.passes);
      for_blocks(0, n_begun, streams.n_column(), [&](Index first, Index count) {
        add_attention(l, batch, changes.subspan(first, count), method.passes,
                      streams.of(first, count));
      });
      begin_at({l, StartPoint::Sublayer::mlp});
      if (l == last) streams.keep(predicting.columns);
      const Matrix resid_mid = clean_of(clean.resid_mid(l), streams.columns);
      prepare_mlp(l, resid_mid, method.passes);
      for_blocks(0, n_begun, streams.n_column(), [&](Index first, Index count) {
        add_mlp_difference(l, resid_mid, streams.of(first, count));
      });
    }
    begin_at({config.n_layer, StartPoint::Sublayer::attention});
    const Matrix resid_final = clean_of(clean.resid(config.n_layer), streams.columns);
    Matrix ln = clean_normalized.matrix(config.d_model, streams.n_column());
    layer_norm(resid_final, model.ln_f_gain, model.ln_f_bias, config.layer_norm_epsilon, ln);
    layer_norm_difference(resid_final, streams.all, model.ln_f_gain, config.layer_norm_epsilon,
                          streams.all);
    if (mean_unembedding.is_empty()) mean_unembedding = arma::mean(model.unembedding(), 1);
    if (method.is_sampled) {
      if (!draw) {
        draw.emplace(model, mean_unembedding, method.passes, ln, predicting.predictions, sample);
      }
      return draw->losses(ln, streams.all, *clean_loss, predicting.predictions);
    }
    return losses_of_differences(model, mean_unembedding, method.differences, method.passes, ln,
                                 streams.all, *clean_loss, predicting.predictions);
  }

  /// Some columns of clean activations.
  Matrix clean_of(const Matrix& X, std::span<const Index> columns) {
    Matrix chosen = clean_chosen.matrix(X.n_rows, columns.size());
    copy_columns(X, columns, chosen);
    return chosen;
  }

  /// Calls f(first, count) for the variants [begin, end) in blocks wide enough for products.
  template <typename Function>
  static void for_blocks(Index begin, Index end, Index n_column, const Function& f) {
    const Index block = variants_at_once(layer_columns, n_column);
    for (Index first = begin; first < end; first += block) f(first, std::min(block, end - first));
  }

  void prepare_attention(Index l, const Products& passes) {
    Matrix ln = clean_normalized.matrix(config.d_model, clean.n_token());
    Matrix projected = clean_qkv.matrix(3 * config.d_model, clean.n_token());
    project_qkv(config, model.layers[l], clean.resid(l), ln, projected, passes);
  }

  /// @param resid_mid  clean, d_model x n_column.
  void prepare_mlp(Index l, const Matrix& resid_mid, const Products& passes) {
    const LayerWeights& layer = model.layers[l];
    Matrix ln = clean_normalized.matrix(config.d_model, resid_mid.n_cols);
    Matrix before = clean_hidden.matrix(config.d_mlp, resid_mid.n_cols);
    Matrix after = clean_activated.matrix(config.d_mlp, resid_mid.n_cols);
    layer_norm(resid_mid, layer.ln_2_gain, layer.ln_2_bias, config.layer_norm_epsilon, ln);
    passes.multiply(layer.W_in, blas::Transpose::no, ln, before);
    add_bias_activate(before, layer.b_in, config.activation, after);
    add_bias(before, layer.b_in);
  }

  /// The first difference of variants that begin here. Heads are replaced in all columns of the
  /// batch.
  /// @param columns  of the batch, which each variant has in `stream`.
  void start(StartPoint point, std::span<const Change> changes, const Products& differences,
             std::span<const Index> columns, blas::View stream) {
    const Index n_column = columns.size();
    for (Index first = 0, end = 0; first < changes.size(); first = end) {
      const Rows rows = replaced_rows(changes[first], config);
      while (end < changes.size() && replaced_rows(changes[end], config) == rows) ++end;
      if (rows.count == 0) continue;
      Matrix dz = z.matrix(rows.count, (end - first) * n_column);
      dz.zeros();
      for (Index i = first; i < end; ++i) {
        replace_heads(point.layer, changes[i], rows,
                      blas::View(dz).cols((i - first) * n_column, n_column));
      }
      differences.multiply(
          blas::ConstView(model.layers[point.layer].W_O).cols(rows.first, rows.count),
          blas::Transpose::no, dz, stream.cols(first * n_column, dz.n_cols));
    }
    for (Index i = 0; i < changes.size(); ++i) {
      if (changes[i].replaces_heads()) continue;
      copy_columns(changes[i].difference, columns, stream.cols(i * n_column, n_column));
    }
  }

  void add_attention(Index l, const SequenceBatch& batch, std::span<const Change> changes,
                     const Products& passes, blas::View stream) {
    const LayerWeights& layer = model.layers[l];
    const Index n_token = clean.n_token();
    Matrix ln = normalized.matrix(config.d_model, stream.n_col);
    Matrix projected = qkv.matrix(3 * config.d_model, stream.n_col);
    Matrix dz = z.matrix(config.d_model, stream.n_col);
    layer_norm_difference(clean.resid(l), stream, layer.ln_1_gain, config.layer_norm_epsilon, ln);
    products.W_QKV.multiply(ln, projected);
    add_clean(clean_qkv.matrix(3 * config.d_model, n_token), 1, projected);
    causal_attention(projected, config.n_head, config.score_scale(l), batch.sequences,
                     changes.size(), dz, passes);
    add_clean(clean.z(l), -1, dz);
    for (Index i = 0; i < changes.size(); ++i) {
      replace_heads(l, changes[i], {0, config.d_model}, blas::View(dz).cols(i * n_token, n_token));
    }
    products.W_O.multiply(dz, stream, true);
  }

  /// dz = replacement - clean z in the rows of the heads replaced in this layer.
  /// @param rows  of z, among which those are; dz has these.
  void replace_heads(Index l, const Change& change, const Rows& rows, blas::View dz) {
    const Matrix clean_z = clean.z(l);
    const blas::ConstView by = change.variant == nullptr ? blas::ConstView() : change.variant->z;
    const Index d_head = config.d_head();
    for (Index head = 0; head < config.n_head; ++head) {
      if (!change.replaces(l, head)) continue;
      for (Index t = 0; t < dz.n_col; ++t) {
        for (Index i = head * d_head; i < (head + 1) * d_head; ++i) {
          const float replacement = by.data == nullptr ? 0.0F : by.data[t * by.stride + i];
          dz.data[t * dz.stride + i - rows.first] = replacement - clean_z(i, t);
        }
      }
    }
  }

  /// @param resid_mid  clean, d_model x n_column.
  void add_mlp_difference(Index l, const Matrix& resid_mid, blas::View stream) {
    const LayerWeights& layer = model.layers[l];
    Matrix ln = normalized.matrix(config.d_model, stream.n_col);
    Matrix activated = hidden.matrix(config.d_mlp, stream.n_col);
    layer_norm_difference(resid_mid, stream, layer.ln_2_gain, config.layer_norm_epsilon, ln);
    products.W_in.multiply(ln, activated);
    activation_difference(clean_hidden.matrix(config.d_mlp, resid_mid.n_cols),
                          clean_activated.matrix(config.d_mlp, resid_mid.n_cols), config.activation,
                          activated);
    products.W_out.multiply(activated, stream, true);
  }

  /// Losses of any number of variants, in order.
  std::vector<TokenLoss> all_losses(const SequenceBatch& batch, const std::vector<Change>& changes,
                                    const Method& method) {
    std::vector<std::size_t> order(changes.size());
    std::iota(order.begin(), order.end(), 0);
    // Variants that begin with the same rows of W_O share a product.
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      return std::pair(changes[i].place(), replaced_rows(changes[i], config));
    });
    std::vector<TokenLoss> results(changes.size());
    const Index group = variants_at_once(columns_at_once, clean.n_token());
    for (std::size_t first = 0; first < order.size(); first += group) {
      std::vector<Change> chosen;
      for (std::size_t i = first; i < std::min<std::size_t>(first + group, order.size()); ++i) {
        chosen.push_back(changes[order[i]]);
      }
      std::vector<TokenLoss> of_group = losses(batch, chosen, method);
      for (std::size_t i = 0; i < of_group.size(); ++i) {
        results[order[first + i]] = std::move(of_group[i]);
      }
    }
    return results;
  }
};

HeadAblation::HeadAblation(const Model& model, ComputeContext context,
                           const AblationPrecision& precision)
    : model_(model),
      context_(std::move(context)),
      precision_(precision),
      workspace_(std::make_unique<Workspace>(model, precision.sample)) {
  check_complete(model);
}

HeadAblation::~HeadAblation() = default;

void HeadAblation::observe_layer(const LayerView& view) {
  workspace_->clean.observe_layer(view);
  workspace_->clean_loss.reset();
  workspace_->draw.reset();
}

std::optional<ProjectionMemory> HeadAblation::projection_memory(Index layer,
                                                                const ModelConfig& config,
                                                                Index n_token) {
  return workspace_->clean.projection_memory(layer, config, n_token);
}

void HeadAblation::keep_projections(bool keep) {
  workspace_->clean.keep_projections(keep);
}

Activations& HeadAblation::activations() {
  return workspace_->clean;
}

const TokenLoss& HeadAblation::clean_loss(const SequenceBatch& batch) {
  Workspace& w = *workspace_;
  check_count("layers observed", model_.config.n_layer, w.clean.n_layer());
  check_count("columns of the ablated batch", w.clean.n_token(), batch.n_column());
  check_batch(batch, model_.config);
  if (!w.clean_loss) {
    Matrix ln = w.normalized.matrix(model_.config.d_model, batch.predictions.size());
    const TokenIds targets = final_norm_of_predictions(model_, w.clean.resid(model_.config.n_layer),
                                                       batch.predictions, ln);
    w.clean_loss = token_loss(ln, model_.unembedding(), model_.b_U, targets, context_.passes());
  }
  return *w.clean_loss;
}

std::vector<TokenLoss> HeadAblation::losses(const SequenceBatch& batch,
                                            std::span<const HeadVariant> variants) {
  const TokenLoss& clean = clean_loss(batch);
  const std::vector<Change> changes = changes_of(variants, model_.config, batch.n_column());
  std::vector<TokenLoss> losses = workspace_->all_losses(
      batch, changes, {context_.differences(), context_.passes(), !precision_.sample.is_whole()});
  if (std::isinf(precision_.exact_above)) return losses;
  const std::vector<std::size_t> large =
      large_changes(losses, clean, variants, precision_.exact_above);
  if (large.empty()) return losses;
  std::vector<Change> again;
  for (const std::size_t i : large) again.push_back(changes[i]);
  std::vector<TokenLoss> exact =
      workspace_->all_losses(batch, again, {context_.passes(), context_.passes()});
  for (std::size_t i = 0; i < large.size(); ++i) losses[large[i]] = std::move(exact[i]);
  return losses;
}

bool HeadAblation::is_approximate() const {
  return context_.engines().differences != context_.engines().passes ||
         !precision_.sample.is_whole();
}

std::vector<TokenLoss> HeadAblation::float32_losses(const SequenceBatch& batch,
                                                    std::span<const HeadVariant> variants) {
  clean_loss(batch);
  return workspace_->all_losses(batch, changes_of(variants, model_.config, batch.n_column()),
                                {context_.float32(), context_.passes()});
}

std::vector<TokenLoss> HeadAblation::losses(const SequenceBatch& batch,
                                            std::span<const StreamVariant> variants) {
  clean_loss(batch);
  std::vector<Change> changes;
  for (const StreamVariant& variant : variants) {
    check_variant(variant, model_.config, batch.n_column());
    changes.push_back({variant.start, nullptr, nullptr, variant.difference});
  }
  return workspace_->all_losses(batch, changes, {context_.differences(), context_.passes()});
}

std::vector<TokenLoss> HeadAblation::masked_losses(const SequenceBatch& batch,
                                                   std::span<const HeadMask> masks) {
  clean_loss(batch);
  std::vector<Change> changes;
  for (const HeadMask& mask : masks) {
    check_count("rows of a head mask", model_.config.n_head, mask.n_rows);
    check_count("columns of a head mask", model_.config.n_layer, mask.n_cols);
    changes.push_back({{first_masked_layer(mask), StartPoint::Sublayer::mlp}, nullptr, &mask});
  }
  return workspace_->all_losses(batch, changes, {context_.differences(), context_.passes()});
}

std::uint64_t HeadAblation::bytes(const ModelConfig& config, Index n_token, int n_thread,
                                  const Engines& engines, const VocabularySample& sample,
                                  bool with_projections) {
  const std::uint64_t d_model = config.d_model;
  const Index n_variant = variants_at_once(columns_at_once, n_token),
              n_stacked = n_variant * n_token;
  // Kept for each layer: three matrices like the stream. Of one layer: chosen columns of the clean
  // stream, the normalized stream, queries, keys, values and hidden units before and after the
  // activation.
  const std::uint64_t clean = (3 * config.n_layer + 1) * d_model + 5 * d_model + 2 * config.d_mlp;
  // Of some variants in one layer: normalized stream, queries, keys, values, z and hidden units.
  const std::uint64_t variants = 5 * d_model + config.d_mlp;
  const std::uint64_t projections =
      with_projections ? config.n_layer * (3 * d_model + config.d_mlp) * n_token : 0;
  const std::uint64_t floats = std::max<std::uint64_t>(d_model * n_stacked, projections) +
                               clean * n_token +
                               variants * variants_at_once(layer_columns, n_token) * n_token;
  const std::uint64_t of_sample =
      sample.is_whole()
          ? 0
          : VocabularyDraw::bytes(d_model, config.d_vocab, n_token, n_variant, n_thread, sample);
  return floats * sizeof(float) + Forward::loss_bytes(config, n_token, n_thread) +
         loss_difference_bytes(d_model, n_token, n_stacked, n_thread, engines.differences) +
         of_sample +
         WeightProduct::bytes(d_model, 5 * d_model + 2 * config.d_mlp, engines.differences);
}

}  // namespace headscope
