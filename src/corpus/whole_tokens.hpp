#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/flat_map.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Parts of a text that are a single token.
class WholeTokens {
 public:
  /// @param part  must outlive this object.
  void add(std::string_view part, TokenId token) {
    if (part.size() <= longest_short) {
      short_.insert_or_assign(ShortPart(part), token);
    } else {
      long_.insert_or_assign(part, token);
    }
  }
  std::optional<TokenId> find(std::string_view part) const {
    if (part.size() <= longest_short) {
      const TokenId* const found = short_.find(ShortPart(part));
      return found != nullptr ? std::optional(*found) : std::nullopt;
    }
    const auto found = long_.find(part);
    return found != long_.end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  static constexpr std::size_t longest_short = 15;

  /// Up to 15 bytes and their number, in two words.
  struct ShortPart {
    ShortPart() = default;
    explicit ShortPart(std::string_view part) {
      std::array<char, 16> bytes{};
      std::memcpy(bytes.data(), part.data(), part.size());
      bytes[longest_short] = static_cast<char>(part.size());
      std::memcpy(&first, bytes.data(), sizeof first);
      std::memcpy(&second, bytes.data() + sizeof first, sizeof second);
    }
    bool operator==(const ShortPart&) const = default;
    std::uint64_t hash() const {
      const std::uint64_t mixed = (first ^ (second >> 29)) * 0x9E3779B97F4A7C15U + second;
      return (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93U;
    }
    std::uint64_t first = 0, second = 0;
  };

  FlatMap<ShortPart, TokenId> short_{ShortPart()};  // a part has at least one byte
  std::unordered_map<std::string_view, TokenId> long_;
};

}  // namespace headscope
