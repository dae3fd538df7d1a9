#!/bin/sh
# Installs svc from its release: the archive for this machine, checked against SHA256SUMS.
#
#   curl -fsSL …/install.sh | sh
#
# SVC_INSTALL_DIR is where the program goes (default: ~/.local/bin), SVC_VERSION the version, and SVC_DOWNLOAD_URL
# the folder of a release that has the archive and SHA256SUMS.
set -eu

version=${SVC_VERSION:-@VERSION@}
url=${SVC_DOWNLOAD_URL:-@REPOSITORY@/releases/download/v$version}
directory=${SVC_INSTALL_DIR:-$HOME/.local/bin}

fail() {
    echo "svc was not installed: $*" >&2
    exit 1
}

case $(uname -s) in
Linux) system=unknown-linux-musl ;;
Darwin) system=apple-darwin ;;
*) fail "there is no archive for $(uname -s); see the documentation for other ways" ;;
esac
case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) fail "there is no archive for $(uname -m)" ;;
esac
name=svc-$version-$machine-$system

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$name.tar.gz" SHA256SUMS; do
    curl -fsSL "$url/$file" -o "$work/$file" || fail "cannot download $url/$file"
done
cd "$work"
grep "  $name.tar.gz\$" SHA256SUMS >expected || fail "$name.tar.gz is not in SHA256SUMS"
if command -v sha256sum >/dev/null; then
    sha256sum -c expected >/dev/null || fail "$name.tar.gz differs from SHA256SUMS"
else
    shasum -a 256 -c expected >/dev/null || fail "$name.tar.gz differs from SHA256SUMS"
fi
tar -xzf "$name.tar.gz"
mkdir -p "$directory"
# In place of a running svc, which goes on with the file that it has.
cp "$name/svc" "$directory/svc.new"
mv "$directory/svc.new" "$directory/svc"
echo "installed $("$directory/svc" --version) in $directory"
case ":$PATH:" in
*":$directory:"*) ;;
*) echo "$directory is not in PATH: add it" ;;
esac
