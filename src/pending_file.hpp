#pragma once

#include <string>

namespace headscope {

/// A file that appears under its name only when it is whole.
///
/// Writers fill `temporary_path()`, which lies in the same folder; `publish()` makes it durable and
/// renames it. Without `publish()` it is removed, and a file of that name keeps its old contents.
class PendingFile {
 public:
  /// @throws DataError if the folder is missing or cannot be written.
  explicit PendingFile(std::string path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::string& path() const { return path_; }
  /// Exists, empty, from the start.
  const std::string& temporary_path() const { return temporary_path_; }

  /// @throws DataError if the file cannot be synced or renamed.
  void publish();

 private:
  std::string path_;
  std::string temporary_path_;
  bool published_ = false;
};

}  // namespace headscope
