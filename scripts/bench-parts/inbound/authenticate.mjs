// `scripts/bench authenticate`: what SPF, DKIM, DMARC, ARC and iprev of one message cost, all threads together.
//
// The messages and the DNS server are those of `scripts/bench inbound`; each run is a process of its own. With
// `--beside DIR`, another build is measured in turns.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { compare } from '../compare.mjs'
import { dnsMissing, startDns } from './dns.mjs'
import { writeLetters } from './measure.mjs'
import { signedLetters } from './messages.mjs'

const SESSIONS = 10
const LETTERS = 200
const program = fileURLToPath(new URL('authenticate-run.mjs', import.meta.url))
const here = fileURLToPath(new URL('../../..', import.meta.url))

export async function measureAuthentication({ folder, messages, warmUp, rounds, sizes, beside }) {
  const withoutDns = dnsMissing()
  if (withoutDns !== null) throw new Error(withoutDns)
  const size = sizes?.[0] ?? 4096
  const { letters, records } = await signedLetters(LETTERS, size)
  const dns = await startDns(folder, records)
  try {
    const file = writeLetters(folder, letters)
    const words = [file, dns.address, SESSIONS, warmUp, messages ?? 10_000]
    const sides = [
      { name: 'this build', tree: here },
      ...(beside === null ? [] : [{ name: 'other build', tree: beside }]),
    ]
    const title = `authentication alone, ${SESSIONS} messages in hand, about ${size} octets, RSA-2048`
    const measured = sides.map(({ name, tree }) => ({ name, measure: () => run(tree, words) }))
    return [await compare(title, measured, rounds ?? 3)]
  } finally {
    await dns.stop()
  }
}

async function run(tree, words) {
  const flags = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter((word) => word !== '')
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, tree, ...words.map(String)])
  return JSON.parse(stdout)
}
