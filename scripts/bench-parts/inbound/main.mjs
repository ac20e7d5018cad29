// `scripts/bench inbound`: inbound mail, authenticated and scored, beside Postfix with rspamd.
//
// Both sides get the same two hundred signed messages over as many sessions and ask the same DNS
// server. A run ends when the last message can be read, authenticated and scored.
import { compare } from '../compare.mjs'
import { dnsMissing, startDns } from './dns.mjs'
import { openInbound, writeLetters } from './measure.mjs'
import { signedLetters } from './messages.mjs'
import { postfixWithRspamd, rspamdPeerMissing } from './postfix.mjs'
import { inboundEngines, inboundPosthorn } from './posthorn.mjs'

const LETTERS = 200

export async function measureInbound({ folder, messages = 3000, warmUp, rounds = 3, sizes, inboundSessions, storage }) {
  const withoutDns = dnsMissing()
  if (withoutDns !== null) throw new Error(withoutDns)
  const size = sizes?.[0] ?? 4096
  const { letters, records } = await signedLetters(LETTERS, size)
  const dns = await startDns(folder, records)
  try {
    const file = writeLetters(folder, letters)
    const how = { folder, dns: dns.address, file, sessions: inboundSessions, messages, warmUp, size, storage }
    return [await inTurns(how, rounds)]
  } finally {
    await dns.stop()
  }
}

/**
 * Both sides stay up, and the one without work takes none of the machine: runs may be short and follow each other at once, so
 * that both have the same minutes of it.
 */
async function inTurns(how, rounds) {
  const sides = how.storage === 'postgres' ? inboundEngines : besidePostfix()
  const title = `inbound, ${how.sessions} sessions kept, about ${how.size} octets, authenticated and scored`
  const opened = []
  try {
    for (const side of sides) opened.push({ name: side.name, ...(await openInbound(side, how)) })
    return await compare(title, opened, rounds)
  } finally {
    for (const { stop } of opened) await stop()
  }
}

function besidePostfix() {
  const missing = rspamdPeerMissing()
  if (missing !== null) console.log(`Posthorn alone: ${missing}`)
  return [inboundPosthorn, ...(missing === null ? [postfixWithRspamd] : [])]
}
