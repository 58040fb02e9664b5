"""Every file includes only files of its own level or an earlier one; CONTRIBUTING.md lists the levels.

Each folder of src/ is a level, src/compute/product one before src/compute; analysis/ and cli/ follow. A public header belongs to the level of the source of the same
name. An analysis includes no other analysis.
"""

import re
import sys
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
LEVELS = ["base", "files", "model", "compute/product", "compute", "corpus", "results", "run", "figures", "report", "comparison", "analysis", "cli"]


# Folders of analysis/ that all analyses may include: files of no folder, and scores of heads.
SHARED_BY_ANALYSES = ("", "scores")


def analysis_of(path):
    """The folder of analysis/ that a file belongs to; empty where it lies in none."""
    folder, *rest = path.relative_to(PROJECT / "analysis").parts
    return folder if rest else ""


def sources():
    for folder in ("include", "src", "analysis", "cli"):
        yield from (path for pattern in ("*.hpp", "*.cpp") for path in sorted((PROJECT / folder).rglob(pattern)))


def level_of(path):
    """The level of a file of the project."""
    folder, *rest = path.relative_to(PROJECT).parts
    if folder == "src":
        return "compute/product" if rest[:2] == ["compute", "product"] else rest[0]
    if folder != "include":
        return folder
    named = list((PROJECT / "src").rglob(path.stem + ".cpp"))
    if len(named) != 1:
        raise AssertionError(f"{path.relative_to(PROJECT)}: expected one source of its name in src, got {len(named)}")
    return level_of(named[0])


def included(path):
    """The project's files that a file includes by name."""
    roots = [path.parent, PROJECT / "include", PROJECT / "src", PROJECT / "analysis", PROJECT / "cli"]
    for name in re.findall(r'^#include ["<]([^">]+)[">]', path.read_text(encoding="utf-8"), re.MULTILINE):
        found = next((root / name for root in roots if (root / name).is_file()), None)
        if found is not None:
            yield found.resolve()
        elif name.startswith("headscope/"):
            raise AssertionError(f"{path.relative_to(PROJECT)}: includes {name}, which is not there")


class IncludeDirection(unittest.TestCase):
    def test_no_file_includes_one_of_a_later_level(self):
        upwards = [
            f"{path.relative_to(PROJECT)} ({level_of(path)}) includes {other.relative_to(PROJECT)} ({level_of(other)})"
            for path in sources()
            for other in included(path)
            if LEVELS.index(level_of(other)) > LEVELS.index(level_of(path))
        ]
        self.assertEqual(upwards, [])

    def test_an_analysis_includes_no_other_analysis(self):
        across = [
            f"{path.relative_to(PROJECT)} includes {other.relative_to(PROJECT)}"
            for path in (PROJECT / "analysis").glob("*/**/*.?pp")
            for other in included(path)
            if other.is_relative_to(PROJECT / "analysis") and analysis_of(other) not in (analysis_of(path), *SHARED_BY_ANALYSES)
        ]
        self.assertEqual(across, [])

    def test_every_folder_of_the_library_is_a_level(self):
        folders = {path.name for path in (PROJECT / "src").iterdir()}
        self.assertEqual(folders, {level for level in LEVELS[:-2] if "/" not in level})


if __name__ == "__main__":
    sys.exit(unittest.main())
