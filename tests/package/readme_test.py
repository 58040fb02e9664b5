#!/usr/bin/env python3
"""The commands of README and docs/ exist: scripts, presets, and the program's commands and options.

Usage: tests/package/readme_test.py PROGRAM
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def lines_of_code(text):
    """Each line of the blocks between ```, and each text between single `."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        if language in ("", "sh"):
            yield from re.sub(r"\\\n", " ", block).splitlines()
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    yield from (" ".join(found.split()) for found in re.findall(r"`([^`]+)`", prose))


def commands_of(text):
    """The commands of a line, as words."""
    for part in re.split(r"&&|\||;", text.split("  #")[0].strip("$ ()")):
        try:
            words = shlex.split(part.strip(" ()"))
        except ValueError:  # a text that is no command
            continue
        while words and re.fullmatch(r"[A-Z_]+=.*|sudo", words[0]):
            del words[0]
        if words:
            yield words


def help_of(program, command, known={}):
    if command not in known:
        done = subprocess.run([program, "help", command], text=True, capture_output=True)
        known[command] = done.stdout if done.returncode == 0 else None
    return known[command]


def broken_links(pages):
    """Links to files of the project that do not exist."""
    return [f"{page.name}: no {target}" for page in pages
            for target in re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text(encoding="utf-8"))
            if not (page.parent / target).exists()]


def main():
    program = sys.argv[1]
    pages = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    wrong = broken_links(pages)
    n_word = len(pages[0].read_text(encoding="utf-8").split())
    assert n_word <= 2200, f"README.md has {n_word} words, more than 2200"
    presets = {p["name"] for p in json.loads((PROJECT / "CMakePresets.json").read_text())["configurePresets"]}
    n_checked = 0
    for line in lines_of_code(text):
        for words in commands_of(line):
            n_checked += 1
            name = words[0]
            if re.fullmatch(r"(tools|tests|bench)/[\w./-]+", name) and not name.endswith("/"):
                if not (PROJECT / name).exists():
                    wrong.append(f"{name} does not exist")
            elif name == "cmake" and "--preset" in words:
                preset = words[words.index("--preset") + 1]
                if preset not in presets:
                    wrong.append(f"there is no preset {preset}")
            elif name == "headscope" and len(words) > 1 and words[1] != "help" and re.fullmatch(r"[a-z]+", words[1]):
                described = help_of(program, words[1])
                if described is None:
                    wrong.append(f"headscope has no command {words[1]}: {line}")
                    continue
                for option in (word for word in words[2:] if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)):
                    if not re.search(rf"(?<![\w-]){re.escape(option.split('=')[0])}(?![\w-])", described):
                        wrong.append(f"headscope {words[1]} has no option {option}: {line}")
            else:
                n_checked -= 1
    if wrong:
        sys.exit("README.md, docs: " + "\n".join(wrong))
    assert n_checked > 20, f"only {n_checked} commands found"
    print(f"{n_checked} commands of README.md and docs exist")


if __name__ == "__main__":
    main()
