// `scripts/bench inbound`: inbound mail, authenticated and scored, beside Postfix with milters.
//
// Both sides get the same two hundred signed messages over as many sessions and ask the same DNS
// server. A run ends when the last message can be read, authenticated and scored.
import { compare } from '../compare.mjs'
import { dnsMissing, startDns } from './dns.mjs'
import { measureInbound, writeLetters } from './measure.mjs'
import { inboundMemory } from './memory.mjs'
import { signedLetters } from './messages.mjs'
import { inboundPeersMissing, postfixWithMilters, postfixWithRspamd } from './postfix.mjs'
import { inboundPosthorn } from './posthorn.mjs'

const SESSIONS = 10
const LETTERS = 200

export async function measureInboundAll({ folder, messages, warmUp, rounds, sizes, memory }) {
  const withoutDns = dnsMissing()
  if (withoutDns !== null) throw new Error(withoutDns)
  const size = sizes?.[0] ?? 4096
  const { letters, records } = await signedLetters(LETTERS, size)
  const dns = await startDns(folder, records)
  try {
    const how = { folder, dns: dns.address, file: writeLetters(folder, letters), sessions: SESSIONS }
    if (memory) return await inboundMemory({ ...how, messages: messages ?? 100_000 })
    return await compared({ ...how, messages: messages ?? 3000, warmUp, size }, rounds ?? 3)
  } finally {
    await dns.stop()
  }
}

async function compared(how, rounds) {
  const missing = inboundPeersMissing()
  if (missing !== null) console.log(`Posthorn alone: ${missing}`)
  const peers = missing === null ? [[postfixWithMilters], [postfixWithRspamd]] : [[]]
  const results = []
  for (const peer of peers) {
    const sides = [inboundPosthorn, ...peer].map((side) => ({
      name: side.name,
      measure: () => measureInbound(side, how),
    }))
    const title = `inbound, ${SESSIONS} sessions kept, about ${how.size} octets, authenticated and scored`
    results.push(await compare(title, sides, rounds))
  }
  return results
}
