"""Progress on a terminal, the manual page and bash's completion.

    terminal_test.py HEADSCOPE_BINARY
"""

import fcntl
import functools
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import children

BINARY = sys.argv.pop(1)
NARROW = 34  # columns
PAGE = Path(tempfile.gettempdir()) / f"terminal_test-{os.getpid()}.html"
PROJECT = Path(__file__).resolve().parents[2]


def output(*arguments):
    return children.run([BINARY, *arguments], check=True, capture_output=True, text=True).stdout


def on_terminal(columns, *arguments, stream="stderr", **environment):
    """What the program writes to the stream, a terminal of this width."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: end}
    process = subprocess.Popen([BINARY, *arguments], **streams, env=os.environ | {"TERM": "xterm", "NO_COLOR": ""} | environment,
                               preexec_fn=children.ending_with_parent())
    os.close(end)
    written = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    os.close(terminal)
    return process.wait(), written.decode()


def without_escapes(text):
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def options_of(command):
    return re.findall(r"^  (?:-\w, )?(--[a-z-]+)", output("help", command), re.MULTILINE)


COMMANDS = re.findall(r"^  (\w+)  ", output("help"), re.MULTILINE)


@unittest.skipUnless(has_terminals(), "no pseudo terminal can be made here")
class Progress(unittest.TestCase):
    def test_fits_the_terminal_and_names_the_phase(self):
        for columns in (40, 72):
            with self.subTest(columns), tempfile.TemporaryDirectory() as folder:
                status, written = on_terminal(columns, "run", "--model", PROJECT / "data/planted-model.h5", "--corpus",
                                              PROJECT / "data/stories.conllu", "--analyses", "correlation", "--max-documents", "3",
                                              "--bootstrap", "20", "--figures", "svg", "--output", folder)
                self.assertEqual(status, 0, written)
                lines = re.split(r"[\r\n]+", without_escapes(written))
                self.assertLess(max(map(len, lines)), columns, lines)
                text = "\n".join(lines)
                for phase in ("loading model and corpus", "comparing heads", "writing results.h5", "drawing tables, figures and report"):
                    self.assertIn(phase, text)
                self.assertRegex(text, r"finished in \d+ s")
                if columns >= 72:
                    self.assertIn("comparing heads, document 1 of 3", text)

    def test_the_time_left_is_of_the_whole_run(self):
        with tempfile.TemporaryDirectory() as folder:
            status, written = on_terminal(200, "run", "--model", PROJECT / "data/planted-model.h5", "--corpus", PROJECT / "data/stories.conllu",
                                          "--analyses", "pruning", "--max-documents", "2", "--bootstrap", "20", "--figures", "svg",
                                          "--output", folder)
        self.assertEqual(status, 0, written)
        lines = re.split(r"[\r\n]+", without_escapes(written))
        last = -1
        # A pass begins with what was timed before it.
        for phase in ("ablating heads, document 1 of 2", "pruning heads, document 1 of 2", "results of pruning",
                      "drawing tables, figures and report"):
            line = next(line for line in lines if line.startswith(phase))
            percent = int(re.search(r": (\d+) %, (\d+ min )?\d+ s left", line).group(1))
            self.assertLess(percent, 100, line)
            if not phase.startswith("ablating"):  # the pass before it is too short to tell
                self.assertGreaterEqual(percent, last, lines)
                last = percent
        # The speed is that of the pass: none while the pass has run no token.
        for rate in re.findall(r", (\S+) tokens?/s", "\n".join(lines)):
            self.assertLessEqual(len(rate.replace(".", "").strip("0")), 2, rate)
        for phase in ("ablating heads, document 1 of 2", "pruning heads, document 1 of 2"):
            self.assertNotIn("/s", next(line for line in lines if line.startswith(phase)))


def without_speeds(text):
    """Text without the item on engines, whose speeds every call measures, by which it chooses."""
    return re.sub(r"(engines, in a trial here).*?(?=\n {0,2}\S|\Z)", r"\1", text, flags=re.DOTALL)


@unittest.skipUnless(has_terminals(), "no pseudo terminal can be made here")
class Text(unittest.TestCase):
    SHOWN = [("stdout", "--help"), ("stdout", "help", "run"), ("stdout", "list"), ("stdout", "inspect", PROJECT / "data/default-model.h5"),
             ("stdout", "attend", "The cat sat on the mat. The cat sat", "-o", PAGE), ("stderr", "run", "--model", "no such folder of a model here")]

    @classmethod
    def tearDownClass(cls):
        PAGE.unlink(missing_ok=True)

    @staticmethod
    @functools.cache
    def shown(columns, stream, *arguments, **environment):
        return on_terminal(columns, *map(str, arguments), stream=stream, **environment)[1].replace("\r\n", "\n")

    def test_breaks_lines_between_words(self):
        for columns in (NARROW, 200):
            for stream, *arguments in self.SHOWN:
                if columns == 200 and "attend" in arguments:  # runs a model: at one width is enough
                    continue
                with self.subTest(columns=columns, arguments=arguments):
                    text = self.shown(columns, stream, *arguments, NO_COLOR="1")
                    for line in text.split("\n"):
                        self.assertTrue(len(line) <= columns or " " not in line.strip(), line)
                        self.assertFalse(line.strip().startswith("% "), "a number stays with its per cent sign")

    def test_says_the_same_words_at_every_width(self):
        for stream, *arguments in self.SHOWN:
            ended = children.run([BINARY, *arguments], capture_output=True, text=True)
            plain = getattr(ended, stream)
            self.assertNotIn("\x1b", plain)
            if stream == "stderr":
                self.assertEqual(plain.count("\n"), 1)
            narrow = self.shown(NARROW, stream, *arguments, NO_COLOR="1")
            self.assertEqual(without_speeds(narrow).split(), without_speeds(plain).split())

    def test_is_bold_or_coloured_only_where_that_is_wanted(self):
        for stream, *arguments in self.SHOWN:
            with self.subTest(arguments=arguments):
                plain = self.shown(NARROW, stream, *arguments, NO_COLOR="1")
                self.assertNotIn("\x1b", plain)
                self.assertNotIn("\x1b", self.shown(NARROW, stream, *arguments, TERM="dumb"))
                styled = self.shown(NARROW, stream, *arguments, NO_COLOR="")
                self.assertRegex(styled, r"\x1b\[1(;31)?m")
                self.assertEqual(without_speeds(without_escapes(styled)), without_speeds(plain))
        self.assertIn("\x1b[1;31mheadscope:\x1b[0m", self.shown(60, "stderr", "run", "--modle"))


class Manual(unittest.TestCase):
    def test_has_the_sections_of_a_manual(self):
        page = output("help", "--man")
        sections = re.findall(r"^\.SH (.*)$", page, re.MULTILINE)
        self.assertEqual(sections, ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "ENVIRONMENT", "FILES", "EXAMPLES", "EXIT STATUS"])

    def test_has_every_command_and_option(self):
        page = output("help", "--man").replace("\\-", "-")
        self.assertEqual(len(COMMANDS), 10)
        for command in COMMANDS:
            section = re.search(rf"^\.SS {command}\b.*?(?=^\.S[SH] )", page, re.MULTILINE | re.DOTALL).group()
            for option in options_of(command):
                if option != "--help":
                    self.assertRegex(section, rf"(?m)^\.B (-\w, )?{option}( |$)")


class Completion(unittest.TestCase):
    def complete(self, *words):
        script = output("help", "--bash-completion") + 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headscope\n' \
            'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", "headscope", *words], check=True, capture_output=True, text=True)
        return done.stdout.split()

    def test_knows_commands_options_and_choices(self):
        self.assertEqual(self.complete("comp"), ["compare"])
        self.assertEqual(sorted(self.complete("")), sorted([*COMMANDS, "help"]))
        self.assertEqual(self.complete("help", "insp"), ["inspect"])
        for command in COMMANDS:
            self.assertEqual(self.complete(command, "--"), options_of(command))
        self.assertEqual(self.complete("run", "--control", "r"), ["random"])
        self.assertEqual(self.complete("run", "da"), [])

    def test_goes_on_after_a_comma(self):
        self.assertEqual(self.complete("run", "--analyses", "pruning,corr"), ["pruning,correlation"])
        self.assertEqual(self.complete("run", "--figures", "svg,pn"), ["svg,png"])

    def test_letters_are_known(self):
        self.assertIn("'--output[", output("help", "--zsh-completion"))
        self.assertIn("'-o[", output("help", "--zsh-completion"))
        self.assertIn("\\-o, \\-\\-output", output("help", "--man"))

    def test_names_every_command_for_other_shells(self):
        for shell in ("zsh", "fish"):
            script = output("help", f"--{shell}-completion")
            for command in COMMANDS:
                self.assertIn(command, script)

    def check_is_accepted_by(self, shell):
        with tempfile.NamedTemporaryFile("w", suffix="." + shell) as file:
            file.write(output("help", f"--{shell}-completion"))
            file.flush()
            subprocess.run([shell, "-n", file.name], check=True)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_accepts_its_script(self):
        self.check_is_accepted_by("zsh")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_accepts_its_script(self):
        self.check_is_accepted_by("fish")


if __name__ == "__main__":
    unittest.main()
