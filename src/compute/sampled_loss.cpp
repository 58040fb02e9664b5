#include "compute/sampled_loss.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/thread_errors.hpp"
#include "base/vector_math.hpp"
#include "compute/buffer.hpp"
#include "compute/loss_difference.hpp"
#include "compute/ops.hpp"
#include "compute/softmax.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

// Columns whose logits are computed at once, entries of the vocabulary likewise, and entries whose
// rows are gathered for one product: those stay in the second-level cache.
constexpr Index clean_columns = 64, clean_entries = 1024, gathered_entries = 128;

// Where the logit of an entry that is drawn rises by more, entries that are not drawn may decide
// the loss: it is computed from all. On text, a fortieth of the losses.
constexpr float trusted_change = 2;
// Where probable entries rise by more, or fall by more, entries of vanishing probability may
// decide.
constexpr float trusted_rise = 20;

HEADSCOPE_VECTORISED void subtract_columns(const float* x, const float* y, Index count, float* to) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) to[i] = x[i] - y[i];
}

// A thread's rows of the unembedding, d_model x entries, and differences of logits, entries x
// variants.
struct ChosenEntries {
  Buffer rows, differences;
};

struct Estimate {
  double log_sum = 0;  // ln of the sum of p e^d, d measured from its mean
  float largest_logit = -infinity;
  bool is_trusted = true;
};

struct Curvature {
  float probable = 0, drawn = 0;                                  // sums of weight (e^d - 1 - d)
  float largest_probable = -infinity, largest_drawn = -infinity;  // d
  float largest_logit = -infinity;
};

// Makes d the difference from its mean.
HEADSCOPE_VECTORISED Curvature curvature_of(const float* logits, const float* weights,
                                            Index n_probable, Index n_entry, float mean, float* d) {
  float probable = 0, drawn = 0, logit = -infinity;
  float largest_probable = -infinity, largest_drawn = -infinity;
#pragma omp simd reduction(max : logit)
  for (Index i = 0; i < n_entry; ++i) {
    d[i] -= mean;
    const float changed = logits[i] + d[i];
    logit = changed > logit ? changed : logit;
  }
#pragma omp simd reduction(+ : probable) reduction(max : largest_probable)
  for (Index i = 0; i < n_probable; ++i) {
    const float x = vector_math::select(d[i] > 88.0F, 88.0F, d[i]);
    probable += weights[i] * (vector_math::exponential_and_change(x).change - d[i]);
    largest_probable = d[i] > largest_probable ? d[i] : largest_probable;
  }
#pragma omp simd reduction(+ : drawn) reduction(max : largest_drawn)
  for (Index i = n_probable; i < n_entry; ++i) {
    const float x = vector_math::select(d[i] > 88.0F, 88.0F, d[i]);
    drawn += weights[i] * (vector_math::exponential_and_change(x).change - d[i]);
    largest_drawn = d[i] > largest_drawn ? d[i] : largest_drawn;
  }
  return {probable, drawn, largest_probable, largest_drawn, logit};
}

Estimate estimate_of(const VocabularyDraw::Column& column, float mean, float* d) {
  const Curvature sums = curvature_of(column.logits.data(), column.weights.data(),
                                      column.n_probable, column.entries.size(), mean, d);
  return {std::log1p(static_cast<double>(sums.probable) + static_cast<double>(sums.drawn)),
          sums.largest_logit,
          sums.largest_drawn < trusted_change && sums.largest_probable < trusted_rise &&
              mean > -trusted_rise};
}

// Probabilities of all entries, from their logits.
void normalise(float* logits, Index count) {
  const double sum = exponentiate(logits, count, maximum(logits, count));
  scale(logits, count, static_cast<float>(1 / sum));
}

}  // namespace

VocabularyDraw::VocabularyDraw(const Model& model, const Vector& mean_unembedding,
                               const Products& passes, blas::ConstView normalized,
                               std::span<const SequenceBatch::Prediction> predictions,
                               const VocabularySample& sample)
    : model_(model),
      mean_unembedding_(mean_unembedding),
      passes_(passes),
      columns_(normalized.n_col),
      tail_(normalized.n_row, normalized.n_col) {
  const Matrix& unembedding = model.unembedding();
  const Index d_vocab = unembedding.n_cols;
  for (Index i = 0; i < predictions.size(); ++i) {
    columns_[predictions[i].column].predictions.push_back(i);
  }
  Matrix p(d_vocab, std::min(clean_columns, normalized.n_col), arma::fill::none);
  for (Index first = 0; first < normalized.n_col; first += clean_columns) {
    const Index count = std::min(clean_columns, normalized.n_col - first);
    const blas::View chosen = blas::View(p).cols(0, count);
    for (Index entry = 0; entry < d_vocab; entry += clean_entries) {
      const Index n_entry = std::min(clean_entries, d_vocab - entry);
      passes.multiply(blas::ConstView(unembedding).cols(entry, n_entry), blas::Transpose::yes,
                      normalized.cols(first, count), chosen.rows(entry, n_entry));
    }
    for_each_in_parallel(count, [&](Index c) {
      if (!model.b_U.is_empty()) add_scaled(model.b_U.memptr(), 1, d_vocab, p.colptr(c));
      normalise(p.colptr(c), d_vocab);
      choose(columns_[first + c], predictions, p.colptr(c), sample);
    });
    blas::multiply(unembedding, chosen, blas::View(tail_).cols(first, count));
    for (Index c = 0; c < count; ++c) {
      double left = 0;
      for (Index v = 0; v < d_vocab; ++v) left += static_cast<double>(p(v, c));
      tail_.col(first + c) -= static_cast<float>(left) * mean_unembedding;
    }
  }
}

// Leaves the tail in p.
void VocabularyDraw::choose(Column& column, std::span<const SequenceBatch::Prediction> predictions,
                            float* p, const VocabularySample& sample) {
  const Index d_vocab = model_.unembedding().n_cols;
  const auto add = [&](Index entry, double weight) {
    column.entries.push_back(static_cast<TokenId>(entry));
    column.weights.push_back(static_cast<float>(weight));
    column.logits.push_back(std::log(p[entry]));
  };
  std::vector<float> sorted(p, p + d_vocab);
  const auto last = sorted.begin() + std::min(sample.n_probable, d_vocab) - 1;
  std::ranges::nth_element(sorted, last, std::greater<>());
  const float least = *last;
  std::vector<Index> targets;
  for (const Index i : column.predictions) {
    targets.push_back(static_cast<Index>(predictions[i].target));
  }
  for (Index v = 0; v < d_vocab; ++v) {
    if (p[v] >= least || std::ranges::count(targets, v) > 0) add(v, static_cast<double>(p[v]));
  }
  column.n_probable = column.entries.size();
  for (const Index target : targets) {
    const auto place = std::ranges::find(column.entries, static_cast<TokenId>(target));
    column.targets.push_back(static_cast<Index>(place - column.entries.begin()));
  }
  for (const TokenId entry : column.entries) p[static_cast<Index>(entry)] = 0;
  double left = 0;
  for (Index v = 0; v < d_vocab; ++v) left += static_cast<double>(p[v]);
  if (left == 0 || sample.n_drawn == 0) return;
  const double step = left / static_cast<double>(sample.n_drawn);
  double next =
             CounterRandom(sample.seed, column.predictions.front()).uniform(targets.front()) * step,
         reached = 0;
  for (Index v = 0; v < d_vocab; ++v) {
    reached += static_cast<double>(p[v]);
    Index count = 0;
    for (; next < reached; next += step) ++count;
    if (count > 0) add(v, static_cast<double>(count) * step);
  }
}

std::vector<TokenLoss> VocabularyDraw::losses(
    blas::ConstView normalized, blas::ConstView D, const TokenLoss& clean,
    std::span<const SequenceBatch::Prediction> predictions) const {
  const Index n_clean = columns_.size(), n_variant = D.n_col / n_clean, d_model = D.n_row;
  std::vector<TokenLoss> losses(n_variant);
  for (TokenLoss& loss : losses) {
    loss.nll.resize(predictions.size());
    loss.correct.resize(predictions.size());
  }
  std::vector<std::vector<unsigned char>> is_inexact(
      n_variant, std::vector<unsigned char>(predictions.size(), 0));
  for_each_in_parallel(n_clean, [&](Index t) {
    const Column& column = columns_[t];
    auto& buffers = passes_.scratch().of_thread<ChosenEntries>();
    Matrix rows = buffers.rows.matrix(d_model, gathered_entries);
    const Index n_entry = column.entries.size();
    const blas::ConstView changes(D.column(t), d_model, n_variant, D.stride * n_clean);
    Matrix d = buffers.differences.matrix(n_entry, n_variant);
    for (Index first = 0; first < n_entry; first += gathered_entries) {
      const Index count = std::min(gathered_entries, n_entry - first);
      for (Index i = 0; i < count; ++i) {
        const auto entry = static_cast<Index>(column.entries[first + i]);
        subtract_columns(model_.unembedding().colptr(entry), mean_unembedding_.memptr(), d_model,
                         rows.colptr(i));
      }
      blas::multiply_serial(blas::ConstView(rows).cols(0, count), blas::Transpose::yes, changes,
                            blas::Transpose::no, blas::View(d).rows(first, count));
    }
    for (Index v = 0; v < n_variant; ++v) {
      float* const of_entries = d.colptr(v);
      const double mean = dot(column.weights.data(), of_entries, column.n_probable) +
                          dot(tail_.colptr(t), changes.column(v), d_model);
      const Estimate estimate = estimate_of(column, static_cast<float>(mean), of_entries);
      for (Index i = 0; i < column.predictions.size(); ++i) {
        const Index prediction = column.predictions[i], target = column.targets[i];
        losses[v].nll[prediction] =
            clean.nll[prediction] + estimate.log_sum - static_cast<double>(of_entries[target]);
        losses[v].correct[prediction] =
            column.logits[target] + of_entries[target] >= estimate.largest_logit ? 1 : 0;
        is_inexact[v][prediction] = estimate.is_trusted ? 0 : 1;
      }
    }
  });
  for (Index v = 0; v < n_variant; ++v) {
    std::vector<Index> inexact;
    for (Index i = 0; i < predictions.size(); ++i) {
      if (is_inexact[v][i] != 0) inexact.push_back(i);
    }
    replace_losses(model_, passes_, normalized, D.cols(v * n_clean, n_clean), predictions, inexact,
                   losses[v]);
  }
  return losses;
}

std::uint64_t VocabularyDraw::bytes(Index d_model, Index d_vocab, Index n_column, Index n_variant,
                                    int n_thread, const VocabularySample& sample) {
  const std::uint64_t n_entry = sample.n_probable + sample.n_drawn,
                      of_entry = sizeof(TokenId) + 2 * sizeof(float);
  const std::uint64_t clean = d_vocab * std::min(clean_columns, n_column);
  return n_column * (2 * n_entry * of_entry + d_model * sizeof(float)) + clean * sizeof(float) +
         n_thread * (d_vocab + gathered_entries * d_model + n_entry * n_variant) * sizeof(float);
}

}  // namespace headscope
