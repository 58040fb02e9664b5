#include "parameters/block_energy.hpp"

#include <limits>
#include <vector>

#include "headscope/error.hpp"
#include "random_draws.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Sums of squares, head of the output x input feature.
arma::mat energy_by_output_block(const Matrix& W, Index n_block) {
  const Index width = W.n_rows / n_block;
  arma::mat energy(n_block, W.n_cols, arma::fill::zeros);
  for (Index in = 0; in < W.n_cols; ++in) {
    const float* column = W.colptr(in);
    for (Index out = 0; out < W.n_rows; ++out) {
      energy(out / width, in) += static_cast<double>(column[out]) * column[out];
    }
  }
  return energy;
}

}  // namespace

BlockEnergy block_energy(const Matrix& W, Index n_block, std::size_t n_null, std::uint64_t seed,
                         std::uint64_t stream) {
  if (W.n_rows % n_block != 0 || W.n_cols % n_block != 0) return {nan, nan, nan, nan, nan};
  const Index width = W.n_cols / n_block;
  const arma::mat energy = energy_by_output_block(W, n_block);
  const double total = arma::accu(energy);
  if (total == 0) return {nan, nan, nan, nan, nan};

  const auto diagonal_share = [&](const auto& input_at) {
    double sum = 0;
    for (Index row = 0; row < W.n_cols; ++row) sum += energy(row / width, input_at(row));
    return sum / total;
  };
  BlockEnergy result{diagonal_share([](Index row) { return row; }), nan, nan, nan, nan};
  if (n_null == 0) return result;

  // The order of summation changes rounding; that must not count as less block-diagonal.
  const double as_much = result.energy * (1 - 1e-12);
  arma::vec null(n_null);
  std::size_t n_as_much = 0;
  for (std::size_t draw = 0; draw < n_null; ++draw) {
    const std::vector<Index> order =
        permutation(W.n_cols, CounterRandom(seed, stream * n_null + draw));
    null[draw] = diagonal_share([&](Index row) { return order[row]; });
    if (null[draw] >= as_much) ++n_as_much;
  }
  result.null_mean = arma::mean(null);
  result.p = static_cast<double>(1 + n_as_much) / static_cast<double>(1 + n_null);
  if (n_null < 2) return result;
  result.null_std = arma::stddev(null);
  if (result.null_std > 1e-12) result.z = (result.energy - result.null_mean) / result.null_std;
  return result;
}

bool is_shared_by_groups(std::size_t projection) {
  return projection == 1 || projection == 2;
}

Index n_block_of(const ModelConfig& config, std::size_t projection) {
  return is_shared_by_groups(projection) ? config.n_group() : config.n_head;
}

std::vector<double> values_of_several_blocks(const ResultsGroup& group, const char* variable,
                                             const ModelConfig& config) {
  const Array& all = group.values(variable);
  std::vector<double> values;
  for (std::size_t projection = 0; projection < all.shape[0]; ++projection) {
    if (n_block_of(config, projection) == 1) continue;
    const std::vector<double> finite = finite_values(all.part(projection).values);
    values.insert(values.end(), finite.begin(), finite.end());
  }
  return values;
}

double mean_chance_of_several_blocks(const ResultsGroup& group, const ModelConfig& config) {
  const Array& all = group.values("block_energy");
  double sum = 0;
  std::size_t n_value = 0;
  for (std::size_t projection = 0; projection < all.shape[0]; ++projection) {
    const Index n_block = n_block_of(config, projection);
    if (n_block == 1) continue;
    const std::size_t n_finite = finite_values(all.part(projection).values).size();
    sum += static_cast<double>(n_finite) / static_cast<double>(n_block);
    n_value += n_finite;
  }
  return sum / static_cast<double>(n_value);
}

bool has_blocks_of_heads(const ModelConfig& config) {
  return config.d_model % config.n_head == 0;
}

std::string left_out_text(const ModelConfig& config) {
  if (config.n_group() == 1) return one_group_text;
  if (has_blocks_of_heads(config)) return "";
  return " Queries and outputs are left out: " + std::to_string(config.d_model) +
         " dimensions cannot be cut into " + std::to_string(config.n_head) + " equal blocks.";
}

}  // namespace headscope
