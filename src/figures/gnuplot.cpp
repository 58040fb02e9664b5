#include "figures/gnuplot.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "headscope/error.hpp"
#include "headscope/utf8.hpp"

namespace headscope {
namespace {

[[noreturn]] void fail(const std::string& expected, int code) {
  throw Error("gnuplot: expected " + expected + ", got " + std::strerror(code));
}

/// An unnamed file for the output of a child process.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("gnuplot", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail("a file in memory", errno);
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

pid_t spawn_in(const std::string& directory, char* const arguments[], const MemoryFile& output,
               const MemoryFile& messages) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages.descriptor(), STDERR_FILENO);
  // A child inherits ignored signals, and gnuplot does not check whether its writes succeed.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int failure = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) fail("to run it from PATH", failure);
  return pid;
}

// The process's wait status; nothing if it had to be killed after `seconds`.
std::optional<int> wait_for(pid_t pid, int seconds) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd ending{process, POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int ready = -1;
  while (process >= 0 && ready < 0) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ready = poll(&ending, 1, static_cast<int>(std::max<long>(left.count(), 0)));
  }
  if (process >= 0) close(process);
  if (ready == 0) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return ready == 0 ? std::nullopt : std::optional(status);
}

// gnuplot repeats the offending line and a caret before it says what is wrong.
std::string complaint(const std::string& output) {
  std::string first;
  for (std::size_t start = 0; start < output.size();) {
    const std::size_t end = std::min(output.find('\n', start), output.size());
    std::string line = one_line(std::string_view(output).substr(start, end - start));
    if (line.find(" line ") != std::string::npos) return line;
    if (first.empty() && line.find_first_not_of(" ^") != std::string::npos) first = std::move(line);
    start = end + 1;
  }
  return first.empty() ? "no message" : first;
}

}  // namespace

std::string gnuplot_string(std::string_view text) {
  const std::string clean = one_line(text);
  if (clean.find_first_of("'`\\@") == std::string::npos) return "'" + clean + "'";
  // A doubled quote inside single quotes is not always one quote (at the start it ends the string),
  // so all special characters are written as octal escapes.
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
  const MemoryFile picture, messages;
  std::string words[] = {"gnuplot", "-d", "-c", script, format, "/dev/stdout"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                       words[4].data(), words[5].data(), nullptr};
  const std::optional<int> status =
      wait_for(spawn_in(directory, arguments, picture, messages), seconds);
  if (!status) {
    throw Error(script + ": expected gnuplot to end within " + std::to_string(seconds) +
                " s, it did not");
  }
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    throw Error(script + ": expected gnuplot to draw it, got: " + complaint(messages.read()));
  }
  return picture.read();
}

}  // namespace headscope
