// `scripts/bench inbound`: inbound mail, authenticated and scored, beside Postfix with rspamd.
//
// Both sides get the same two hundred signed messages over as many sessions and ask the same DNS
// server. A run ends when the last message can be read, authenticated and scored.
import { cpus } from 'node:os'
import { compare } from '../compare.mjs'
import { dnsMissing, startDns } from './dns.mjs'
import { openInbound, writeLetters } from './measure.mjs'
import { inboundMemory } from './memory.mjs'
import { signedLetters } from './messages.mjs'
import { postfixWithRspamd, rspamdPeerMissing } from './postfix.mjs'
import { inboundPosthorn } from './posthorn.mjs'

const LETTERS = 200

export async function measureInboundAll({
  folder,
  messages,
  warmUp,
  rounds = 3,
  sizes,
  memory,
  cores,
  inboundSessions,
}) {
  const withoutDns = dnsMissing()
  if (withoutDns !== null) throw new Error(withoutDns)
  const size = sizes?.[0] ?? 4096
  const { letters, records } = await signedLetters(LETTERS, size)
  const dns = await startDns(folder, records)
  try {
    const how = { folder, dns: dns.address, file: writeLetters(folder, letters), sessions: inboundSessions }
    if (memory) return await inboundMemory({ ...how, messages: messages ?? 100_000 })
    const run = { ...how, messages: messages ?? 3000, warmUp, size }
    return [cores === undefined ? await besidePostfix(run, rounds) : await byCores(run, cores, rounds)]
  } finally {
    await dns.stop()
  }
}

/** The ratio is that of the most cores to the fewest. */
async function byCores(how, cores, rounds) {
  const wanted = [...new Set(cores)].sort((a, b) => b - a)
  const missing = wanted.find((count) => count < 1 || count > cpus().length)
  if (missing !== undefined) throw new Error(`--cores: found ${missing}, this machine has ${cpus().length}`)
  const sides = [...new Set([wanted[0], wanted.at(-1), ...wanted])].map((count) => ({
    name: `${count} ${count === 1 ? 'core' : 'cores'}`,
    side: inboundPosthorn,
    how: { ...how, cores: count },
  }))
  const title = `inbound, ${how.sessions} sessions kept, about ${how.size} octets, bound to its cores`
  return compareOpened(title, sides, rounds)
}

async function besidePostfix(how, rounds) {
  const missing = rspamdPeerMissing()
  if (missing !== null) console.log(`Posthorn alone: ${missing}`)
  const sides = [inboundPosthorn, ...(missing === null ? [postfixWithRspamd] : [])]
  const title = `inbound, ${how.sessions} sessions kept, about ${how.size} octets, authenticated and scored`
  return compareOpened(
    title,
    sides.map((side) => ({ name: side.name, side, how })),
    rounds,
  )
}

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
