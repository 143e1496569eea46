#!/bin/sh
# Installs majordomo for the current user:
#
#   curl -fsSL https://github.com/majordomo-llm/majordomo/releases/latest/download/install.sh | sh
#
# MAJORDOMO_VERSION   a version such as 0.1.0, else the latest
# MAJORDOMO_BIN_DIR   where the program goes, else ~/.local/bin
# MAJORDOMO_BASE_URL  where archives are, else the project's releases
set -eu

fail() { echo "majordomo: $1" >&2; exit 1; }

fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL "$1" -o "$2"
  elif command -v wget >/dev/null; then
    wget -qO "$2" "$1"
  else
    fail "curl or wget is needed"
  fi
}

checksum() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    fail "sha256sum or shasum is needed"
  fi | cut -d ' ' -f 1
}

main() {
  case $(uname -m) in
    x86_64 | amd64) arch=x86_64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) fail "no release for $(uname -m); build it with: cargo install --locked majordomo-cli" ;;
  esac
  case $(uname -s) in
    # The static build runs on every distribution.
    Linux) target=$arch-unknown-linux-musl ;;
    Darwin) target=$arch-apple-darwin ;;
    *) fail "no release for $(uname -s); on Windows use install.ps1" ;;
  esac
  releases=https://github.com/majordomo-llm/majordomo/releases
  version=${MAJORDOMO_VERSION:-}
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  if [ -n "${MAJORDOMO_BASE_URL:-}" ]; then
    base=$MAJORDOMO_BASE_URL
  elif [ -n "$version" ]; then
    base=$releases/download/v$version
  else
    base=$releases/latest/download
  fi
  fetch "$base/SHA256SUMS" "$folder/sums" || fail "cannot fetch $base/SHA256SUMS"
  archive=$(sed -n "s/^[0-9a-f]*  \(majordomo-.*-$target\.tar\.gz\)\$/\1/p" "$folder/sums")
  [ -n "$archive" ] || fail "this release has no archive for $target"
  fetch "$base/$archive" "$folder/$archive" || fail "cannot fetch $base/$archive"
  expected=$(sed -n "s/^\([0-9a-f]*\)  $archive\$/\1/p" "$folder/sums")
  [ "$(checksum "$folder/$archive")" = "$expected" ] || fail "$archive does not match its checksum"
  tar -xzf "$folder/$archive" -C "$folder"
  bin=${MAJORDOMO_BIN_DIR:-${HOME:?is not set: set it, or MAJORDOMO_BIN_DIR}/.local/bin}
  mkdir -p "$bin"
  # Renamed into place: a running gateway keeps its file.
  cp "$folder/${archive%.tar.gz}/majordomo" "$bin/.majordomo.new"
  chmod 755 "$bin/.majordomo.new"
  mv "$bin/.majordomo.new" "$bin/majordomo"
  echo "installed $("$bin/majordomo" --version) in $bin"
  case :$PATH: in
    *:"$bin":*) echo "start it with: majordomo serve" ;;
    *) echo "start it with: $bin/majordomo serve (the folder is not in your PATH)" ;;
  esac
}

# Nothing runs until the whole script has arrived.
main
