#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

/// How numbers are written in sentences, reports and tables, and read from text.
namespace headscope {

/// A number in at most `digits` significant digits (`1.19e-07` if that is shorter). With digits = 0
/// the shortest text that reads back as the same number. Whole numbers are written in full.
std::string number_text(double value, int digits);

/// A number in `digits` significant digits, or as many more as tell it from another.
std::string number_text_beside(double value, double other, int digits);

/// `0.083` with the given number of decimals.
std::string decimals(double value, int count);

/// `8.3 %` for the share 0.083: two significant digits below 10 %, else three.
std::string percent(double share);

/// A written number with its sign: `+4.2`, `-1.4`.
std::string signed_text(const std::string& number);

/// `124,439,808`
std::string grouped(std::uint64_t count);

/// `1 document`, `2 documents`.
std::string count_text(std::size_t count, const std::string& noun);

/// Parses a text of decimal digits only; nothing for any other text or a number above `most`.
std::optional<std::uint64_t> parse_whole_number(
    std::string_view text, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// Reads a size of memory such as `900M` or `8G` (powers of 1024); nullopt for other text.
std::optional<std::uint64_t> parse_memory(const std::string& text);
/// `8.25 GiB`, `310 MiB`.
std::string memory_text(std::uint64_t bytes);

}  // namespace headscope
