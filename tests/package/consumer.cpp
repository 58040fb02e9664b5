#include <headscope/forward.hpp>
#include <headscope/model.hpp>
#include <headscope/version.hpp>
#include <iostream>

int main() {
  headscope::ModelConfig config;
  config.n_layer = 1;
  config.n_head = 2;
  config.d_model = 8;
  config.d_mlp = 32;
  config.n_ctx = 4;
  config.d_vocab = 5;
  const headscope::Model model = headscope::random_model(config, 1);
  headscope::Forward forward(model);
  const headscope::TokenIds tokens{1, 2, 3};
  const auto loss = forward.loss(forward.run(tokens), tokens);
  std::cout << headscope::version() << " " << loss.nll.size() << "\n";
  return loss.nll.size() == 2 ? 0 : 1;
}
