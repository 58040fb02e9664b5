#pragma once

#include <string>

namespace headscope {

/// Creates a folder and its parents. @throws DataError with the reason if that fails.
void make_folder(const std::string& path);

/// Keeps other processes from writing the same files, until it is destroyed or the process ends.
/// Does nothing on file systems without locks.
class OutputLock {
 public:
  /// Makes the folder and the file.
  /// @param name  of the lock file in the folder. Files that processes may write at the same time
  ///              need locks of different names.
  /// @throws DataError naming the process that holds the lock, or if the name is that of a link or
  /// of anything but a file.
  explicit OutputLock(const std::string& folder, const std::string& name = ".lock");
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// `abandoned`: the file of a process that was killed. `unknown`: the file system has no locks.
enum class LockState { absent, held, abandoned, unknown };
LockState lock_state(const std::string& path);

}  // namespace headscope
