#pragma once

#include <cstdint>
#include <memory>

#include "headscope/config.hpp"
#include "headscope/precision.hpp"

namespace headscope {

class Products;
class Scratch;

/// What computations need beside their data: the engines of their products, and memory that
/// products and threads reuse, because fresh pages cost more than the arithmetic done in them.
///
/// Copies share the memory. Give objects that compute one after the other the same context, and
/// objects that compute at the same time separate contexts. A computation is split over the OpenMP
/// threads (blas::set_thread_count).
class ComputeContext {
 public:
  ComputeContext(  // NOLINT(google-explicit-constructor): `{{.passes = engine}}` as an argument
      const Engines& engines = {});

  const Engines& engines() const { return engines_; }
  Products passes() const;
  Products differences() const;
  Products logits() const;
  Products gradients() const;
  /// Products by OpenBLAS, whatever the engines.
  Products float32() const;

  /// Upper bound on the bytes of the memory shared by products and attention for at most n_token
  /// columns. What one class alone keeps there is part of its own bound, for example
  /// HeadGradient::bytes.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token, int n_thread,
                             const Engines& engines);

 private:
  Products products(Engine engine) const;

  Engines engines_;
  std::shared_ptr<Scratch> scratch_;
};

}  // namespace headscope
