#include "results/file_format.hpp"

#include "base/number_text.hpp"
#include "headscope/error.hpp"
#include "results/results_layout.hpp"

namespace headscope {

std::string format_name(const std::string& kind, int number) {
  return "headscope " + kind + " " + std::to_string(number);
}

void check_format(const hdf5::InputFile& file, const std::string& kind, int expected) {
  const std::string name = format_name(kind, expected);
  const std::optional<hdf5::Attribute> format = file.attribute("", layout::format_attribute);
  const auto* const found = format ? std::get_if<std::string>(&*format) : nullptr;
  const std::string beginning = "headscope " + kind + " ";
  const std::optional<std::uint64_t> number =
      found != nullptr && found->starts_with(beginning)
          ? parse_whole_number(std::string_view(*found).substr(beginning.size()))
          : std::nullopt;
  if (!number) {
    throw DataError(
        file.path(), "",
        "expected a " + kind + " file (format \"" + name + "\"), found another HDF5 file");
  }
  if (*found == name) return;
  throw DataError(file.path(), layout::format_attribute,
                  "expected \"" + name + "\", got \"" + *found + "\" of " +
                      (*number > static_cast<std::uint64_t>(expected)
                           ? "a later version of Headscope, which reads it"
                           : "an earlier version of Headscope; run again to make a new one"));
}

}  // namespace headscope
