#pragma once

#include <string>

/// The seal of a file that Headscope wrote: a last line with the SHA-256 of all before it.
///
/// HDF5 does not look behind its own end, and other programs read sealed files as any; one that
/// changes such a file through HDF5 cuts the seal off. Damage is found before HDF5, which may crash
/// on it, sees the file.
namespace headscope {

/// @throws DataError if the file cannot be read or written.
void append_seal(const std::string& path);

/// Does nothing where there is no seal.
/// @throws DataError if the file does not agree with its seal.
void check_seal(const std::string& path);

}  // namespace headscope
