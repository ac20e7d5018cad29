// `scripts/bench inbound`: inbound mail, authenticated and scored, beside Postfix with milters.
//
// Both sides get the same two hundred signed messages over as many sessions and ask the same DNS
// server. A run ends when the last message can be read, authenticated and scored.
import { cpus } from 'node:os'
import { compare } from '../compare.mjs'
import { dnsMissing, startDns } from './dns.mjs'
import { leastInbound, unscoredInbound } from './least.mjs'
import { openInbound, writeLetters } from './measure.mjs'
import { inboundMemory } from './memory.mjs'
import { signedLetters } from './messages.mjs'
import { opendmarcMissing, postfixWithMilters, postfixWithRspamd, rspamdPeerMissing } from './postfix.mjs'
import { inboundPosthorn } from './posthorn.mjs'

const LETTERS = 200
/** Octets of a message that is analyzed in the thread that authenticates it, with room for its signature. */
const MAX_LEAST = 60_000

/** `least`: beside the server that does the least, too. */
export async function measureInboundAll({
  least,
  folder,
  messages,
  warmUp,
  rounds,
  sizes,
  memory,
  cores,
  inboundSessions,
}) {
  const withoutDns = dnsMissing()
  if (withoutDns !== null) throw new Error(withoutDns)
  const size = sizes?.[0] ?? 4096
  if (least && memory) throw new Error('--memory: of Posthorn alone, so without floor')
  if (least && size > MAX_LEAST)
    throw new Error(`--sizes: the least MX takes ${MAX_LEAST} at most, as the threads analyze them`)
  const { letters, records } = await signedLetters(LETTERS, size)
  const dns = await startDns(folder, records)
  try {
    const how = { folder, dns: dns.address, file: writeLetters(folder, letters), sessions: inboundSessions }
    if (memory) return await inboundMemory({ ...how, messages: messages ?? 100_000 })
    const run = { ...how, messages: messages ?? 3000, warmUp, size }
    if (cores !== null) return [await byCores(least ? leastInbound : inboundPosthorn, run, cores, rounds ?? 3)]
    return least ? [await besideLeast(run, rounds ?? 3)] : await compared(run, rounds ?? 3)
  } finally {
    await dns.stop()
  }
}

/** The ratio is that of the most cores to the fewest. */
async function byCores(side, how, cores, rounds) {
  const wanted = [...new Set(cores)].sort((a, b) => b - a)
  const missing = wanted.find((count) => count < 1 || count > cpus().length)
  if (missing !== undefined) throw new Error(`--cores: found ${missing}, this machine has ${cpus().length}`)
  const sides = [...new Set([wanted[0], wanted.at(-1), ...wanted])].map((count) => ({
    name: `${count} ${count === 1 ? 'core' : 'cores'}`,
    side,
    how: { ...how, cores: count },
  }))
  const title = `inbound, ${how.sessions} sessions kept, about ${how.size} octets, ${side.name} bound to its cores`
  return compareOpened(title, sides, rounds)
}

async function compared(how, rounds) {
  const missing = rspamdPeerMissing()
  if (missing !== null) console.log(`Posthorn alone: ${missing}`)
  const withoutMilters = opendmarcMissing()
  if (missing === null && withoutMilters !== null) console.log(`beside rspamd alone: ${withoutMilters}`)
  const peers = [...(withoutMilters === null ? [[postfixWithMilters]] : []), [postfixWithRspamd]]
  const results = []
  for (const peer of missing === null ? peers : [[]]) {
    const sides = [inboundPosthorn, ...peer].map((side) => ({ name: side.name, side, how }))
    results.push(await compareOpened(titleOf(how), sides, rounds))
  }
  return results
}

async function besideLeast(how, rounds) {
  const missing = rspamdPeerMissing()
  if (missing !== null) console.log(`without Postfix: ${missing}`)
  const sides = [inboundPosthorn, leastInbound, unscoredInbound, ...(missing === null ? [postfixWithRspamd] : [])]
  return compareOpened(
    titleOf(how),
    sides.map((side) => ({ name: side.name, side, how })),
    rounds,
  )
}

const titleOf = ({ sessions, size }) =>
  `inbound, ${sessions} sessions kept, about ${size} octets, authenticated and scored`

/**
 * All sides stay up, and those without work take none of the machine: runs may be short and follow each other at once, so
 * that all have the same minutes of it.
 */
async function compareOpened(title, sides, rounds) {
  const opened = []
  try {
    for (const { name, side, how } of sides) opened.push({ name, ...(await openInbound(side, how)) })
    return await compare(title, opened, rounds)
  } finally {
    for (const { stop } of opened) await stop()
  }
}
