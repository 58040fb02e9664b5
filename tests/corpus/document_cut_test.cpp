#include "corpus/document_cut.hpp"

#include <gtest/gtest.h>

#include "support/small_tokenizer.hpp"

namespace headscope {
namespace {

TEST(CountTokens, IsTheNumberOfTokensUpToOneMoreThanTheMost) {
  const Tokenizer& tokenizer = test::small_tokenizer();
  std::string longest;
  for (std::size_t id = 0; id < tokenizer.size(); ++id) {
    const std::string token = tokenizer.decode(static_cast<TokenId>(id));
    if (token.size() > longest.size() && tokenizer.encode(token).ids.size() == 1) longest = token;
  }
  ASSERT_GT(longest.size(), 4U);
  EXPECT_GE(tokenizer.longest_token(), longest.size());
  std::string of_longest;
  for (int i = 0; i < 12; ++i) of_longest += longest;
  for (const std::string& text :
       {of_longest, std::string("The head that looks"), std::string(300, 'x'), std::string()}) {
    const std::size_t n_token = tokenizer.encode(text).ids.size();
    for (const Index most : {1, 2, 11, 12, 100, 1000}) {
      EXPECT_EQ(count_tokens(tokenizer, text, most), std::min<std::size_t>(n_token, most + 1))
          << text << " " << most;
    }
  }
}

}  // namespace
}  // namespace headscope
