#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/cgroup.hpp"
#include "base/utf8.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/results.hpp"
#include "program/program_test.hpp"
#include "run_options.hpp"
#include "shell_text.hpp"
#include "support/message_of.hpp"

// What the program does with little memory, few processes, unusual variables and names.
namespace headscope {
namespace {

const std::string small_model = HEADSCOPE_PROJECT_DIR "/data/planted-model.h5";

/// Runs the program after `before`, which a shell reads; a program that hangs is ended.
Finished run_after(const std::string& before, const Words& arguments) {
  Words call{"timeout", "-k", "5", "120", "sh", "-c", before + "; exec \"$@\"", "sh"};
  for (const std::string& word : test::headscope_call(arguments)) call.push_back(word);
  return test::run_program(call);
}

Words weights_run(const std::string& output) {
  return {"run", "--model", small_model, "--analyses", "parameters", "--nulls",
          "1",   "--quiet", "--figures", "svg",        "--output",   output};
}

#ifndef HEADSCOPE_SANITIZED  // sanitizers need more memory and stack

TEST(Surroundings, MemoryThatThreadsDoNotGetIsAnError) {
  const TemporaryDirectory folder;
  for (const Words& analysis : {Words{"pruning"}, Words{"pruning", "--precision", "fast"},
                                Words{"paths", "--task-pairs", "20"}}) {
    Words arguments{"run",      "--max-documents",  "2",         "--threads", "2", "--quiet",
                    "--output", folder.file("out"), "--analyses"};
    arguments.insert(arguments.end(), analysis.begin(), analysis.end());
    const Finished finished = run_after("export LD_PRELOAD=" HEADSCOPE_NO_THREAD_MEMORY, arguments);
    EXPECT_EQ(finished.exit_status, 1) << analysis.front();
    EXPECT_EQ(finished.err, "headscope: not enough memory\n") << analysis.front();
  }
}

TEST(Surroundings, ThreadsOfOpenBlasDoNotHangWhereMemoryIsLimited) {
  for (const char* const limit : {"100000", "150000", "200000"}) {
    const Finished finished = run_after(
        "ulimit -v " + std::string(limit) + "; export OPENBLAS_NUM_THREADS=2", {"--version"});
    EXPECT_EQ(finished.exit_status, 0) << limit << ": " << finished.err;
  }
}

TEST(Surroundings, StacksThatTheUserLimitsDoNotMatter) {
  const TemporaryDirectory folder;
  for (const char* const before : {"ulimit -S -s 64", "ulimit -s 512", "export OMP_STACKSIZE=16k",
                                   "export OMP_STACKSIZE=900G"}) {
    const Finished finished = run_after(before, {"attend", "The cat sat", "--threads", "2",
                                                 "--output", folder.file("a.html"), "--quiet"});
    EXPECT_EQ(finished.exit_status, 0) << before << ": " << finished.err;
  }
}

TEST(Surroundings, AStackThatCannotBeRaisedIsNamed) {
  EXPECT_EQ(run_after("ulimit -s 64", {"list"}).err,
            "headscope: stack: expected at least 512 KiB, got 64 (`ulimit -s`)\n");
}

TEST(Surroundings, ThreadsThatCannotStartAreNamed) {
  const TemporaryDirectory folder;
  fs::permissions(folder.path(), fs::perms::all);
  const Words setpriv{"setpriv", "--reuid", "54321", "--clear-groups", "--inh-caps=-all"};
  Words call = setpriv;
  call.push_back("true");
  if (test::run_program(call).exit_status != 0) GTEST_SKIP() << "needs root for another user";
  call = {"prlimit", "--nproc=2"};
  call.insert(call.end(), setpriv.begin(), setpriv.end());
  for (const std::string& word : test::headscope_call(
           {"attend", "The cat", "--threads", "8", "--output", folder.file("a.html")})) {
    call.push_back(word);
  }
  const Finished finished = test::run_program(call);
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_EQ(finished.err,
            "headscope: threads: expected to start 8, got 2: Resource temporarily unavailable; "
            "--threads takes fewer\n");
}

#endif

/// What `inspect` says of threads: `2 threads`.
std::string threads_of(const std::string& before) {
  const Finished finished = run_after(before, {"inspect", small_model});
  const std::size_t end = finished.out.find(" thread");
  const std::size_t begin = finished.out.rfind(' ', end - 1);
  return finished.out.substr(begin + 1, end - begin - 1);
}

TEST(Surroundings, BoundThreadsAreAsManyAsFreeOnes) {
  const std::string free = threads_of("unset OMP_PROC_BIND OMP_NUM_THREADS");
  EXPECT_EQ(threads_of("export OMP_PROC_BIND=true"), free);
  EXPECT_EQ(threads_of("export OMP_PROC_BIND=true OMP_PLACES=cores"), free);
  EXPECT_EQ(threads_of("export OMP_NUM_THREADS=3,2"), "3");
  EXPECT_EQ(threads_of("export OMP_THREAD_LIMIT=1"), "1");
}

TEST(Surroundings, ARunSaysItsThreads) {
  const TemporaryDirectory folder;
  Words arguments = weights_run(folder.file("out"));
  std::erase(arguments, "--quiet");
  EXPECT_THAT(run_after("export PATH=/nonexistent OMP_NUM_THREADS=1", arguments).err,
              HasSubstr("headscope: 1 thread: OMP_NUM_THREADS\n"));
  arguments.push_back("--force");
  EXPECT_THAT(
      run_after("unset OMP_NUM_THREADS; export PATH=/nonexistent OMP_THREAD_LIMIT=1", arguments)
          .err,
      HasSubstr("headscope: 1 thread: "));
}

void write_below(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  test::write_file(file.string(), text);
}

TEST(ControlGroup, LimitsProcessorsToTheLeastOfTheGroupsAbove) {
  const TemporaryDirectory folder;
  const fs::path process = folder.file("process"), mount = folder.file("mount");
  const auto limit = [&] { return cgroup_processors(process, mount); };
  EXPECT_EQ(limit(), std::nullopt);
  write_below(process / "cgroup", "0::/a/b\n");
  EXPECT_EQ(limit(), std::nullopt);
  write_below(mount / "a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), std::nullopt);
  write_below(mount / "a/cpu.max", "150000 100000\n");
  EXPECT_EQ(limit(), 1.5);
  write_below(mount / "a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(limit(), 0.5);
}

TEST(ControlGroup, LimitsMemoryToTheLeastOfTheGroupsAbove) {
  const TemporaryDirectory folder;
  const fs::path process = folder.file("process"), mount = folder.file("mount");
  write_below(process / "cgroup", "0::/a/b\n");
  write_below(mount / "a/memory.max", "2147483648\n");
  write_below(mount / "a/b/memory.max", "max\n");
  EXPECT_EQ(cgroup_memory(process, mount), 2147483648.0);
  write_below(process / "cgroup", "5:memory:/c\n4:cpu,cpuacct:/c\n");
  EXPECT_EQ(cgroup_memory(process, mount), std::nullopt);
  write_below(mount / "memory/c/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(cgroup_memory(process, mount), 1073741824.0);
}

TEST(ControlGroup, OfVersionOneIsRead) {
  const TemporaryDirectory folder;
  const fs::path process = folder.file("process"), mount = folder.file("mount");
  write_below(process / "cgroup", "5:memory:/c\n4:cpu,cpuacct:/c\n");
  write_below(mount / "cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n");
  write_below(mount / "cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_processors(process, mount), std::nullopt);
  write_below(mount / "cpu,cpuacct/c/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(cgroup_processors(process, mount), 3);
}

TEST(Surroundings, NamesThatAreNotUtf8AreTakenAndRecorded) {
  const TemporaryDirectory folder;
  const std::string model = folder.file("caf\xE9.h5"), output = folder.file("out\xE9");
  fs::copy_file(small_model, model);
  Words arguments = weights_run(output);
  arguments[2] = model;
  const Finished finished = test::run_headscope(arguments);
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const Results results = read_results(output + "/results.h5");
  const auto text = [&](const char* name) {
    return std::get<std::string>(results.attributes.at(name));
  };
  EXPECT_THAT(text("model_path"), EndsWith("/caf\\xE9.h5"));
  EXPECT_THAT(text("options"), HasSubstr("/caf\\\\xE9.h5\""));
  EXPECT_THAT(text("command_line"), HasSubstr("/caf\\xE9.h5"));
  std::erase(arguments, "--quiet");
  arguments.push_back("--force");
  EXPECT_EQ(test::run_headscope(arguments).out, output + "/report.html\n");
}

TEST(ShellWord, IsReadBackByAShellToTheByte) {
  for (const std::string word : {"out", "", "a b", "it's", "caf\xE9",
                                 "\xE9"
                                 "9",
                                 "new\nline", "'\xFF'\\", "$HOME*"}) {
    const std::string text = shell_word(word);
    EXPECT_EQ(test::run_program({"bash", "-c", "printf %s " + text}).out, word) << text;
    EXPECT_EQ(one_line(text), text);
  }
}

#ifndef HEADSCOPE_SANITIZED
TEST(Surroundings, AttendDoesNotHangWhereMemoryIsLimited) {
  const TemporaryDirectory folder;
  for (const char* const limit : {"150000", "230000"}) {
    const Finished finished =
        run_after("ulimit -v " + std::string(limit),
                  {"attend", "The cat sat", "--threads", "1", "--output", folder.file("a.html")});
    EXPECT_NE(finished.exit_status, 0) << limit;
    EXPECT_THAT(finished.err,
                AllOf(HasSubstr("headscope: address space: expected a limit (ulimit -v)"),
                      HasSubstr(" for 1 thread, got ")));
  }
}
#endif

TEST(Surroundings, NamesThatAreNotUtf8AreRestoredToTheByte) {
  RunOptions options;
  options.table.at("model").set({"caf\xE9.h5"});
  options.table.at("corpus").set({"a.txt", "\xFF.txt"});
  RunOptions restored;
  restored.restore(options.for_merging(), "pass.h5");
  EXPECT_EQ(fs::path(restored.model).filename(), "caf\xE9.h5");
  EXPECT_EQ(fs::path(restored.corpus.at(1)).filename(), "\xFF.txt");
}

/// A folder with a program `gnuplot` that makes a file named by its process number in `started` and
/// sleeps.
class SleepingGnuplot : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path program = folder_.file("gnuplot");
    fs::create_directory(folder_.file("started"));
    std::ofstream(program) << "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\n: > "
                           << folder_.file("started") << "/$$\nexec sleep 600\n";
    fs::permissions(program, fs::perms::owner_all);
    setenv("PATH", (folder_.path() + ":" + old_path_).c_str(), 1);
  }
  void TearDown() override { setenv("PATH", old_path_.c_str(), 1); }

  /// Waits up to two minutes for as many to have started. @return the process numbers of all that
  /// have.
  std::vector<pid_t> started(std::size_t count) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    std::vector<pid_t> processes;
    while (processes.size() < count && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      processes.clear();
      for (const auto& entry : fs::directory_iterator(folder_.file("started"))) {
        processes.push_back(std::stoi(entry.path().filename()));
      }
    }
    return processes;
  }

  TemporaryDirectory folder_;
  const std::string old_path_ = std::getenv("PATH");
};

/// Waits up to ten seconds.
bool ends(pid_t process) {
  for (int i = 0; i < 1000; ++i) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string number, name, state;
    if (!(stat >> number >> name >> state) || state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_F(SleepingGnuplot, RunsOncePerThreadAndEndsWithTheProgram) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    for (const std::size_t n_thread : {1, 2}) {
      Words arguments = weights_run(folder_.file("out"));
      arguments.insert(arguments.end(), {"--threads", std::to_string(n_thread)});
      Running running(test::headscope_call(arguments));
      started(n_thread);
      running.send(signal);
      EXPECT_EQ(running.wait().exit_status, 128 + signal);
      const std::vector<pid_t> processes = started(n_thread);
      EXPECT_EQ(processes.size(), n_thread);
      for (const pid_t gnuplot : processes) {
        EXPECT_TRUE(ends(gnuplot));
        fs::remove(folder_.file("started/" + std::to_string(gnuplot)));
      }
      fs::remove_all(folder_.file("out"));
    }
  }
}

TEST_F(SleepingGnuplot, IsEndedAfterItsTime) {
  EXPECT_EQ(test::message_of([&] { run_gnuplot(folder_.path(), "x.gp", "svg", 1); }),
            "x.gp: expected gnuplot to end within 1 s, it did not");
  EXPECT_TRUE(ends(started(1).front()));
}

}  // namespace
}  // namespace headscope
