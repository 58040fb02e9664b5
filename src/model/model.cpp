#include "headscope/model.hpp"

#include "headscope/parameters.hpp"

namespace headscope {

bool Model::is_complete() const {
  return missing_tensors(*this).empty();
}

}  // namespace headscope
