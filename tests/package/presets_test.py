#!/usr/bin/env python3
"""Each preset of CMakePresets.json whose compiler is installed can be configured."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def main():
    presets = json.loads((PROJECT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
    failed = []
    for preset in presets:
        name, compiler = preset["name"], preset.get("cacheVariables", {}).get("CMAKE_CXX_COMPILER", "c++")
        if not shutil.which(compiler):
            print(f"{name}: skipped, {compiler} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["cmake", "--preset", name, "-B", folder], cwd=PROJECT, capture_output=True, text=True, check=False)
        print(f"{name}: {'configured' if done.returncode == 0 else done.stderr}")
        if done.returncode:
            failed.append(name)
    if failed:
        sys.exit(f"presets that cannot be configured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
