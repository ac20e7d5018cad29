# Sourced by scripts that add up what other scripts counted, in `passed`, `failed` and `skipped`.

# Adds the last line of a file, `N passed, N failed[, N skipped]`; where there is none, one failure.
add_counts() {
  local line
  line=$(tail -n 1 "$1")
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
  else
    failed=$((failed + 1))
  fi
}

print_counts() {
  local line="$passed passed, $failed failed"
  if ((skipped > 0)); then line+=", $skipped skipped"; fi
  printf '\n%s\n' "$line"
}
