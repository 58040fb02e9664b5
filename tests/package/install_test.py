#!/usr/bin/env python3
"""Install Headscope in one of README's ways and analyse the default model with what was installed.

Usage: tests/package/install_test.py WAY BUILD     WAY: source, wheel, debian or container; BUILD: a build folder
Exit status 77: a program that the way needs is absent, or it needs root.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = "bookworm"
RUN = ["run", "--analyses", "parameters", "--nulls", "2", "--quiet", "--force"]
# What a program finds where only it is installed: nothing of the build, no variable of the builder's.
BARE = {"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": "/", "LANG": "C.UTF-8"}


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=True, **options)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"skipped: {program} is not installed")
            sys.exit(77)


def need_root():
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)


def expect_data(report, folder):
    text = report.read_text(encoding="utf-8").replace("\\", "")  # Markdown's escapes
    assert f"{folder}/default-model.h5" in text, f"{report}: expected the model in {folder}"


def source(build, work):
    """`cmake --install`, into a folder that is moved afterwards."""
    run("cmake", "--install", build, "--prefix", work / "built")
    moved = (work / "built").rename(work / "moved")
    run(moved / "bin/headscope", *RUN, "--output", work / "out", cwd="/", env=BARE)
    expect_data(work / "out/report.md", moved / "share/headscope")


def wheel(_build, work):
    """`tools/wheel.sh`, which tries the wheel in a new environment, with the first notebook."""
    run(PROJECT / "tools/wheel.sh", work)
    assert len(list(work.glob("headscope-*.whl"))) == 1


def debian(build, work):
    """The package in a Debian that has nothing else, with and without /proc."""
    need_root()
    need("debootstrap", "cpack", "chroot")
    run("cpack", "--config", build / "CPackConfig.cmake", "-B", work / "packages")
    package, = (work / "packages").glob("headscope_*.deb")
    root = work / "root"
    # Child processes of the packages' scripts need the system's own mirror and certificates, not a session's.
    run("debootstrap", "--variant=minbase", "--include=ca-certificates", DEBIAN, root)
    for name in ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"):
        if pathlib.Path("/", name).exists():
            shutil.copyfile(pathlib.Path("/", name), root / name)
    shutil.copy(package, root / "package.deb")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    run("chroot", root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", "/package.deb", env=env)
    assert not list((root / "proc").iterdir()), "expected a root without /proc"
    run("chroot", root, "headscope", *RUN, "--output", "/without-proc", env=BARE)
    expect_data(root / "without-proc/report.md", "/usr/share/headscope")
    run("unshare", "--mount", "sh", "-c",
        f"mount -t proc none '{root}/proc' && exec chroot '{root}' headscope {' '.join(RUN)} --output /with-proc", env=BARE)
    expect_data(root / "with-proc/report.md", "/usr/share/headscope")
    assert list((root / "with-proc/figures").glob("*.svg")), "expected figures: the package depends on gnuplot"
    run("chroot", root, "dpkg", "--purge", "headscope", env=env)
    assert not (root / "usr/share/headscope").exists()


def container(_build, work):
    """README's two commands; the image is removed."""
    need("podman")
    run("podman", "build", "-t", "headscope-install-test", PROJECT)
    try:
        run("podman", "run", "--rm", "-v", f"{work}:/out", "headscope-install-test")
    finally:
        run("podman", "rmi", "headscope-install-test")
    assert (work / "demo/report.html").stat().st_size > 0


WAYS = {way.__name__: way for way in (source, wheel, debian, container)}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in WAYS:
        sys.exit(__doc__.strip())
    with tempfile.TemporaryDirectory() as folder:
        WAYS[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(folder))
    print(f"{sys.argv[1]}: installed, and the default model analysed")


if __name__ == "__main__":
    main()
