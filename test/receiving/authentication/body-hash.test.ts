/** Bodies are hashed as mailauth hashes them. */
import fc from 'fast-check'
import { RelaxedHash } from 'mailauth/lib/dkim/body/relaxed.js'
import { SimpleHash } from 'mailauth/lib/dkim/body/simple.js'
import t from 'tap'
import { hasBareLineBreak, WholeBodyHash } from '../../../src/receiving/authentication/body-hash.js'

const hashers = { relaxed: RelaxedHash, simple: SimpleHash }

function hashOf(canonicalization: 'relaxed' | 'simple', body: Buffer): readonly [ours: string, theirs: string] {
  const ours = new WholeBodyHash(canonicalization)
  const theirs = new hashers[canonicalization]('sha256')
  ours.update(body)
  theirs.update(body)
  return [ours.digest(), theirs.digest('base64')]
}

t.test('both canonicalizations give what mailauth finds', async (t) => {
  const pieces = fc.constantFrom('\r\n', '\r\n\r\n', ' ', '  ', '\t', 'a', 'some words', '\xff', '.', '\0')
  const bodies = fc.array(pieces, { maxLength: 30 }).map((all) => Buffer.from(all.join(''), 'latin1'))
  for (const canonicalization of ['relaxed', 'simple'] as const) {
    fc.assert(
      fc.property(bodies, (body) => {
        const [ours, theirs] = hashOf(canonicalization, body)
        return ours === theirs
      }),
      { numRuns: 500 },
    )
    for (const body of ['', '\r\n', 'a', 'a\r\n', 'a\r\n\r\n', ' \r\n', 'a \t b \r\n', '\r\na\r\n']) {
      const [ours, theirs] = hashOf(canonicalization, Buffer.from(body))
      t.equal(ours, theirs, `${canonicalization} ${JSON.stringify(body)}`)
    }
  }
})

t.test('a body that was never given is empty', async (t) => {
  t.equal(new WholeBodyHash('relaxed').digest(), '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')
})

t.test('a CR or LF that stands alone is found', async (t) => {
  const rows: readonly (readonly [string, boolean])[] = [
    ['', false],
    ['a', false],
    ['\r\n', false],
    ['a\r\nb\r\n\r\n', false],
    ['\n', true],
    ['\r', true],
    ['a\nb', true],
    ['a\rb', true],
    ['\n\r', true],
    ['\r\r\n', true],
    ['\r\n\n', true],
    ['a\r\nb\r', true],
    ['a\r\nb\n', true],
  ]
  for (const [text, bare] of rows) t.equal(hasBareLineBreak(Buffer.from(text)), bare, JSON.stringify(text))
})
