#include "compute/loss_difference.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/thread_errors.hpp"
#include "base/vector_math.hpp"
#include "compute/buffer.hpp"
#include "compute/ops.hpp"
#include "compute/token_loss.hpp"

namespace headscope {
namespace {

// A thread's logits (vocabulary_chunk x most_columns) stay in its share of the cache.
constexpr Index most_columns = 256, least_columns = 64;

// Beyond this difference of a logit from its mean, e^d times a vanishing clean probability can
// matter.
constexpr float trusted_difference = 60.0F;
// Where the second order adds more to the loss, the errors of the logits' engine count.
constexpr double trusted_curvature = 0.5;

// What a variant's column needs of the vocabulary processed so far. Differences d are measured from
// their mean under p.
struct Sums {
  double clean = 0;      // of p
  double curvature = 0;  // of p (exp(d) - 1 - d)
  float largest_logit = -infinity;
  float largest_difference = -infinity;

  bool is_trusted() const {
    return largest_difference < trusted_difference && std::isfinite(curvature);
  }
  bool is_of_first_order() const { return curvature < trusted_curvature * clean; }
};

// A thread's differences of logits: a chunk of the vocabulary x some columns.
struct ColumnDifferences : Buffer {};

// What a variant's prediction needs of its target.
struct Target {
  float logit = 0;
  bool lost = false;  // an entry with a lower id is as large
};

// Adds a chunk of the vocabulary to the sums of a column: float sums, added up in double.
HEADSCOPE_VECTORISED void add_chunk(const float* logits, const float* p, const float* d, float mean,
                                    Index count, Sums& sums) {
  float most = -infinity, least = infinity, largest = -infinity;
#pragma omp simd reduction(max : most, largest) reduction(min : least)
  for (Index v = 0; v < count; ++v) {
    const float x = d[v] - mean, logit = logits[v] + d[v];
    most = x > most ? x : most;
    least = x < least ? x : least;
    largest = logit > largest ? logit : largest;
  }
  float curvature = 0;
  constexpr float small = vector_math::small_exponent;
  if (-small < least && most < small) {
#pragma omp simd reduction(+ : curvature)
    for (Index v = 0; v < count; ++v) {
      const float x = d[v] - mean;
      curvature += p[v] * (vector_math::small_exponential_change(x) - x);
    }
  } else if (vector_math::least_exponent < least && most < trusted_difference) {
#pragma omp simd reduction(+ : curvature)
    for (Index v = 0; v < count; ++v) {
      const float x = d[v] - mean;
      curvature += p[v] * (vector_math::exponential_change(x) - x);
    }
  } else {
    curvature = infinity;  // so that the sums are not trusted
  }
  sums.curvature += static_cast<double>(curvature);
  sums.largest_difference = most > sums.largest_difference ? most : sums.largest_difference;
  sums.largest_logit = largest > sums.largest_logit ? largest : sums.largest_logit;
}

class LossDifference {
 public:
  LossDifference(const Model& model, const Vector& mean_unembedding,
                 const DifferenceProducts& products, blas::ConstView normalized, blas::ConstView D,
                 const TokenLoss& clean, std::span<const SequenceBatch::Prediction> predictions,
                 CleanVocabulary& vocabulary)
      : model_(model),
        mean_unembedding_(mean_unembedding),
        logits_(products.logits.for_columns(D.n_col)),
        passes_(products.passes),
        is_guarded_(products.is_guarded),
        normalized_(normalized),
        D_(D),
        clean_(clean),
        predictions_(predictions),
        vocabulary_(vocabulary),
        predictions_of_(n_clean()),
        sums_(D.n_col),
        targets_(n_variant() * predictions.size()) {
    for (Index i = 0; i < predictions.size(); ++i) {
      predictions_of_[predictions[i].column].push_back(i);
    }
    pack_D();
  }

  std::vector<TokenLoss> run() {
    const Index d_vocab = model_.unembedding().n_cols;
    find_clean_shifts();
    if (vocabulary_.expected_entry.is_empty()) find_vocabulary();
    find_means();
    for (Index first = 0; first < d_vocab; first += vocabulary_chunk) {
      run_chunk(first, std::min(vocabulary_chunk, d_vocab - first));
    }
    add_probable();
    return losses();
  }

 private:
  Index n_clean() const { return normalized_.n_col; }
  Index n_column() const { return sums_.size(); }
  Index n_variant() const { return n_column() / n_clean(); }
  Index target(Index prediction) const {
    return static_cast<Index>(predictions_[prediction].target);
  }

  // All variants of a token lie together, so that they share its clean values in the cache; but
  // OpenBLAS takes D as it is.
  Index column_at(Index place) const {
    return logits_.packs() ? place % n_variant() * n_clean() + place / n_variant() : place;
  }

  void pack_D() {
    if (!logits_.packs()) {
      packed_D_.set(D_, logits_);
      return;
    }
    packed_D_.set_size(D_.n_row, D_.n_col, logits_);
#pragma omp parallel for schedule(static)
    for (Index place = 0; place < n_column(); ++place) {
      packed_D_.set_column(place, D_.column(column_at(place)));
    }
  }

  // Log sum exp of the clean logits.
  void find_clean_shifts() {
    const Matrix& unembedding = model_.unembedding();
    clean_shift_.zeros(n_clean());
    for (Index i = 0; i < predictions_.size(); ++i) {
      const Index column = predictions_[i].column;
      const double bias = model_.b_U.is_empty() ? 0 : static_cast<double>(model_.b_U(target(i)));
      clean_shift_(column) = static_cast<float>(
          clean_.nll[i] + bias +
          dot(unembedding.colptr(target(i)), normalized_.column(column), normalized_.n_row));
    }
  }

  void find_vocabulary() {
    const Index d_vocab = model_.unembedding().n_cols;
    Matrix& sum = vocabulary_.expected_entry;
    sum.zeros(D_.n_row, n_clean());
    vocabulary_.probable.assign(n_clean(), {});
    arma::vec clean(n_clean(), arma::fill::zeros);
    for (Index first = 0; first < d_vocab; first += vocabulary_chunk) {
      const Index count = std::min(vocabulary_chunk, d_vocab - first);
      compute_clean(first, count);
      find_probable(first, count);
      centre_entries(first, count);
      passes_.multiply(entries_, blas::Transpose::no, clean_p_, sum, true);
      clean += clean_sum_;
    }
    for (Index t = 0; t < n_clean(); ++t) sum.col(t) /= static_cast<float>(clean(t));
  }

  void find_probable(Index first, Index count) {
    for_each_in_parallel(n_clean(), [&](Index t) {
      const float* const p = clean_p_.colptr(t);
      for (Index v = 0; v < count; ++v) {
        if (p[v] >= CleanVocabulary::probable_from) {
          vocabulary_.probable[t].push_back({static_cast<TokenId>(first + v), p[v]});
        }
      }
    });
  }

  void find_means() {
    common_.set_size(n_column());
    means_.set_size(n_column());
#pragma omp parallel for schedule(static)
    for (Index c = 0; c < n_column(); ++c) {
      const float* const difference = D_.column(c);
      common_(c) = dot(mean_unembedding_.memptr(), difference, D_.n_row);
      means_(c) = dot(vocabulary_.expected_entry.colptr(c % n_clean()), difference, D_.n_row);
    }
  }

  void run_chunk(Index first, Index count) {
    compute_clean(first, count);
    leave_out_probable(first, count);
    centre_entries(first, count);
    entries_product_.set(entries_, blas::Transpose::yes, logits_);
    const auto n_thread = static_cast<Index>(blas::thread_count());
    const Index block =
        std::clamp((n_column() / n_thread + 1) / Arithmetic::block * Arithmetic::block,
                   least_columns, most_columns);
    for_blocks_in_parallel(n_column(), block, [&](Index place, Index n_here) {
      Matrix d = passes_.scratch().of_thread<ColumnDifferences>().matrix(count, n_here);
      entries_product_.multiply_serial(packed_D_, place, blas::View(d));
      for (Index c = 0; c < n_here; ++c) {
        add_column(first, count, column_at(place + c), d.colptr(c));
      }
    });
  }

  void leave_out_probable(Index first, Index count) {
    for_each_in_parallel(n_clean(), [&](Index t) {
      for (const CleanVocabulary::Entry& entry : vocabulary_.probable[t]) {
        const auto id = static_cast<Index>(entry.id);
        if (id >= first && id < first + count) clean_p_(id - first, t) = 0;
      }
    });
  }

  void add_probable() {
    for_each_in_parallel(n_clean(), [&](Index t) {
      for (const auto& [id, p] : vocabulary_.probable[t]) {
        for (Index c = t; c < n_column(); c += n_clean()) {
          const double x = difference_of(static_cast<Index>(id), c) - mean_taken(c);
          sums_[c].curvature += static_cast<double>(p) * (std::expm1(x) - x);
        }
      }
    });
  }

  // Of an entry's logit.
  double difference_of(Index entry, Index column) const {
    return dot(model_.unembedding().colptr(entry), D_.column(column), D_.n_row) - common_(column);
  }

  // What the sums take for the mean.
  double mean_taken(Index column) const {
    return static_cast<double>(static_cast<float>(means_(column)));
  }

  // Without the mean over the vocabulary, which moves all logits alike and may be large.
  void centre_entries(Index first, Index count) {
    entries_.set_size(mean_unembedding_.n_elem, count);
#pragma omp parallel for schedule(static)
    for (Index v = 0; v < count; ++v) {
      entries_.col(v) = model_.unembedding().col(first + v) - mean_unembedding_;
    }
  }

  void compute_clean(Index first, Index count) {
    const blas::ConstView entries = blas::ConstView(model_.unembedding()).cols(first, count);
    clean_logits_.set_size(count, n_clean());
    clean_p_.set_size(count, n_clean());
    clean_sum_.set_size(n_clean());
    passes_.multiply(entries, blas::Transpose::yes, normalized_, clean_logits_);
#pragma omp parallel for schedule(static)
    for (Index t = 0; t < n_clean(); ++t) {
      float *const logits = clean_logits_.colptr(t), *const p = clean_p_.colptr(t);
      if (!model_.b_U.is_empty()) add_scaled(model_.b_U.memptr() + first, 1, count, logits);
      for (Index v = 0; v < count; ++v) logits[v] -= clean_shift_(t);
      std::copy_n(logits, count, p);
      clean_sum_(t) = exponentiate(p, count, 0);
    }
  }

  void add_column(Index first, Index count, Index column, const float* d) {
    const Index t = column % n_clean(), variant = column / n_clean();
    const float *const logits = clean_logits_.colptr(t), *const p = clean_p_.colptr(t);
    Sums& sums = sums_[column];
    for (const Index i : predictions_of_[t]) {
      if (target(i) < first || target(i) >= first + count) continue;
      const Index place = target(i) - first;
      Target& found = targets_[variant * predictions_.size() + i];
      found.logit = logits[place] + d[place];
      float before = sums.largest_logit;
      for (Index v = 0; v < place; ++v) before = std::max(before, logits[v] + d[v]);
      found.lost = before >= found.logit;
    }
    sums.clean += clean_sum_(t);
    add_chunk(logits, p, d, static_cast<float>(means_(column)), count, sums);
  }

  std::vector<TokenLoss> losses() const {
    std::vector<TokenLoss> losses(n_variant());
    std::vector<VariantPrediction> inexact;
    for (Index v = 0; v < n_variant(); ++v) {
      TokenLoss& loss = losses[v];
      loss.nll.resize(predictions_.size());
#pragma omp parallel for schedule(static)
      for (Index i = 0; i < predictions_.size(); ++i) loss.nll[i] = loss_of(v, i);
      for (Index i = 0; i < predictions_.size(); ++i) {
        const Sums& sums = sums_[v * n_clean() + predictions_[i].column];
        const Target& found = targets_[v * predictions_.size() + i];
        if (!sums.is_trusted() || (is_guarded_ && !sums.is_of_first_order())) {
          inexact.push_back({v, i});
        }
        loss.correct.push_back(!found.lost && found.logit >= sums.largest_logit ? 1 : 0);
      }
    }
    replace_losses(model_, passes_, normalized_, D_, predictions_, inexact, losses);
    return losses;
  }

  double loss_of(Index variant, Index prediction) const {
    const Index column = variant * n_clean() + predictions_[prediction].column;
    const Sums& sums = sums_[column];
    const double mean = mean_taken(column);
    // The sums leave out what rounding left of the mean.
    const double log_sum = std::log1p(sums.curvature / sums.clean + (means_(column) - mean));
    return clean_.nll[prediction] + log_sum + mean - difference_of(target(prediction), column);
  }

  const Model& model_;
  const Vector& mean_unembedding_;
  Products logits_, passes_;
  bool is_guarded_;
  blas::ConstView normalized_, D_;
  PackedColumns packed_D_;
  const TokenLoss& clean_;
  std::span<const SequenceBatch::Prediction> predictions_;
  CleanVocabulary& vocabulary_;
  std::vector<std::vector<Index>> predictions_of_;  // by clean column
  Vector clean_shift_;
  // Of the chunk, by clean column: logits relative to about log sum exp, and their exponentials.
  Matrix clean_logits_, clean_p_;
  Matrix entries_;  // of the chunk, centred
  WeightProduct entries_product_;
  arma::vec clean_sum_;  // of the chunk's probabilities
  arma::vec common_;     // to all logits, by column of D
  arma::vec means_;      // of d under p, likewise
  std::vector<Sums> sums_;
  std::vector<Target> targets_;  // variant by variant
};

}  // namespace

std::uint64_t CleanVocabulary::bytes(Index d_model, Index d_vocab, Index n_column) {
  const Index most_probable = std::min(d_vocab, static_cast<Index>(1 / probable_from));
  return n_column *
         (d_model * sizeof(float) + sizeof(probable.front()) + most_probable * sizeof(Entry));
}

std::vector<TokenLoss> losses_of_differences(const Model& model, const Vector& mean_unembedding,
                                             const DifferenceProducts& products,
                                             blas::ConstView normalized, blas::ConstView D,
                                             const TokenLoss& clean,
                                             std::span<const SequenceBatch::Prediction> predictions,
                                             CleanVocabulary& vocabulary) {
  return LossDifference(model, mean_unembedding, products, normalized, D, clean, predictions,
                        vocabulary)
      .run();
}

void replace_losses(const Model& model, const Products& passes, blas::ConstView normalized,
                    blas::ConstView D, std::span<const SequenceBatch::Prediction> predictions,
                    std::span<const VariantPrediction> which, std::vector<TokenLoss>& losses) {
  // As many as a variant may have: together, because each product packs the vocabulary.
  const Index at_once = predictions.size();
  for (Index first = 0; first < which.size(); first += at_once) {
    const auto some = which.subspan(first, std::min(at_once, which.size() - first));
    Matrix changed(normalized.n_row, some.size());
    TokenIds targets;
    for (Index i = 0; i < some.size(); ++i) {
      const SequenceBatch::Prediction& prediction = predictions[some[i].prediction];
      const float* const clean = normalized.column(prediction.column);
      const float* const difference =
          D.column(some[i].variant * normalized.n_col + prediction.column);
      std::transform(clean, clean + normalized.n_row, difference, changed.colptr(i), std::plus<>());
      targets.push_back(prediction.target);
    }
    const TokenLoss replacing =
        token_loss(changed, model.unembedding(), model.b_U, targets, passes);
    for (Index i = 0; i < some.size(); ++i) {
      TokenLoss& loss = losses[some[i].variant];
      loss.nll[some[i].prediction] = replacing.nll[i];
      loss.correct[some[i].prediction] = replacing.correct[i];
    }
  }
}

std::uint64_t loss_difference_bytes(Index d_model, Index n_token, Index n_column, int n_thread,
                                    Engine engine) {
  const std::uint64_t chunks = 2 * n_token + d_model + n_thread * std::min(most_columns, n_column);
  return vocabulary_chunk * chunks * sizeof(float) +
         n_column * (sizeof(Sums) + sizeof(Target) + 2 * sizeof(double)) +
         packed_bytes(d_model, n_column, engine) + packed_bytes(d_model, vocabulary_chunk, engine);
}

}  // namespace headscope
