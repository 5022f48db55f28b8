#!/usr/bin/env bash
# Builds the tools of `npm run test:kubernetes` from the Go module proxy, in the versions that test/kubernetes/tools/go.mod
# pins, into .cache/kubernetes/bin. Needs Go; what is there already is not built again. With arguments, those tools only:
#
#   scripts/kubernetes-tools.sh helm egctl
set -euo pipefail
cd "$(dirname "$0")/.."

source=test/kubernetes/tools
# Another set of pinned versions is another set of tools.
version=$(cat "$source/go.sum" "$source/go.mod" | sha256sum | cut -c1-12)
bin=$PWD/.cache/kubernetes/bin
mkdir -p "$bin"

# The API server asks what version it is, and Go cannot tell: its own build sets these.
kubernetes=$(sed -n 's|^\tk8s.io/kubernetes v\([0-9.]*\).*|\1|p' "$source/go.mod")
minor=${kubernetes#*.}
server="-X k8s.io/component-base/version.gitVersion=v$kubernetes -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%%.*}"

# build NAME PACKAGE [LDFLAGS]
build() {
  [ "$(cat "$bin/$1.version" 2>/dev/null)" != "$version" ] || [ ! -x "$bin/$1" ] || return 0
  echo "Building $1 …" >&2
  # One package at a time: these are large, and whoever runs this is doing something else.
  (cd "$source" && GOFLAGS='-p=1 -mod=readonly -buildvcs=false' nice -n 19 go build -trimpath -ldflags "-s -w ${3:-}" -o "$bin/$1" "$2")
  echo "$version" >"$bin/$1.version"
}

for tool in "${@:-}"; do
  case $tool in
    helm | '') build helm helm.sh/helm/v4/cmd/helm ;;&
    egctl | '') build egctl github.com/envoyproxy/gateway/cmd/egctl ;;&
    kubectl-validate | '') build kubectl-validate sigs.k8s.io/kubectl-validate ;;&
    actionlint | '') build actionlint github.com/rhysd/actionlint/cmd/actionlint ;;&
    etcd | '') build etcd go.etcd.io/etcd/server/v3 ;;&
    kube-apiserver | '') build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$server" ;;
  esac
done
