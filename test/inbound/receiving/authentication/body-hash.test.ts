/** Bodies are hashed as mailauth hashes them. */
import fc from 'fast-check'
import { RelaxedHash } from 'mailauth/lib/dkim/body/relaxed.js'
import { SimpleHash } from 'mailauth/lib/dkim/body/simple.js'
import t from 'tap'
import { WholeBodyHash } from '../../../../src/inbound/receiving/authentication/body-hash.js'

const hashers = { relaxed: RelaxedHash, simple: SimpleHash }

async function hashOf(
  canonicalization: 'relaxed' | 'simple',
  body: Buffer,
  algorithm = 'sha256',
): Promise<readonly [ours: string, theirs: string]> {
  const ours = new WholeBodyHash(canonicalization, algorithm)
  const theirs = new hashers[canonicalization](algorithm)
  await ours.hashBody(body)
  theirs.update(body)
  return [ours.digest(), theirs.digest('base64')]
}

t.test('both canonicalizations give what mailauth finds', async (t) => {
  const pieces = fc.constantFrom('\r\n', '\r\n\r\n', ' ', '  ', '\t', 'a', 'some words', '\xff', '.', '\0')
  const bodies = fc.array(pieces, { maxLength: 30 }).map((all) => Buffer.from(all.join(''), 'latin1'))
  for (const canonicalization of ['relaxed', 'simple'] as const) {
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const [ours, theirs] = await hashOf(canonicalization, body)
        return ours === theirs
      }),
    )
    const large = `${'words  and \t words \r\n\r\n'.repeat(60_000)}\r\n`
    for (const body of ['', '\r\n', 'a', 'a\r\n', 'a\r\n\r\n', ' \r\n', 'a \t b \r\n', '\r\na\r\n', large]) {
      for (const algorithm of ['sha256', 'sha1']) {
        const [ours, theirs] = await hashOf(canonicalization, Buffer.from(body), algorithm)
        t.equal(ours, theirs, `${canonicalization} ${algorithm} ${JSON.stringify(body.slice(0, 20))}`)
      }
    }
  }
})
