#include "files/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/finite.hpp"
#include "base/json_text.hpp"
#include "files/read_file.hpp"

namespace headscope {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "safetensors holds little-endian numbers");

constexpr std::uint64_t greatest_header = 100'000'000;  // the format's own limit
constexpr std::uint64_t header_start = 8;

std::optional<std::uint64_t> read_header_length(std::ifstream& stream) {
  std::uint64_t length = 0;
  if (!stream.read(reinterpret_cast<char*>(&length), sizeof length)) return std::nullopt;
  return length;
}

std::size_t element_size(const std::string& type) {
  static const std::map<std::string, std::size_t> sizes{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},
      {"I32", 4},  {"F32", 4}, {"U64", 8}, {"I64", 8},     {"F64", 8}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float from_float16(std::uint16_t bits) {
  // With the exponent in its place the number is 2^112 times too small, subnormal ones too.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFFU) << 13;
  const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  constexpr std::uint32_t infinite = 0x7C00U << 13;
  const std::uint32_t exponent = magnitude >= infinite ? 0x7F800000U : 0U;
  return std::bit_cast<float>(scaled | exponent | static_cast<std::uint32_t>(bits & 0x8000U) << 16);
}

template <typename Stored, typename Convert>
bool read_converted(std::ifstream& stream, std::span<float> out, Convert convert) {
  std::vector<Stored> block(std::min<std::size_t>(out.size(), std::size_t{1} << 16));
  while (!out.empty()) {
    const std::size_t n = std::min(block.size(), out.size());
    if (!stream.read(reinterpret_cast<char*>(block.data()),
                     static_cast<std::streamsize>(n * sizeof(Stored)))) {
      return false;
    }
    std::transform(block.begin(), block.begin() + n, out.begin(), convert);
    out = out.subspan(n);
  }
  return true;
}

SafetensorsFile::Tensor parse_tensor(const std::string& path, const std::string& name,
                                     const json& entry, std::uint64_t data_begin,
                                     std::uint64_t data_size) {
  const auto is_count = [](const json& value) { return value.is_number_unsigned(); };
  const auto whole_list = [&](const char* key) {
    return entry.contains(key) && entry[key].is_array() &&
           std::all_of(entry[key].begin(), entry[key].end(), is_count);
  };
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !whole_list("shape") || !whole_list("data_offsets") || entry["data_offsets"].size() != 2) {
    throw DataError(path, name, "expected dtype, shape and two data_offsets in the header");
  }
  SafetensorsFile::Tensor tensor{name, entry["shape"].get<Shape>(), entry["dtype"], 0, 0};
  const auto [begin, end] = entry["data_offsets"].get<std::array<std::uint64_t, 2>>();
  std::uint64_t bytes = element_size(tensor.type);
  if (bytes == 0) throw DataError(path, name, "expected a known type, got " + tensor.type);
  for (const std::size_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      throw DataError(path, name,
                      "shape " + shape_text(tensor.shape) + " is too large for this machine");
    }
  }
  if (begin > end || end > data_size) {
    throw DataError(path, name,
                    "expected bytes within the file's " + std::to_string(data_size) +
                        " bytes of data, got " + std::to_string(begin) + " to " +
                        std::to_string(end));
  }
  if (end - begin != bytes) {
    throw DataError(path, name,
                    "expected " + std::to_string(bytes) + " bytes for shape " +
                        shape_text(tensor.shape) + " of " + tensor.type + ", got " +
                        std::to_string(end - begin));
  }
  tensor.begin = data_begin + begin;
  tensor.end = data_begin + end;
  return tensor;
}

void check_overlap(const std::string& path, std::vector<const SafetensorsFile::Tensor*> tensors) {
  std::ranges::sort(tensors, {},
                    [](const auto* tensor) { return std::pair(tensor->begin, tensor->end); });
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i]->begin >= tensors[i - 1]->end) continue;
    throw DataError(path, tensors[i]->name,
                    "expected bytes of its own, got bytes shared with " + tensors[i - 1]->name);
  }
}

}  // namespace

bool SafetensorsFile::recognises(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const auto length = read_header_length(stream);
  return length && *length >= 2 && *length <= greatest_header && stream.get() == '{';
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  std::ifstream stream = open_to_read(path);
  const auto file_size = static_cast<std::uint64_t>(stream.seekg(0, std::ios::end).tellg());
  stream.seekg(0);
  const auto length = read_header_length(stream);
  if (!length) {
    throw DataError(path, "",
                    "expected a safetensors file, got " + std::to_string(file_size) + " bytes");
  }
  const std::uint64_t room = std::min(greatest_header, file_size - header_start);
  if (*length > room) {
    throw DataError(path, "",
                    "expected a safetensors header of at most " + std::to_string(room) +
                        " bytes, got " + std::to_string(*length));
  }
  std::string text(*length, '\0');
  if (!stream.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw DataError(path, "", "cannot be read");
  }
  const json header = parse_json(text);
  if (!header.is_object()) {
    throw DataError(path, "",
                    "expected a JSON object as header, got " +
                        (header.is_discarded() ? json_fault(text) : header.type_name()));
  }
  const std::uint64_t data_begin = header_start + *length;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    tensors_.push_back(parse_tensor(path, name, entry, data_begin, file_size - data_begin));
  }
  std::vector<const Tensor*> stored;
  for (const Tensor& tensor : tensors_) {
    if (tensor.end > tensor.begin) stored.push_back(&tensor);
  }
  check_overlap(path, std::move(stored));
}

void SafetensorsFile::read(const Tensor& tensor, std::span<float> out) const {
  const bool readable =
      tensor.type == "F16" || tensor.type == "BF16" || tensor.type == "F32" || tensor.type == "F64";
  if (!readable) {
    throw DataError(path_, tensor.name, "expected type F16, BF16, F32 or F64, got " + tensor.type);
  }
  const std::uint64_t count = (tensor.end - tensor.begin) / element_size(tensor.type);
  if (count != out.size()) {
    throw DataError(
        path_, tensor.name,
        "expected " + std::to_string(out.size()) + " elements, got " + std::to_string(count));
  }
  std::ifstream stream = open_to_read(path_);
  stream.seekg(static_cast<std::streamoff>(tensor.begin));
  bool done = false;
  if (tensor.type == "F32") {
    done = static_cast<bool>(stream.read(reinterpret_cast<char*>(out.data()),
                                         static_cast<std::streamsize>(out.size_bytes())));
  } else if (tensor.type == "F64") {
    done = read_converted<double>(stream, out, [](double x) { return static_cast<float>(x); });
  } else if (tensor.type == "F16") {
    done = read_converted<std::uint16_t>(stream, out, from_float16);
  } else {
    done = read_converted<std::uint16_t>(stream, out, from_bfloat16);
  }
  if (!done) throw DataError(path_, tensor.name, "cannot be read");
  check_finite(out, tensor.shape, path_, tensor.name);
}

}  // namespace headscope
