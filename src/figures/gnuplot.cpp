#include "figures/gnuplot.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/fields.hpp"
#include "base/utf8.hpp"
#include "files/descriptor.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

constexpr int seconds_to_start = 20;

[[noreturn]] void fail(const std::string& expected, int code) {
  throw DrawingError("gnuplot: expected " + expected + ", got " + std::strerror(code));
}

/// An unnamed file for the output of a child process.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("gnuplot", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail("a file in memory", errno);
  }

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
  Descriptor descriptor_;
};

// Becomes the program named by the first argument. Between vfork and exec memory is the parent's,
// so only system calls are made. @return errno, if that fails
int become(const char* directory, char* const arguments[], int output, int messages, pid_t parent) {
  // gnuplot ends with its parent, also when that is killed.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (getppid() != parent) return ECANCELED;
  setpgid(0, 0);
  // A child inherits ignored signals, and gnuplot does not check whether its writes succeed.
  signal(SIGXFSZ, SIG_DFL);
  if (chdir(directory) != 0) return errno;
  const int input = open("/dev/null", O_RDONLY);
  for (const auto& [from, to] :
       {std::pair(input, STDIN_FILENO), {output, STDOUT_FILENO}, {messages, STDERR_FILENO}}) {
    if (dup2(from, to) < 0) return errno;
  }
  execvp(arguments[0], arguments);
  return errno;
}

pid_t spawn_in(const std::string& directory, char* const arguments[], const MemoryFile& output,
               const MemoryFile& messages) {
  const pid_t parent = getpid();
  volatile int failure = 0;
  // posix_spawn cannot ask for the signal at the parent's end.
  const pid_t pid = vfork();
  if (pid == 0) {
    failure =
        become(directory.c_str(), arguments, output.descriptor(), messages.descriptor(), parent);
    _exit(127);
  }
  if (pid < 0) fail("to start it", errno);
  if (failure == 0) return pid;
  waitpid(pid, nullptr, 0);
  fail("to run it from PATH", failure);
}

// The process's wait status; nothing if it had to be killed after `seconds`.
std::optional<int> wait_for(pid_t pid, int seconds) {
  constexpr auto pause = std::chrono::milliseconds(2);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      kill(-pid, SIGKILL);
      waitpid(pid, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(pause);
  }
  return status;
}

// gnuplot repeats the offending line and a caret before it says what is wrong.
std::string complaint(const std::string& output) {
  std::string first;
  for (const std::string_view text : fields::split(output, '\n')) {
    std::string line = one_line(text);
    if (line.find(" line ") != std::string::npos) return line;
    if (first.empty() && line.find_first_not_of(" ^") != std::string::npos) first = std::move(line);
  }
  return first.empty() ? "no message" : first;
}

struct Output {
  std::optional<int> status;  // nothing if the process had to be killed
  std::string picture, messages;

  bool is_success() const { return status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0; }
};

Output run_in(const std::string& directory, std::vector<std::string> words, int seconds) {
  const MemoryFile picture, messages;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::optional<int> status =
      wait_for(spawn_in(directory, arguments.data(), picture, messages), seconds);
  return {status, picture.read(), messages.read()};
}

bool is_installed() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path program = std::filesystem::path(folder) / "gnuplot";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(program, ignored) && access(program.c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
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

std::string gnuplot_range(double low, double high) {
  return "[" + gnuplot_number(low) + ":" + gnuplot_number(high) + "]";
}

std::string font_characters() {
  try {
    return run_in(".", {"fc-list", "--format=%{charset} "}, seconds_to_start).picture;
  } catch (const DrawingError&) {
    return "";
  }
}

std::string why_no_figures() {
  if (!is_installed()) return "gnuplot is not installed";
  const Output output = run_in(".", {"gnuplot", "--version"}, seconds_to_start);
  return output.is_success() ? "" : "gnuplot does not start (" + complaint(output.messages) + ")";
}

std::string run_gnuplot(const std::string& directory, const std::string& script,
                        const std::string& format, int seconds) {
  Output output =
      run_in(directory, {"gnuplot", "-d", "-c", script, format, "/dev/stdout"}, seconds);
  if (!output.status) {
    throw DrawingError(script + ": expected gnuplot to end within " + std::to_string(seconds) +
                       " s, it did not");
  }
  if (!output.is_success()) {
    throw DrawingError(script +
                       ": expected gnuplot to draw it, got: " + complaint(output.messages));
  }
  return std::move(output.picture);
}

}  // namespace headscope
