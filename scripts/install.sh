#!/bin/sh
# Install redline from a release folder: the one that this script lies in, or a
# URL of one.   sh install.sh [FOLDER_OR_URL] [DIRECTORY]
set -eu
fail() {
	echo "install.sh: $*; nothing was installed" >&2
	exit 1
}
from=${1:-$(dirname "$0")}
to=${2:-${HOME}/.local/bin}
os=$(uname -s | tr '[:upper:]' '[:lower:]')
case $os in linux | darwin) ;; *) fail "no script for $os: copy redline-windows-amd64.exe to a directory of PATH, or build it with make build" ;; esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "no build for $(uname -m): build it with make build" ;;
esac
name=redline-$os-$arch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$name" SHA256SUMS; do
	case $from in
	http://* | https://*) curl -fsSL -o "$work/$file" "$from/$file" ;;
	*) cp "$from/$file" "$work/$file" ;;
	esac 2>/dev/null || fail "$from has no $file"
done
want=$(awk -v f="$name" '$2 == f {print $1}' "$work/SHA256SUMS")
if command -v sha256sum >/dev/null; then got=$(sha256sum "$work/$name"); else got=$(shasum -a 256 "$work/$name"); fi
got=${got%% *}
[ -n "$want" ] && [ "$want" = "$got" ] || fail "$name does not match SHA256SUMS"
{ mkdir -p "$to" && cp "$work/$name" "$to/redline.new" && chmod 755 "$to/redline.new" && mv "$to/redline.new" "$to/redline"; } 2>/dev/null ||
	fail "$to cannot be written to: give another directory, sh install.sh $from DIRECTORY"
"$to/redline" version
case :$PATH: in *:"$to":*) ;; *) echo "install.sh: $to is not in PATH; add it, or call $to/redline" >&2 ;; esac
