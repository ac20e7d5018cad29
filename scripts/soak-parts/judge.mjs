// Judges what the daemon showed of itself: deaths, error lines, unexpected answers, memory and descriptors.

/** Milliseconds after a fault during which it may still be the reason of an error line. */
const GRACE = 30_000
/** Milliseconds. */
const HOUR = 3_600_000

export function judgeErrors(errors, timeline) {
  const kinds = new Map()
  const unexplained = new Map()
  for (const { at, msg, line } of errors) {
    const turns = timeline.at(at, GRACE)
    const isExplained = turns.some(({ fault }) => fault.explains.some((pattern) => pattern.test(msg)))
    const into = isExplained ? kinds : unexplained
    const kind = isExplained ? `${turns.at(-1).fault.name}: ${msg}` : msg
    const known = into.get(kind)
    if (known === undefined) into.set(kind, { times: 1, line, turns: turns.map(({ fault }) => fault.name) })
    else known.times += 1
  }
  const words = [...unexplained].map(
    ([msg, { times, line, turns }]) => `${times} × ${msg} (${turns.at(-1) ?? 'no fault'}): ${line.slice(0, 600)}`,
  )
  const explained = [...kinds.values()].reduce((sum, { times }) => sum + times, 0)
  return {
    result: {
      name: 'error lines in the log',
      text: `${errors.length}, of which ${explained} are explained by the fault under way`,
      good: unexplained.size === 0,
    },
    details: words,
    explained: [...kinds].map(([kind, { times }]) => `${kind}: ${times}`),
  }
}

export function judgeDeaths(deaths) {
  const strange = deaths.filter(({ isExpected }) => !isExpected)
  const words = strange.map(({ code, signal, fault }) => `${code ?? signal} in "${fault}"`)
  const text = `${deaths.length}, of which ${deaths.length - strange.length} were caused by the faults that kill it${words.length === 0 ? '' : ` [${words.slice(0, 3)}]`}`
  return { name: 'deaths of the daemon', text, good: strange.length === 0 }
}

export function judgeAnswers(unexpected) {
  const words = [...unexpected].map(
    ([kind, { times, fault }]) => `${times} × ${kind} (${fault === '' ? 'no fault' : fault})`,
  )
  return {
    result: { name: 'unexpected answers', text: String(words.length), good: words.length === 0 },
    details: words,
  }
}

/** Over the longest life of the daemon, without its beginning. */
export function judgeUse(samples) {
  const lives = Map.groupBy(samples, ({ life }) => life)
  const longest = [...lives.values()].sort((one, other) => other.length - one.length)[0] ?? []
  const [begin, end] = [longest[0]?.at ?? 0, longest.at(-1)?.at ?? 0]
  const settled = longest.filter(({ at }) => at >= begin + Math.max(60_000, (end - begin) * 0.2))
  if (settled.length < 30)
    return [{ name: 'memory and descriptors', text: 'the daemon did not live long enough to tell', good: true }]
  const minutes = ((settled.at(-1).at - settled[0].at) / 60_000).toFixed(1)
  return [
    judgeSlope({
      name: 'memory (resident), MB',
      settled,
      minutes,
      of: ({ rss }) => rss,
      allowed: (mean) => Math.max(25, mean * 0.12),
    }),
    judgeSlope({
      name: 'memory of its child processes, MB',
      settled,
      minutes,
      of: ({ childrenRss }) => childrenRss,
      allowed: (mean) => Math.max(60, mean * 0.3),
    }),
    judgeSlope({ name: 'descriptors', settled, minutes, of: ({ descriptors }) => descriptors, allowed: () => 40 }),
    judgeSlope({ name: 'threads', settled, minutes, of: ({ threads }) => threads, allowed: () => 3 }),
  ]
}

function judgeSlope({ name, settled, minutes, of, allowed }) {
  const mean = settled.reduce((sum, sample) => sum + of(sample), 0) / settled.length
  const slope = slopeOf(settled.map((sample) => [sample.at, of(sample)]))
  const grown = slope * (settled.at(-1).at - settled[0].at)
  const most = Math.max(...settled.map(of))
  const text = `mean ${mean.toFixed(1)}, greatest ${most.toFixed(1)}; ${grown >= 0 ? 'grew' : 'fell'} by ${Math.abs(grown).toFixed(1)} in ${minutes} minutes (${(slope * HOUR).toFixed(1)} an hour)`
  return { name, text, good: grown <= allowed(mean) }
}

/** Of the straight line with the least squares. */
function slopeOf(points) {
  const [meanX, meanY] = [0, 1].map((at) => points.reduce((sum, point) => sum + point[at], 0) / points.length)
  const upper = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const lower = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return lower === 0 ? 0 : upper / lower
}
