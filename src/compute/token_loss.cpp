#include "compute/token_loss.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/thread_errors.hpp"
#include "compute/ops.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

// Chosen so that a thread's logits (chunk x block floats) stay in its share of the cache while the
// products are large enough for full speed.
constexpr Index chunk_size = 1024;
constexpr Index token_block = 1024;

// One token's softmax over the entries of the vocabulary processed so far.
struct RunningSoftmax {
  float largest = -infinity;
  double sum = 0;                  // of exp(logit - largest)
  float target_logit = -infinity;  // set when the target is reached
  bool target_first = false;       // no earlier entry was as large as the target
};

struct LossInputs {
  blas::ConstView normalized;
  const Matrix& unembedding;
  const Vector& b_U;
  std::span<const TokenId> targets;
  Products products, backward;
};

// One thread's share of the vocabulary for one block of tokens.
class VocabularyRange {
 public:
  VocabularyRange(Index d_model, Index n_token, bool with_gradient)
      : tokens_(n_token), logits_(chunk_size, n_token, arma::fill::none) {
    if (with_gradient) weighted_.zeros(d_model, n_token);
  }

  /// @param normalized  those of `in`.
  void run(const LossInputs& in, const PackedColumns& normalized, Index first, Index end) {
    for (Index chunk = first; chunk < end; chunk += chunk_size) {
      run_chunk(in, normalized, chunk, std::min(chunk_size, end - chunk));
    }
  }

  const RunningSoftmax& token(Index t) const { return tokens_[t]; }
  // sum over this range of exp(logit - largest) times the unembedding
  const float* weighted(Index t) const { return weighted_.colptr(t); }

 private:
  void run_chunk(const LossInputs& in, const PackedColumns& normalized, Index first, Index count) {
    const blas::ConstView entries = blas::ConstView(in.unembedding).cols(first, count);
    const blas::View logits = blas::View(logits_).rows(0, count);
    normalized.multiply_serial(entries, blas::Transpose::yes, logits);
    for (Index t = 0; t < tokens_.size(); ++t) {
      float* const column = logits_.colptr(t);
      if (!in.b_U.is_empty()) add_scaled(in.b_U.memptr() + first, 1, count, column);
      absorb(column, first, count, static_cast<Index>(in.targets[t]), t);
    }
    if (weighted_.is_empty()) return;
    packed_logits_.set(logits, in.backward.for_columns(logits.n_col));
    packed_logits_.multiply_serial(entries, blas::Transpose::no, weighted_, true);
  }

  void absorb(float* logits, Index first, Index count, Index target, Index t) {
    RunningSoftmax& token = tokens_[t];
    if (target >= first && target < first + count) {
      const Index place = target - first;
      token.target_logit = logits[place];
      token.target_first =
          token.target_logit > token.largest && token.target_logit > maximum(logits, place);
    }
    const float largest = maximum(logits, count);
    if (largest > token.largest) {
      const float rescale = std::exp(token.largest - largest);
      token.sum *= static_cast<double>(rescale);
      if (!weighted_.is_empty()) scale(weighted_.colptr(t), weighted_.n_rows, rescale);
      token.largest = largest;
    }
    token.sum += exponentiate(logits, count, token.largest);
  }

  std::vector<RunningSoftmax> tokens_;
  Matrix logits_;
  PackedColumns packed_logits_;
  Matrix weighted_;
};

// The loss of one token, combined from the ranges in vocabulary order.
struct Combined {
  double log_sum = 0;
  float largest = -infinity;
  double nll = 0;
  bool correct = false;
};

Combined combine(std::span<const VocabularyRange> ranges, Index t) {
  Combined result;
  for (const auto& range : ranges)
    result.largest = std::max(result.largest, range.token(t).largest);
  double sum = 0;
  float target_logit = -infinity, largest_before = -infinity;
  for (const auto& range : ranges) {
    const RunningSoftmax& token = range.token(t);
    sum += token.sum *
           std::exp(static_cast<double>(token.largest) - static_cast<double>(result.largest));
    if (token.target_logit != -infinity) {
      target_logit = token.target_logit;
      result.correct = token.target_first && target_logit > largest_before;
    }
    largest_before = std::max(largest_before, token.largest);
  }
  result.correct = result.correct && target_logit >= result.largest;
  result.log_sum = std::log(sum);
  result.nll =
      result.log_sum + static_cast<double>(result.largest) - static_cast<double>(target_logit);
  return result;
}

void check(const LossInputs& in) {
  check_count("targets", in.normalized.n_col, in.targets.size());
  check_count("unembedding rows", in.normalized.n_row, in.unembedding.n_rows);
  if (!in.b_U.is_empty()) check_count("unembedding bias", in.unembedding.n_cols, in.b_U.n_elem);
  for (const TokenId target : in.targets) {
    if (target >= 0 && static_cast<Index>(target) < in.unembedding.n_cols) continue;
    throw ShapeError("target: expected a token id below " + std::to_string(in.unembedding.n_cols) +
                     ", got " + std::to_string(target));
  }
}

// The gradient is not computed if `gradient` has no data.
void run_block(const LossInputs& in, blas::View gradient, double* nll, unsigned char* correct) {
  const Index n_token = in.targets.size(), d_vocab = in.unembedding.n_cols;
  const bool with_gradient = gradient.data != nullptr;
  const Index n_chunk = (d_vocab + chunk_size - 1) / chunk_size;
  const Index n_range = std::min<Index>(static_cast<Index>(blas::thread_count()), n_chunk);
  std::vector<VocabularyRange> ranges;
  ranges.reserve(n_range);
  for (Index r = 0; r < n_range; ++r) {
    ranges.emplace_back(in.normalized.n_row, n_token, with_gradient);
  }
  const PackedColumns normalized(in.normalized, in.products.for_columns(n_token));
  for_each_in_parallel(n_range, [&](Index r) {
    ranges[r].run(in, normalized, d_vocab * r / n_range, d_vocab * (r + 1) / n_range);
  });
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < n_token; ++t) {
    const Combined token = combine(ranges, t);
    nll[t] = token.nll;
    correct[t] = token.correct ? 1 : 0;
    if (!with_gradient) continue;
    float* const g = gradient.column(t);
    const float* const target = in.unembedding.colptr(static_cast<Index>(in.targets[t]));
    std::transform(target, target + gradient.n_row, g, [](float u) { return -u; });
    for (const auto& range : ranges) {
      const double log_weight = static_cast<double>(range.token(t).largest) -
                                static_cast<double>(token.largest) - token.log_sum;
      add_scaled(range.weighted(t), static_cast<float>(std::exp(log_weight)), gradient.n_row, g);
    }
  }
}

TokenLoss run_blocks(const LossInputs& in, blas::View gradient) {
  check(in);
  TokenLoss loss;
  loss.nll.resize(in.targets.size());
  loss.correct.resize(in.targets.size());
  for (Index first = 0; first < in.targets.size(); first += token_block) {
    const Index count = std::min<Index>(token_block, in.targets.size() - first);
    const LossInputs block{in.normalized.cols(first, count), in.unembedding, in.b_U,
                           in.targets.subspan(first, count), in.products,    in.backward};
    run_block(block, gradient.data == nullptr ? gradient : gradient.cols(first, count),
              loss.nll.data() + first, loss.correct.data() + first);
  }
  return loss;
}

}  // namespace

double TokenLoss::sum() const {
  return std::accumulate(nll.begin(), nll.end(), 0.0);
}

TokenLoss token_loss(blas::ConstView normalized, const Matrix& unembedding, const Vector& b_U,
                     std::span<const TokenId> targets, const Products& logits) {
  return run_blocks({normalized, unembedding, b_U, targets, logits, logits}, {});
}

std::uint64_t token_loss_thread_bytes(Index n_token) {
  return chunk_size * std::min(token_block, n_token) * sizeof(float);
}

std::uint64_t token_loss_product_bytes(Index d_model, Index n_token, int n_thread, Engine engine) {
  const Index n_column = std::min(token_block, n_token);
  return packed_bytes(d_model, n_column, engine) +
         n_thread * packed_bytes(chunk_size, n_column, engine);
}

TokenLoss token_loss_with_gradient(blas::ConstView normalized, const Matrix& unembedding,
                                   const Vector& b_U, std::span<const TokenId> targets,
                                   blas::View gradient, const Products& logits,
                                   const Products& backward) {
  check_count("gradient rows", normalized.n_row, gradient.n_row);
  check_count("gradient columns", normalized.n_col, gradient.n_col);
  return run_blocks({normalized, unembedding, b_U, targets, logits, backward}, gradient);
}

}  // namespace headscope
