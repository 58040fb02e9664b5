#!/usr/bin/env bash
# Installs the Debian packages that Headscope needs, as root or with sudo. Does nothing if all are installed.
# Usage: tools/setup.sh [build|test|thorough]     build: to compile and run; test (default): also for the tests and notebooks;
#                                                 thorough: also for `tools/test.sh --thorough`, whose tests are skipped without them.
set -euo pipefail
case ${1:-test} in
  build | test | thorough) ;;
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
  *) echo "setup: expected build, test or thorough, got $1" >&2; exit 2 ;;
esac

packages=(g++ cmake ninja-build pkg-config git
  libarmadillo-dev libopenblas-dev libhdf5-dev libboost-program-options-dev libboost-dev
  nlohmann-json3-dev libpcre2-dev libutf8proc-dev libssl-dev zlib1g-dev gnuplot-nox)
if [ "${1:-test}" != build ]; then
  packages+=(dpkg-dev file libgtest-dev libgmock-dev libbenchmark-dev clang-format chromium
    python3-numpy python3-h5py python3-h5netcdf python3-netcdf4 python3-xarray python3-pandas
    python3-matplotlib python3-nbclient python3-ipykernel)
fi

[ "${1:-test}" != thorough ] || packages+=(slurmctld slurmd slurm-client munge debootstrap python3-venv
  clang-16 libclang-rt-16-dev libomp-16-dev g++-aarch64-linux-gnu qemu-user)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: packages are missing and there is no sudo; run this as root, then try again:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ca-certificates ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  ca-certificates "${missing[@]}" >&2
