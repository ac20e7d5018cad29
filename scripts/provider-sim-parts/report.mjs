// What the counts of the providers say about a side.

import { paceReasons } from './provider-server.mjs'
import { allowedPace, providers } from './providers.mjs'

export function printSide({ title, states, shares, seconds }) {
  console.log(`\n${title}, ${seconds.toFixed(0)} s`)
  const rows = providers.map((provider) => {
    const figures = figuresOf(provider, states[provider.name])
    return [
      provider.name,
      `${figures.settled} of ${shares.get(provider.name)}`,
      percent(figures.pace),
      percent(figures.refusedShare, 2),
      ...Object.values(states[provider.name].refused).map(String),
    ]
  })
  const heads = ['provider', 'settled', 'pace', 'refused for pace', 'sessions', 'rate', 'in a session', 'greylisted']
  printTable([[...heads, 'blocked', 'content'], ...rows])
}

/** The worst provider of each side, and all attempts together. */
export function summarize(outcomes) {
  const rows = outcomes.map(({ title, states, shares, seconds }) => {
    const all = providers.map((provider) => figuresOf(provider, states[provider.name]))
    const sum = (key) => all.reduce((total, figures) => total + figures[key], 0)
    const total = [...shares.values()].reduce((count, share) => count + share, 0)
    return [
      title,
      `${seconds.toFixed(0)} s`,
      percent(sum('settled') / total, 1),
      percent(Math.min(...all.map(({ pace }) => pace))),
      percent(sum('refusedForPace') / sum('attempts'), 2),
    ]
  })
  console.log('')
  printTable([['side', 'time', 'settled', 'lowest pace', 'attempts refused for pace'], ...rows])
}

/**
 * `pace`: messages a second between the first and the last that the provider took, without the time of its block, of those
 * that it allows.
 */
function figuresOf(provider, { accepted, settled, refused, firstAccepted, lastAccepted }) {
  const refusedForPace = paceReasons.reduce((count, reason) => count + refused[reason], 0)
  const attempts = settled + Object.values(refused).reduce((count, one) => count + one, 0) - refused.content
  const time = (lastAccepted ?? 0) - (firstAccepted ?? 0)
  const { from = 0, length = 0 } = provider.block ?? {}
  const blocked = Math.min(length, Math.max(0, time - from))
  const pace = time === blocked ? 0 : (accepted * 1000) / (time - blocked) / allowedPace(provider)
  return { settled, attempts, refusedForPace, pace, refusedShare: attempts === 0 ? 0 : refusedForPace / attempts }
}

function percent(share, digits = 0) {
  return `${(share * 100).toFixed(digits)} %`
}

function printTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  for (const row of rows)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
}
