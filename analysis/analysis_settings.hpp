#pragma once

#include <any>
#include <map>
#include <string>
#include <typeindex>

#include "headscope/precision.hpp"
#include "option_table.hpp"

namespace headscope {

/// Options of the analyses: the shared ones, and each analysis's own.
class AnalysisSettings {
 public:
  std::uint64_t seed = 0;             ///< of all random numbers
  std::uint64_t n_bootstrap = 1000;   ///< resamples of documents behind each interval
  std::string precision = "float32";  ///< of products of weights: a Precision's name
  std::uint64_t n_null = 100;         ///< random draws behind each null of weights-only analyses

  /// An analysis's own options. `Options` has a field with a default for each, and a `declare`
  /// that adds them to a table.
  template <typename Options>
  Options& own() {
    return std::any_cast<Options&>(own_.try_emplace(typeid(Options), Options()).first->second);
  }
  template <typename Options>
  const Options& own() const {
    static const Options defaults;
    const auto found = own_.find(typeid(Options));
    return found == own_.end() ? defaults : *std::any_cast<Options>(&found->second);
  }

  /// The engines of this processor that keep the precision.
  Engines engines() const;
  /// What the losses of ablated heads compute exactly.
  /// @param d_vocab  size of a vocabulary that may be sampled; 0: losses take all entries.
  AblationPrecision ablation(Index d_vocab) const;

  /// Adds the shared options, then those of every registered analysis.
  void declare(OptionTable& option);
  /// Adds one analysis's own options. RegisteredAnalysis::options points here.
  template <typename Options>
  void declare_own(OptionTable& option) {
    own<Options>().declare(option);
  }

 private:
  std::map<std::type_index, std::any> own_;
};

}  // namespace headscope
