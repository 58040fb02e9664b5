#include "classification/tests/logit_lens.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_errors.hpp"
#include "compute/layer.hpp"
#include "compute/ops.hpp"

namespace headscope {
namespace {

constexpr Index lens_chunk = 1024;  // tokens of the vocabulary
constexpr std::size_t n_candidate = 64;

/// The tokens that may be among the `count` of the largest logits, by logits known within margins.
class Candidates {
 public:
  explicit Candidates(Index count) : count_(count) {}

  /// A logit is at least `lower` and at most `upper`.
  void add(TokenId token, float lower, float upper) {
    if (!(upper >= least_)) return;
    found_.emplace_back(upper, token);
    lower_.push_back(lower);
    std::ranges::push_heap(lower_, std::ranges::greater());
    if (lower_.size() > count_) {
      std::ranges::pop_heap(lower_, std::ranges::greater());
      lower_.pop_back();
    }
    if (lower_.size() == count_) least_ = lower_.front();
    if (found_.size() >= room_) {
      leave_out();
      room_ = std::max(n_candidate, 2 * found_.size());
    }
  }

  /// The largest of the lower bounds that `count` tokens reach.
  float least() const { return least_; }

  TokenIds tokens() {
    leave_out();
    TokenIds ids;
    for (const auto& [upper, token] : found_) ids.push_back(token);
    return ids;
  }

 private:
  void leave_out() {
    std::erase_if(found_, [&](const auto& candidate) { return candidate.first < least_; });
  }

  std::size_t count_, room_ = n_candidate;
  float least_ = -std::numeric_limits<float>::infinity();
  std::vector<float> lower_;  // a heap, the smallest first
  std::vector<std::pair<float, TokenId>> found_;
};

}  // namespace

LogitLens::LogitLens(const Model& model, Engine engine)
    : model_(model),
      context_(Engines{.differences = engine}),
      error_(error_bound(engine, model.config.d_model)),
      norms_(model.unembedding().n_cols) {
  const Matrix& W_U = model.unembedding();
  for (Index first = 0; first < W_U.n_cols; first += lens_chunk) {
    const Index n = std::min(lens_chunk, W_U.n_cols - first);
    unembedding_.emplace_back().set(blas::ConstView(W_U).cols(first, n), blas::Transpose::yes,
                                    context_.differences());
  }
  for_each_in_parallel(W_U.n_cols, [&](std::size_t v) {
    const float* const column = W_U.colptr(v);
    norms_(v) = static_cast<float>(std::sqrt(dot(column, column, W_U.n_rows)));
  });
}

std::vector<TokenIds> LogitLens::most_probable(const Matrix& resid, Index count) const {
  const Matrix& W_U = model_.unembedding();
  const Index d_model = resid.n_rows;
  Matrix normalized(d_model, resid.n_cols);
  final_norm(model_).apply(resid, normalized);
  std::vector<float> margin(resid.n_cols);  // for each unit of a vocabulary entry's norm
  for (Index t = 0; t < resid.n_cols; ++t) {
    const float* const x = normalized.colptr(t);
    margin[t] = static_cast<float>(error_ * std::sqrt(dot(x, x, d_model)));
  }
  const auto bias = [&](Index token) { return model_.b_U.is_empty() ? 0.0F : model_.b_U(token); };
  std::vector<Candidates> candidates(resid.n_cols, Candidates(count));
  Matrix logits(std::min(lens_chunk, W_U.n_cols), resid.n_cols);
  for (Index first = 0; first < W_U.n_cols; first += lens_chunk) {
    const Index n = std::min(lens_chunk, W_U.n_cols - first);
    unembedding_[first / lens_chunk].multiply(normalized, blas::View(logits).rows(0, n));
    for_each_in_parallel(resid.n_cols, [&](std::size_t t) {
      const float* const column = logits.colptr(t);
      for (Index i = 0; i < n; ++i) {
        const float logit = column[i] + bias(first + i), width = margin[t] * norms_(first + i);
        if (!(logit + width >= candidates[t].least())) continue;
        candidates[t].add(static_cast<TokenId>(first + i), logit - width, logit + width);
      }
    });
  }
  std::vector<TokenIds> tokens(resid.n_cols);
  for_each_in_parallel(resid.n_cols, [&](std::size_t t) {
    std::vector<std::pair<double, TokenId>> largest;
    for (const TokenId token : candidates[t].tokens()) {
      const auto v = static_cast<Index>(token);
      largest.emplace_back(-(dot(W_U.colptr(v), normalized.colptr(t), d_model) + bias(v)), token);
    }
    std::ranges::sort(largest);
    for (std::size_t i = 0; i < std::min<std::size_t>(count, largest.size()); ++i) {
      tokens[t].push_back(largest[i].second);
    }
  });
  return tokens;
}

std::uint64_t LogitLens::bytes(const ModelConfig& config, Index n_token, int n_thread,
                               Engine engine) {
  const std::uint64_t d_model = config.d_model, n = n_token;
  // Norms; the packed unembedding; the normalized stream; logits; candidates with room to grow.
  return sizeof(float) * (config.d_vocab + n * (d_model + lens_chunk)) +
         packed_bytes(d_model, config.d_vocab + Arithmetic::block, engine) +
         static_cast<std::uint64_t>(n_thread) * WeightProduct::thread_bytes(engine) +
         n * 4 * n_candidate * (sizeof(float) + sizeof(TokenId));
}

}  // namespace headscope
