#include "compute/sampled_loss.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/thread_errors.hpp"
#include "base/vector_math.hpp"
#include "compute/buffer.hpp"
#include "compute/loss_difference.hpp"
#include "compute/ops.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

// Columns whose logits are computed at once, entries of the vocabulary likewise, and entries whose
// rows are gathered for one product: those stay in the second-level cache.
constexpr Index clean_columns = 256, clean_entries = 1024, gathered_entries = 128;

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

// A thread's entries of the unembedding, d_model x entries, and the variants' differences.
struct ChosenEntries {
  Buffer rows;
  PackedColumns columns;
  PackedWeights differences;
};

// What the variants need of the entries of one column so far, in the order of the variants.
struct EntrySums : Buffer {
  std::vector<float> mean;                             // of d
  std::vector<float> curvature;                        // of weight (e^d - 1 - d), a few entries
  std::vector<double> log_sum;                         // its sum over all entries, then log1p
  std::vector<float> largest_probable, largest_drawn;  // d
  std::vector<float> largest_logit;

  void reset(Index n_variant) {
    mean.resize(n_variant);
    curvature.assign(n_variant, 0);
    log_sum.assign(n_variant, 0);
    for (std::vector<float>* largest : {&largest_probable, &largest_drawn, &largest_logit}) {
      largest->assign(n_variant, -infinity);
    }
  }
};

// One entry's differences of logits, of all variants.
HEADSCOPE_VECTORISED void add_entry(const float* differences, float weight, float logit,
                                    const float* mean, Index n_variant, float* curvature,
                                    float* largest, float* largest_logit) {
#pragma omp simd
  for (Index v = 0; v < n_variant; ++v) {
    const float d = differences[v] - mean[v], changed = logit + d;
    constexpr float lowest = vector_math::least_exponent;
    const float raised = vector_math::select(d < lowest, lowest, d);
    const float x = vector_math::select(raised > 88.0F, 88.0F, raised);
    curvature[v] += weight * (vector_math::exponential_change(x) - d);
    largest[v] = d > largest[v] ? d : largest[v];
    largest_logit[v] = changed > largest_logit[v] ? changed : largest_logit[v];
  }
}

// Short float sums, added up in double.
void add_column_entries(const VocabularyDraw::Column& column, const Matrix& d, EntrySums& sums) {
  constexpr Index stretch = 64;
  const Index n_entry = column.entries.size(), n_variant = d.n_rows;
  for (Index i = 0; i < n_entry; ++i) {
    const bool is_probable = i < column.n_probable;
    add_entry(d.colptr(i), column.weights[i], column.logits[i], sums.mean.data(), n_variant,
              sums.curvature.data(),
              (is_probable ? sums.largest_probable : sums.largest_drawn).data(),
              sums.largest_logit.data());
    if ((i + 1) % stretch != 0 && i + 1 < n_entry) continue;
    for (Index v = 0; v < n_variant; ++v) {
      sums.log_sum[v] += static_cast<double>(sums.curvature[v]);
      sums.curvature[v] = 0;
    }
  }
  for (double& sum : sums.log_sum) sum = std::log1p(sum);
}

// Whether entries that were not drawn cannot decide the loss.
bool is_trusted(const EntrySums& sums, Index variant) {
  return sums.largest_drawn[variant] < trusted_change &&
         sums.largest_probable[variant] < trusted_rise && sums.mean[variant] > -trusted_rise;
}

}  // namespace

CentredEntries::CentredEntries(const Matrix& unembedding, const Vector& mean,
                               const Products& products)
    : unembedding_(unembedding), mean_(mean), products_(products) {
  if (!products.packs()) return;
  packed_.set_size(unembedding.n_rows, unembedding.n_cols, products);
  constexpr Index at_once = 512;
  for_blocks_in_parallel(unembedding.n_cols, at_once, [&](Index first, Index count) {
    Vector centred(unembedding.n_rows);
    for (Index v = first; v < first + count; ++v) {
      subtract_columns(unembedding.colptr(v), mean.memptr(), centred.n_elem, centred.memptr());
      packed_.set_column(v, centred.memptr());
    }
  });
}

void CentredEntries::multiply(blas::ConstView D, std::span<const TokenId> entries,
                              blas::View Y) const {
  auto& chosen = products_.scratch().of_thread<ChosenEntries>();
  if (products_.packs()) chosen.differences.set(D, blas::Transpose::yes, products_);
  for (Index first = 0; first < entries.size(); first += gathered_entries) {
    const Index count = std::min(gathered_entries, entries.size() - first);
    const std::span<const TokenId> some = entries.subspan(first, count);
    if (products_.packs()) {
      chosen.columns.take(packed_, some);
      chosen.differences.multiply(chosen.columns, Y.cols(first, count));
      continue;
    }
    Matrix rows = chosen.rows.matrix(D.n_row, count);
    for (Index i = 0; i < count; ++i) {
      subtract_columns(unembedding_.colptr(static_cast<Index>(some[i])), mean_.memptr(), D.n_row,
                       rows.colptr(i));
    }
    blas::multiply_serial(D, blas::Transpose::yes, rows, blas::Transpose::no, Y.cols(first, count));
  }
}

std::uint64_t CentredEntries::bytes(Index d_model, Index d_vocab, Index n_variant, int n_thread,
                                    Engine engine) {
  const std::uint64_t of_thread = packed_bytes(d_model, gathered_entries, engine) +
                                  packed_bytes(d_model, n_variant, engine) +
                                  d_model * gathered_entries * sizeof(float);
  return packed_bytes(d_model, d_vocab, engine) + n_thread * of_thread;
}

VocabularyDraw::VocabularyDraw(const Model& model, const CentredEntries& entries,
                               const Products& passes, blas::ConstView normalized,
                               std::span<const SequenceBatch::Prediction> predictions,
                               const VocabularySample& sample)
    : model_(model),
      entries_(entries),
      passes_(passes),
      columns_(normalized.n_col),
      expected_entry_(normalized.n_row, normalized.n_col) {
  const Matrix& unembedding = model.unembedding();
  const Index d_vocab = unembedding.n_cols;
  for (Index i = 0; i < predictions.size(); ++i) {
    columns_[predictions[i].column].predictions.push_back(i);
  }
  Matrix p(d_vocab, std::min(clean_columns, normalized.n_col), arma::fill::none);
  for (Index first = 0; first < normalized.n_col; first += clean_columns) {
    const Index count = std::min(clean_columns, normalized.n_col - first);
    const blas::View chosen = blas::View(p).cols(0, count),
                     expected = blas::View(expected_entry_).cols(first, count);
    const auto for_entries = [&](const auto& multiply) {
      for (Index entry = 0; entry < d_vocab; entry += clean_entries) {
        const Index n_entry = std::min(clean_entries, d_vocab - entry);
        multiply(blas::ConstView(unembedding).cols(entry, n_entry), chosen.rows(entry, n_entry),
                 entry > 0);
      }
    };
    for_entries([&](blas::ConstView entries_here, blas::View logits, bool) {
      passes.multiply(entries_here, blas::Transpose::yes, normalized.cols(first, count), logits);
    });
    for_each_in_parallel(count, [&](Index c) {
      if (!model.b_U.is_empty()) add_scaled(model.b_U.memptr(), 1, d_vocab, p.colptr(c));
      softmax(p.colptr(c), d_vocab);
    });
    for_entries([&](blas::ConstView entries_here, blas::View probabilities, bool add) {
      passes.multiply(entries_here, blas::Transpose::no, probabilities, expected, add);
    });
    for_each_in_parallel(count, [&](Index c) {
      expected_entry_.col(first + c) -= entries.mean();
      choose(columns_[first + c], predictions, p.colptr(c), sample);
    });
  }
}

// Leaves what is not probable in p.
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
    const bool is_probable = p[v] > 0 && p[v] >= least;
    if (is_probable || std::ranges::count(targets, v) > 0) add(v, static_cast<double>(p[v]));
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
    auto& sums = passes_.scratch().of_thread<EntrySums>();
    const blas::ConstView changes(D.column(t), d_model, n_variant, D.stride * n_clean);
    Matrix d = sums.matrix(n_variant, column.entries.size());
    sums.reset(n_variant);
    for (Index v = 0; v < n_variant; ++v) {
      sums.mean[v] = static_cast<float>(dot(expected_entry_.colptr(t), changes.column(v), d_model));
    }
    entries_.multiply(changes, column.entries, blas::View(d));
    add_column_entries(column, d, sums);
    for (Index v = 0; v < n_variant; ++v) {
      const double of_mean = dot(entries_.mean().memptr(), changes.column(v), d_model);
      for (Index i = 0; i < column.predictions.size(); ++i) {
        const Index prediction = column.predictions[i], place = column.targets[i];
        const auto target = static_cast<Index>(column.entries[place]);
        const double of_target =
            dot(model_.unembedding().colptr(target), changes.column(v), d_model) - of_mean -
            static_cast<double>(sums.mean[v]);
        losses[v].nll[prediction] = clean.nll[prediction] + sums.log_sum[v] - of_target;
        losses[v].correct[prediction] =
            column.logits[place] + (d(v, place) - sums.mean[v]) >= sums.largest_logit[v] ? 1 : 0;
        is_inexact[v][prediction] = is_trusted(sums, v) ? 0 : 1;
      }
    }
  });
  std::vector<VariantPrediction> inexact;
  for (Index v = 0; v < n_variant; ++v) {
    for (Index i = 0; i < predictions.size(); ++i) {
      if (is_inexact[v][i] != 0) inexact.push_back({v, i});
    }
  }
  replace_losses(model_, passes_, normalized, D, predictions, inexact, losses);
  return losses;
}

std::uint64_t VocabularyDraw::bytes(Index d_model, Index d_vocab, Index n_column, Index n_variant,
                                    int n_thread, const VocabularySample& sample) {
  const std::uint64_t n_entry = sample.n_probable + sample.n_drawn,
                      of_entry = sizeof(TokenId) + 2 * sizeof(float),
                      of_variant = sizeof(double) + 5 * sizeof(float);
  const std::uint64_t clean = d_vocab * std::min(clean_columns, n_column);
  return n_column * (2 * n_entry * of_entry + d_model * sizeof(float)) + clean * sizeof(float) +
         n_thread * ((d_vocab + n_entry * n_variant) * sizeof(float) + n_variant * of_variant);
}

}  // namespace headscope
