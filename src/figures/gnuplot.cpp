#include "figures/gnuplot.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>

#include "headscope/error.hpp"
#include "headscope/utf8.hpp"

extern char** environ;

namespace headscope {
namespace {

class ChildProcess {
 public:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (pid_ > 0) {
      kill(-pid_, SIGKILL);
      wait();
    }
  }

  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

/// A file without a name, which a child process opens by its descriptor.
class MemoryFile {
 public:
  static constexpr int child_descriptor = 3;
  static constexpr const char* child_path = "/dev/fd/3";

  MemoryFile() : descriptor_(memfd_create("picture", MFD_CLOEXEC)) {
    if (descriptor_ < 0) {
      throw Error(std::string("gnuplot: expected a file in memory, got ") + std::strerror(errno));
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::string read() const {
    std::string bytes;
    char buffer[65536];
    ssize_t count = 0;
    while ((count = pread(descriptor_, buffer, sizeof buffer, static_cast<off_t>(bytes.size()))) >
           0) {
      bytes.append(buffer, static_cast<std::size_t>(count));
    }
    return bytes;
  }

 private:
  int descriptor_;
};

pid_t spawn_in(const std::string& directory, char* const arguments[], int output, int picture) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, picture, MemoryFile::child_descriptor);
  // Ignored signals stay ignored in a child, and gnuplot does not look whether it could write.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int failure = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    throw Error(std::string("gnuplot: expected to run it from PATH, got ") +
                std::strerror(failure));
  }
  return pid;
}

// Everything written until the other end closes; the wait ends at `deadline`.
std::string read_all(int input, std::chrono::steady_clock::time_point deadline, bool& timed_out) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{input, POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
      timed_out = true;
      return text;
    }
    const ssize_t count = read(input, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    if (text.size() < 65536) text.append(buffer, static_cast<std::size_t>(count));
  }
}

// gnuplot repeats the offending line and a caret before it says what is wrong.
std::string complaint(const std::string& output) {
  std::string first;
  for (std::size_t start = 0; start < output.size();) {
    const std::size_t end = std::min(output.find('\n', start), output.size());
    const std::string line = one_line(std::string_view(output).substr(start, end - start));
    if (line.find(" line ") != std::string::npos) return line;
    if (first.empty() && line.find_first_not_of(" ^") != std::string::npos) first = line;
    start = end + 1;
  }
  return first.empty() ? "no message" : first;
}

}  // namespace

std::string gnuplot_string(std::string_view text) {
  const std::string clean = one_line(text);
  if (clean.find_first_of("'`\\@") == std::string::npos) return "'" + clean + "'";
  // A doubled quote inside single quotes does not always stand for one (at the start it ends the
  // string), so everything that could mean something is written as a number.
  std::string quoted = "\"";
  for (const char c : clean) {
    if (std::string_view("'\"`\\@$%{}").find(c) != std::string_view::npos) {
      const auto byte = static_cast<unsigned char>(c);
      quoted += '\\';
      for (const int shift : {6, 3, 0}) quoted += static_cast<char>('0' + ((byte >> shift) & 7));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string gnuplot_number(double value) {
  if (!std::isfinite(value)) return "NaN";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

std::string run_gnuplot(const std::string& directory, const std::string& script,
                        const std::string& format, int seconds) {
  const MemoryFile picture;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(std::string("gnuplot: expected a pipe, got ") + std::strerror(errno));
  }
  std::string words[] = {"gnuplot", "-d", "-c", script, format, MemoryFile::child_path};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                       words[4].data(), words[5].data(), nullptr};
  bool timed_out = false;
  std::string output;
  int status = 0;
  try {
    ChildProcess child(spawn_in(directory, arguments, ends[1], picture.descriptor()));
    close(ends[1]);
    ends[1] = -1;
    output = read_all(ends[0], std::chrono::steady_clock::now() + std::chrono::seconds(seconds),
                      timed_out);
    if (!timed_out) status = child.wait();
  } catch (...) {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    throw;
  }
  close(ends[0]);
  if (timed_out) {
    throw Error(script + ": expected gnuplot to end within " + std::to_string(seconds) +
                " s, it did not");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error(script + ": expected gnuplot to draw it, got: " + complaint(output));
  }
  return picture.read();
}

}  // namespace headscope
