#pragma once

#include <string>
#include <string_view>

#include "files/descriptor.hpp"

namespace headscope {

/// @throws DataError if there is a folder, device or pipe of that name, which no file can replace.
void check_replaceable(const std::string& path);

/// A file that appears under its name only once complete.
///
/// Writers fill a file in the same folder; `publish()` renames it. Without `publish()` it is
/// removed, and a file of that name keeps its old contents.
/// The next writer of the same file removes what killed writers left.
class PendingFile {
 public:
  /// @throws DataError if the folder is missing or cannot be written, or the name is that of a
  ///         folder, device or pipe.
  explicit PendingFile(std::string path);
  ~PendingFile();

  const std::string& path() const { return path_; }
  /// Created empty by the constructor.
  const std::string& temporary_path() const { return temporary_path_; }
  /// Open for reading and writing, until the end.
  int descriptor() const { return descriptor_; }

  /// Appends bytes. @throws DataError if the bytes cannot be written.
  void append(std::string_view bytes);
  /// Syncs the bytes, then renames the file. After a power cut the name may still stand for the
  /// earlier file.
  /// @throws DataError if the file cannot be synced or renamed.
  void publish();
  /// Returns once the name stands for the new file even after a power cut.
  void publish_durably();
  /// As `publish_durably`, unless there is a file of that name by then. Of several processes that
  /// do this at once, one publishes.
  /// @return false if there is a file of that name, which stays as it is.
  bool publish_first();

 private:
  std::string path_;
  std::string temporary_path_;
  Descriptor descriptor_;
  bool published_ = false;
};

/// Writes a whole file, as `publish` does: for what can be made from results or inputs at any time.
/// @throws DataError as PendingFile does.
void write_file(const std::string& path, std::string_view bytes);

/// Removes temporary files that killed writers of a file left.
void remove_leftovers(const std::string& path);

/// Removes a file, if it exists, and temporary files that its killed writers left.
/// @throws DataError if it cannot be removed.
void remove_file(const std::string& path);

}  // namespace headscope
