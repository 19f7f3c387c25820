#!/usr/bin/env bash
# Installs the packages that building and testing cleave needs on Debian 12. It installs missing packages
# only, and asks no questions; it may be run again at any time.
#
# usage: scripts/setup.sh [--all]
#   --all   also those of the slow checks: clang's tools and sanitizer runtimes, shellcheck, a browser, zsh, fish
set -euo pipefail

packages=(
  g++ clang cmake ninja-build pkg-config ccache
  libcli11-dev nlohmann-json3-dev libspdlog-dev catch2 libgraphviz-dev
  libsimdjson-dev libprotozero-dev libonnx-dev libprotobuf-dev protobuf-compiler zlib1g-dev
  libre2-dev libtomlplusplus-dev libutf8proc-dev
  python3 python3-venv valgrind
)
case "${1:-}" in
  '') ;;
  --all) packages+=(clang-format clang-tidy libclang-rt-14-dev shellcheck chromium chromium-driver zsh fish) ;;
  *)
    echo "usage: scripts/setup.sh [--all]" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not a Debian system; install the packages named there: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  # shellcheck disable=SC2016  # the format is dpkg-query's, not the shell's
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are there already, nothing to do"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "setup: needs root, or sudo without a password, to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "setup: installing ${#missing[@]} of ${#packages[@]} packages: ${missing[*]}"
# Stale package lists may still do, so only the installation decides.
if ! { apt update || true; apt install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "setup: apt-get could not install: ${missing[*]}" >&2
  exit 1
fi
echo "setup: installed ${#missing[@]} packages, ${#packages[@]} are there now"
