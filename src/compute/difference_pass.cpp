#include "compute/difference_pass.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compute/difference.hpp"
#include "compute/ops.hpp"

namespace headscope {
namespace {

// Variants whose losses are computed together.
Index variants_per_group(Index n_token) {
  return std::max<Index>(1, HeadAblation::columns_at_once / std::max<Index>(1, n_token));
}

}  // namespace

/// Variants side by side on their way through the layers.
class DifferencePass::Streams {
 public:
  /// @param columns  of the batch; each variant has these.
  Streams(Index d_model, std::span<const Index> columns, std::span<const VariantChange> changes)
      : changes_(changes),
        memory_(d_model, columns.size() * changes.size(), arma::fill::zeros),
        all_(memory_),
        columns_(columns) {}

  std::span<const Index> columns() const { return columns_; }
  blas::View all() const { return all_; }
  Index n_begun() const { return n_begun_; }

  /// The variants that have begun.
  blas::View begun() const { return of(0, n_begun_); }

  /// Calls begin(changes, streams) for those that start at a place.
  /// @param place  VariantChange::place_of.
  template <typename Begin>
  void begin_at(Index place, const Begin& begin) {
    Index end = n_begun_;
    while (end < changes_.size() && changes_[end].place() <= place) ++end;
    for_blocks(n_begun_, end, begin);
    n_begun_ = end;
  }

  /// Calls visit(changes, streams) for the variants that have begun.
  template <typename Visit>
  void for_begun(const Visit& visit) const {
    for_blocks(0, n_begun_, visit);
  }

  /// Leaves each variant some of its columns.
  /// @param kept  ascending; `columns` are all columns of the batch.
  void keep(std::span<const Index> kept) {
    for (Index v = 0; v < changes_.size(); ++v) {
      copy_columns(of(v, 1), kept, all_.cols(v * kept.size(), kept.size()));
    }
    all_ = all_.cols(0, changes_.size() * kept.size());
    columns_ = kept;
  }

 private:
  blas::View of(Index first, Index count) const {
    return all_.cols(first * columns_.size(), count * columns_.size());
  }

  // In blocks wide enough for products.
  template <typename Visit>
  void for_blocks(Index begin, Index end, const Visit& visit) const {
    const Index block = variants_per_step(columns_.size());
    for (Index first = begin; first < end; first += block) {
      const Index count = std::min(block, end - first);
      visit(changes_.subspan(first, count), of(first, count));
    }
  }

  std::span<const VariantChange> changes_;  // in ascending order of place
  Matrix memory_;                           // d_model x (columns x variants)
  blas::View all_;                          // the part of it in use
  std::span<const Index> columns_;
  Index n_begun_ = 0;
};

std::vector<TokenLoss> DifferencePass::losses(const SequenceBatch& batch,
                                              const TokenLoss& clean_loss,
                                              std::span<const VariantChange> changes,
                                              const DifferenceMethod& method) {
  const std::vector<std::size_t> order = order_of(changes, config_);
  std::vector<TokenLoss> results(changes.size());
  const Index group = variants_per_group(clean_.n_token());
  for (std::size_t first = 0; first < order.size(); first += group) {
    std::vector<VariantChange> chosen;
    for (std::size_t i = first; i < std::min<std::size_t>(first + group, order.size()); ++i) {
      chosen.push_back(changes[order[i]]);
    }
    std::vector<TokenLoss> losses = losses_together(batch, clean_loss, chosen, method);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      results[order[first + i]] = std::move(losses[i]);
    }
  }
  return results;
}

std::vector<double> DifferencePass::first_moves(std::span<const VariantChange> changes,
                                                const Products& products) {
  std::vector<Index> every(clean_.n_token());
  std::iota(every.begin(), every.end(), 0);
  std::vector<double> moves;
  for (const VariantChange& change : changes) {
    Matrix first = first_.matrix(config_.d_model, every.size());
    first.zeros();
    start(change.start, std::span(&change, 1), products, every, first);
    const Matrix stream = clean_.resid_mid(change.start.layer);
    double sum = 0;
    for (const Index column : every) {
      const float* const moved = first.colptr(column);
      const float* const clean = stream.colptr(column);
      const double squares = dot(clean, clean, config_.d_model);
      sum += squares > 0 ? dot(moved, moved, config_.d_model) / squares : 0;
    }
    moves.push_back(std::sqrt(sum / static_cast<double>(every.size())));
  }
  return moves;
}

// After the attention of the last layer, only the columns that predict something go on.
//
// @param changes  in ascending order of place, at most variants_per_group.
std::vector<TokenLoss> DifferencePass::losses_together(const SequenceBatch& batch,
                                                       const TokenLoss& clean_loss,
                                                       std::span<const VariantChange> changes,
                                                       const DifferenceMethod& method) {
  if (batch.predictions.empty()) return std::vector<TokenLoss>(changes.size());
  const PredictingColumns predicting(batch.predictions);
  std::vector<Index> every(clean_.n_token());
  std::iota(every.begin(), every.end(), 0);
  Streams streams(config_.d_model, every, changes);
  DifferenceProducts products = method.products;
  products.differences = products.differences.for_columns(streams.all().n_col);
  const auto begin_at = [&](StartPoint point) {
    streams.begin_at(VariantChange::place_of(point), [&](auto of_block, blas::View stream) {
      start(point, of_block, products.differences, streams.columns(), stream);
    });
  };
  const Index last = config_.n_layer - 1;
  for (Index l = std::min(changes.front().start.layer, last); l <= last; ++l) {
    const Layer layer(model_, l);
    begin_at({l, StartPoint::Sublayer::attention});
    if (streams.n_begun() > 0) {
      attention_.set(layer.ln_1, layer.attention, batch.sequences, clean_.resid(l), products);
    }
    if (config_.parallel_residual) {
      if (streams.n_begun() > 0) {
        mlp_.set(layer.ln_2, layer.mlp, clean_.mlp_input(l), products);
      }
      streams.for_begun([&](auto of_block, blas::View stream) {
        Matrix read = read_.matrix(stream.n_row, stream.n_col);
        copy(stream, read);
        add_attention(l, of_block, read, stream);
        mlp_.compute(read, stream, true);
      });
      begin_at({l, StartPoint::Sublayer::mlp});
      if (l == last) streams.keep(predicting.columns);
      continue;
    }
    streams.for_begun(
        [&](auto of_block, blas::View stream) { add_attention(l, of_block, stream, stream); });
    begin_at({l, StartPoint::Sublayer::mlp});
    if (l == last) streams.keep(predicting.columns);
    const Matrix read = clean_of(clean_.mlp_input(l), streams.columns());
    mlp_.set(layer.ln_2, layer.mlp, read, products);
    mlp_.compute(streams.begun(), streams.begun(), true);
  }
  begin_at({config_.n_layer, StartPoint::Sublayer::attention});
  return losses_of(predicting, clean_loss, streams, method);
}

std::vector<TokenLoss> DifferencePass::losses_of(const PredictingColumns& predicting,
                                                 const TokenLoss& clean_loss,
                                                 const Streams& streams,
                                                 const DifferenceMethod& method) {
  const Norm norm = final_norm(model_);
  const Matrix resid_final = clean_of(clean_.resid(config_.n_layer), streams.columns());
  Matrix ln = clean_normalized_.matrix(config_.d_model, streams.columns().size());
  norm.apply(resid_final, ln);
  norm.difference(resid_final, streams.all(), streams.all());
  if (mean_unembedding_.is_empty()) mean_unembedding_ = arma::mean(model_.unembedding(), 1);
  if (!method.is_sampled) {
    return losses_of_differences(model_, mean_unembedding_, method.products, ln, streams.all(),
                                 clean_loss, predicting.predictions, vocabulary_);
  }
  if (!entries_) entries_.emplace(model_.unembedding(), mean_unembedding_, method.products.logits);
  if (!draw_) {
    draw_.emplace(model_, *entries_, method.products.passes, ln, predicting.predictions, sample_);
  }
  return draw_->losses(ln, streams.all(), clean_loss, predicting.predictions);
}

// Some columns of clean activations.
Matrix DifferencePass::clean_of(const Matrix& X, std::span<const Index> columns) {
  Matrix chosen = clean_chosen_.matrix(X.n_rows, columns.size());
  copy_columns(X, columns, chosen);
  return chosen;
}

// The first difference of variants that begin here. Heads are replaced in all columns of the batch.
// @param columns  of the batch, which each variant has in `stream`.
void DifferencePass::start(StartPoint point, std::span<const VariantChange> changes,
                           const Products& differences, std::span<const Index> columns,
                           blas::View stream) {
  const Index n_column = columns.size();
  for (Index first = 0, end = 0; first < changes.size(); first = end) {
    const ZRows rows = replaced_rows(changes[first], config_);
    while (end < changes.size() && replaced_rows(changes[end], config_) == rows) ++end;
    if (rows.count == 0) continue;
    Matrix dz = z_.matrix(rows.count, (end - first) * n_column);
    dz.zeros();
    for (Index i = first; i < end; ++i) {
      replace_heads(changes[i], point.layer, config_, clean_.z(point.layer), rows,
                    blas::View(dz).cols((i - first) * n_column, n_column));
    }
    differences.multiply(
        blas::ConstView(model_.layers[point.layer].W_O).cols(rows.first, rows.count),
        blas::Transpose::no, dz, stream.cols(first * n_column, dz.n_cols));
  }
  for (Index i = 0; i < changes.size(); ++i) {
    if (changes[i].replaces_heads()) continue;
    copy_columns(changes[i].difference, columns, stream.cols(i * n_column, n_column));
  }
}

// @param read    what the layer reads, all columns of the batch; may be `stream`.
// @param stream  adds what the attention writes.
void DifferencePass::add_attention(Index l, std::span<const VariantChange> changes,
                                   blas::ConstView read, blas::View stream) {
  Matrix dz = z_.matrix(config_.d_z(), stream.n_col);
  const Matrix clean_z = clean_.z(l);
  attention_.mix(read, clean_z, dz);
  for (Index i = 0; i < changes.size(); ++i) {
    replace_heads(changes[i], l, config_, clean_z, {0, config_.d_z()},
                  blas::View(dz).cols(i * clean_z.n_cols, clean_z.n_cols));
  }
  attention_.write(dz, stream);
}

Index DifferencePass::stacked_columns(Index n_token) {
  return variants_per_group(n_token) * n_token;
}

std::uint64_t DifferencePass::bytes(const ModelConfig& config, Index n_token, int n_thread,
                                    const Engines& engines, const VocabularySample& sample) {
  const std::uint64_t d_model = config.d_model;
  const Index n_variant = variants_per_group(n_token), n_stacked = stacked_columns(n_token),
              n_layer_column =
                  std::max<Index>(variants_per_step(n_token) * n_token, variants_per_step(1));
  // Chosen columns of the clean stream, the normalized ones and a first difference; z, and with a
  // parallel residual what a layer reads.
  const std::uint64_t of_layer = config.d_z() + (config.parallel_residual ? d_model : 0);
  const std::uint64_t floats =
      d_model * n_stacked + 3 * d_model * n_token + of_layer * n_layer_column;
  const std::uint64_t of_sample =
      sample.is_whole()
          ? 0
          : CentredEntries::bytes(d_model, config.d_vocab, n_variant, n_thread, engines.logits) +
                VocabularyDraw::bytes(d_model, config.d_vocab, n_token, n_variant, n_thread,
                                      sample);
  return floats * sizeof(float) + of_sample +
         AttentionDifference::bytes(config, n_token, n_layer_column, engines.differences) +
         MlpDifference::bytes(config, n_token, n_layer_column, n_thread, engines.differences) +
         CleanVocabulary::bytes(d_model, config.d_vocab, n_token) +
         loss_difference_bytes(d_model, n_token, n_stacked, n_thread, engines.logits);
}

}  // namespace headscope
