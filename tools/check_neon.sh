#!/usr/bin/env bash
# Checks that the element-wise loops of src/compute became vector code for 64-bit ARM.
# Usage: tools/check_neon.sh FILE...     object files or libraries compiled for it
set -euo pipefail
case ${1:-} in
  -h | --help | '') sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
esac

# Parts of the functions' names in the disassembly.
functions=(
  'headscope::maximum('
  'headscope::exponentiate('
  'headscope::scale('
  'scale_column<'
  'activate_column<'
  'gate_column<'
  'difference_column<' # of norms, activations and gates, as the next
  'gradient_column<'
)
# A line a function: how many instructions compute with four floats at once, and its name.
counts=$(aarch64-linux-gnu-objdump -d -C --no-show-raw-insn "$@" | awk '
  /^[0-9a-f]+ <.*>:$/ { name = $0; count[name] += 0; next }
  /\tf[a-z]+\tv[0-9]+\.4s, / { ++count[name] }
  END { for (name in count) print count[name], name }')
failed=0
for function in "${functions[@]}"; do
  found=$(grep -F "$function" <<<"$counts" || true)
  [ -n "$found" ] && ! grep -q '^0 ' <<<"$found" && continue
  echo "check_neon: $function: expected arithmetic with four floats at once (.4s) in every instance, found: ${found:-no such function}" >&2
  failed=1
done
exit $failed
