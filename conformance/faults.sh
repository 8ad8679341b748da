#!/usr/bin/env bash
# Would the simulator find a fault of the engine? Builds each of the faults that the core knows (`panewire_fault`) and plays
# trials until one fails, and where none does, the scenarios: `bash conformance/faults.sh [NAME...]`. It fails if a fault is
# not found. SEEDS is how many trials are played, 2,000 if it is not set; SCENARIOS which files of them, all if it is not.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/faults
seeds=${SEEDS:-2000}
wrappers=$CARGO_TARGET_DIR/wrappers
mkdir -p "$wrappers"

if (($#)); then
  faults=("$@")
else
  mapfile -t faults < <(grep -rhoP 'panewire_fault = "\K[^"]+' core/src | sort -u)
fi

# Every scenario, up to the first file of them in which one fails; the fault is built in already.
scenarios() {
  RUSTC_WORKSPACE_WRAPPER=$wrappers/$fault cargo test --quiet --locked --profile sim -p panewire-conformance \
    --test "${SCENARIOS:-sim_*}" -- --format pretty 2>&1 || true
}

missed=()
for fault in "${faults[@]}"; do
  # A compiler of another name makes cargo build the workspace anew, and nothing else.
  printf '#!/bin/sh\nexec "$@" --cfg '\''panewire_fault="%s"'\''\n' "$fault" >"$wrappers/$fault"
  chmod +x "$wrappers/$fault"
  RUSTC_WORKSPACE_WRAPPER=$wrappers/$fault cargo build --quiet --locked --profile sim -p panewire-conformance \
    --bin panewire-conformance
  if ! found=$("$CARGO_TARGET_DIR/sim/panewire-conformance" sim --seeds "$seeds" --brief); then
    printf '%-30s %s\n' "$fault" "$(grep -a -m1 '^seed' <<<"$found")"
  elif told=$(scenarios) && found=$(grep -m1 -oP '^test \K.*(?= \.\.\. FAILED)' <<<"$told"); then
    printf '%-30s not in %s seeds, but in the scenario %s\n' "$fault" "$seeds" "$found"
  else
    printf '%-30s NOT FOUND in %s seeds and in no scenario\n' "$fault" "$seeds"
    missed+=("$fault")
  fi
done

printf '%s faults, %s not found\n' "${#faults[@]}" "${#missed[@]}"
((${#missed[@]} == 0))
