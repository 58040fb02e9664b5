#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headscope {

/// What a caller can change so that a refused call succeeds. A program names its option for that.
enum class Remedy {
  none,
  no_bos,         ///< CorpusOptions::prepend_bos = false
  n_head,         ///< LoadOptions::n_head
  latin1,         ///< CorpusOptions::encoding = "latin1"
  utf16,          ///< CorpusOptions::encoding = "utf-16"
  tokenizer,      ///< a tokenizer, which the model's files lack
  fewer_threads,  ///< blas::set_thread_count
};

/// Base of everything Headscope throws. `what()` is one line, fit to print after `headscope: `.
class Error : public std::runtime_error {
 public:
  /// Control characters become spaces and invalid UTF-8 becomes U+FFFD, because the text may quote
  /// names from any file.
  explicit Error(std::string_view text, Remedy remedy = Remedy::none);

  Remedy remedy() const { return remedy_; }

 private:
  Remedy remedy_;
};

/// A file, or something inside one, is not what it should be.
///
///   model.h5:h.0.attn.c_attn.weight: expected shape [768, 2304], got [768, 2048]
class DataError : public Error {
 public:
  /// @param file     path as the user gave it.
  /// @param item     dataset, tensor or line inside the file; empty for the file as a whole.
  /// @param problem  what was expected and what was found.
  DataError(std::string_view file, std::string_view item, std::string_view problem,
            Remedy remedy = Remedy::none);
};

/// Arguments of a library call do not fit together.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// An option has an invalid value: `--seed: expected a whole number >= 0, got "-1"`.
class OptionError : public Error {
 public:
  OptionError(std::string_view option, std::string_view problem);

  const std::string& option() const { return option_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string option_, problem_;
};

/// `[768, 2304]`; `[]` for a scalar.
std::string shape_text(std::span<const std::size_t> shape);

/// Throws ShapeError `{what}: expected {expected}, got {got}` unless the two counts are equal.
void check_count(std::string_view what, std::size_t expected, std::size_t got);

/// Throws ShapeError `{what}: expected below {limit}, got {got}` unless it is.
void check_below(std::string_view what, std::size_t limit, std::size_t got);

/// Throws ShapeError `{what}: expected a divisor of {total}, got {got}` unless it is.
void check_divisor(std::string_view what, std::size_t total, std::size_t got);

}  // namespace headscope
