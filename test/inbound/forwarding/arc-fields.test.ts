/** Which messages are sealed, as which set of their chain. */
import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import type { Authentication } from '../../../src/base/mail/authentication-results.js'
import { scanHeader } from '../../../src/base/mail/header-fields.js'
import { buildArcFields } from '../../../src/inbound/forwarding/arc-fields.js'
import type { SigningThread } from '../../../src/workspaces/domains/dkim/signing-thread.js'

const { privateKey: keyObject } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const key = { domain: 'mx.test', selector: 's', keyObject }
type Result = Authentication['arc']['result'] | undefined

/** The set that it would get; null: none. */
async function setFor(result: Result, ...seals: readonly string[]): Promise<unknown> {
  const fields = seals.map((value) => `ARC-Seal: ${value}\r\n`)
  const raw = Buffer.from(`Authentication-Results: mx.test; spf=pass\r\n${fields.join('')}\r\n`)
  let sealed: unknown = null
  const seal: SigningThread['seal'] = async (_raw, _key, _now, { instance, validation }) => {
    sealed = [instance, validation]
    return ''
  }
  const arc = result === undefined ? undefined : { result, reason: null }
  await buildArcFields({ seal }, key, { raw, header: scanHeader(raw), arc }, 0)
  return sealed
}

const chain = (length: number): readonly string[] => Array.from({ length }, (_, place) => `i=${place + 1}; cv=pass`)

for (const [name, result, seals, expected] of [
  ['no chain', 'none', [], [1, 'none']],
  ['a chain that passed', 'pass', chain(2), [3, 'pass']],
  ['a chain of 49', 'pass', chain(49), [50, 'pass']],
  ['a chain of 50', 'pass', chain(50), null],
  ['one that failed', 'fail', chain(1), null],
  ['DNS gave no answer', 'temperror', chain(1), null],
  ['no result', undefined, [], null],
  ['seals that are no chain', 'none', ['cv=none'], null],
  ['more seals than a chain has', 'pass', Array.from({ length: 5_000 }, () => 'i=1'), null],
] as const) {
  t.test(name, async (t) => t.same(await setFor(result, ...seals), expected))
}
