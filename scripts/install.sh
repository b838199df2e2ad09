#!/bin/sh
# Install redline from a release folder: the one that this script lies in, or a
# URL of one.   sh install.sh [FOLDER_OR_URL] [DIRECTORY]
set -eu
from=${1:-$(dirname "$0")}
to=${2:-${HOME}/.local/bin}
os=$(uname -s | tr '[:upper:]' '[:lower:]')
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) echo "install.sh: no build for $(uname -m); build it with make build" >&2; exit 1 ;;
esac
name=redline-$os-$arch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$name" SHA256SUMS; do
	case $from in
	http://* | https://*) curl -fsSL -o "$work/$file" "$from/$file" ;;
	*) cp "$from/$file" "$work/$file" ;;
	esac || { echo "install.sh: $from has no $file" >&2; exit 1; }
done
want=$(awk -v f="$name" '$2 == f {print $1}' "$work/SHA256SUMS")
if command -v sha256sum >/dev/null; then got=$(sha256sum "$work/$name"); else got=$(shasum -a 256 "$work/$name"); fi
got=${got%% *}
[ -n "$want" ] && [ "$want" = "$got" ] || { echo "install.sh: $name does not match SHA256SUMS; nothing was installed" >&2; exit 1; }
mkdir -p "$to"
cp "$work/$name" "$to/redline.new" && chmod 755 "$to/redline.new" && mv "$to/redline.new" "$to/redline"
"$to/redline" version
