// The figures of a list of numbers.

export function median(list) {
  const sorted = list.toSorted((one, other) => one - other)
  const middle = (sorted.length - 1) / 2
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2
}

export function percentiles(times) {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: sorted.at(-1) }
}
