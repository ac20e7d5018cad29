// `scripts/bench authenticate`: what SPF, DKIM, DMARC, ARC and iprev of one message cost, all threads together.
//
// The messages and the DNS server are those of `scripts/bench inbound`: of twenty domains, whose answers are soon known,
// then of a new domain each. Each run is a process of its own. With `--beside DIR`, another build is measured in turns.
import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { compare } from '../compare.mjs'
import { dnsMissing, startDns } from './dns.mjs'
import { writeLetters } from './measure.mjs'
import { signedLetters } from './messages.mjs'

const SESSIONS = 10
const LETTERS = 200
/** Messages of a run in which each has another domain: the zone has to hold them all. */
const MAX_DOMAINS = 4000
const program = fileURLToPath(new URL('authenticate-run.mjs', import.meta.url))
const here = fileURLToPath(new URL('../../..', import.meta.url))

export async function measureAuthentication({ folder, messages, warmUp, rounds, sizes, beside }) {
  const withoutDns = dnsMissing()
  if (withoutDns !== null) throw new Error(withoutDns)
  const size = sizes?.[0] ?? 4096
  const sides = [
    { name: 'this build', tree: here },
    ...(beside === null ? [] : [{ name: 'other build', tree: beside }]),
  ]
  const fresh = Math.min(messages ?? MAX_DOMAINS, MAX_DOMAINS)
  const known = await signedLetters(LETTERS, size)
  const unknown = await signedLetters(2 * fresh, size, 2 * fresh)
  const cases = [
    { what: 'of twenty domains', ...known, counts: [warmUp, messages ?? 10_000] },
    { what: 'a new domain each', ...unknown, counts: [fresh, fresh] },
  ]
  const results = []
  for (const { what, letters, records, counts } of cases) {
    const dns = await startDns(mkdtempSync(join(folder, 'dns-')), records)
    try {
      const words = [writeLetters(folder, letters), dns.address, SESSIONS, ...counts]
      const title = `authentication alone, ${what}, ${SESSIONS} in hand, about ${size} octets, RSA-2048`
      const measured = sides.map(({ name, tree }) => ({ name, measure: () => run(tree, words) }))
      results.push(await compare(title, measured, rounds ?? 3))
    } finally {
      await dns.stop()
    }
  }
  return results
}

async function run(tree, words) {
  const flags = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter((word) => word !== '')
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, tree, ...words.map(String)])
  return JSON.parse(stdout)
}
