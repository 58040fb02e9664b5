#include "parameters/cost.hpp"

namespace headscope {
namespace {

bool inputs_split(ProjectionScheme scheme) {
  return scheme == ProjectionScheme::block_diagonal_qkv ||
         scheme == ProjectionScheme::block_diagonal_all;
}

/// Weights of queries, keys and values.
double input_weights(ProjectionScheme scheme, const AttentionShape& shape) {
  const auto d = static_cast<double>(shape.d_model), h = static_cast<double>(shape.n_head),
             g = static_cast<double>(shape.n_group), width = static_cast<double>(shape.d_head);
  if (scheme == ProjectionScheme::single_head) return 3 * d * h * width;
  // A block of each head, or of each group.
  if (inputs_split(scheme)) return 3 * d * width;
  return d * (h + 2 * g) * width;
}

double output_weights(ProjectionScheme scheme, const AttentionShape& shape) {
  const double weights =
      static_cast<double>(shape.d_model) * static_cast<double>(shape.n_head * shape.d_head);
  const bool split = scheme == ProjectionScheme::block_diagonal_all;
  return split ? weights / static_cast<double>(shape.n_head) : weights;
}

}  // namespace

double attention_parameters(ProjectionScheme scheme, const AttentionShape& shape) {
  const double inputs = input_weights(scheme, shape);
  return shape.has_output_projection ? inputs + output_weights(scheme, shape) : inputs;
}

double attention_cost(ProjectionScheme scheme, CostTerm term, const AttentionShape& shape,
                      double n_token) {
  const double heads =
      scheme == ProjectionScheme::single_head ? 1.0 : static_cast<double>(shape.n_head);
  const double width = static_cast<double>(shape.n_head * shape.d_head) / heads;
  switch (term) {
    case CostTerm::projections:
      return n_token * input_weights(scheme, shape);
    case CostTerm::qk:
    case CostTerm::av:
      return heads * (n_token * n_token * width);
    case CostTerm::output:
      return n_token * output_weights(scheme, shape);
    case CostTerm::softmax_exponentials:
      return heads * n_token * n_token;
  }
  return 0;
}

}  // namespace headscope
