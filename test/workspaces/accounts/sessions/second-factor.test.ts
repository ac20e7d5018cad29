/** Codes by time: against the test vectors of RFC 6238, in their window, each step once. */
import fc from 'fast-check'
import t from 'tap'
import {
  findStep,
  generateRecoveryCodes,
  generateSecret,
} from '../../../../src/workspaces/accounts/sessions/second-factor.js'

/** `12345678901234567890` in base32, and the last six digits of the codes (RFC 6238 appendix B, SHA-1). */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const vectors: readonly (readonly [seconds: number, code: string])[] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
]

t.test('the codes of the RFC', async (t) => {
  for (const [seconds, code] of vectors) {
    t.equal(findStep(SECRET, code, 0, seconds * 1_000), Math.floor(seconds / 30), code)
  }
})

t.test('a code counts one step early and late, and only after the last step', async (t) => {
  const code = '005924'
  const step = Math.floor(1_234_567_890 / 30)
  const at = (steps: number): number => (step + steps) * 30_000
  const table: readonly (readonly [lastStep: number, now: number, found: number | null])[] = [
    [0, at(0), step],
    [0, at(-1), step],
    [0, at(1), step],
    [0, at(1) + 29_999, step],
    [0, at(2), null],
    [0, at(-1) - 1, null],
    [step - 1, at(0), step],
    [step, at(0), null],
    [step + 1, at(0), null],
  ]
  for (const [lastStep, now, found] of table)
    t.equal(findStep(SECRET, code, lastStep, now), found, `${lastStep} ${now}`)
  t.equal(findStep(SECRET, '005 924', 0, at(0)), step, 'as authenticators show it')
  for (const wrong of ['', '00592', '0059244', '５００５９２', '5924', '-05924', '0x5924', '005925']) {
    t.equal(findStep(SECRET, wrong, 0, at(0)), null, wrong)
  }
})

t.test('any text is a code or none', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(), (text, now) => {
      const step = findStep(SECRET, text, 0, now)
      return step === null || Math.abs(step - Math.floor(now / 30_000)) <= 1
    }),
  )
})

t.test('secrets and recovery codes are new each time', async (t) => {
  const secrets = Array.from({ length: 100 }, () => generateSecret('ann@b.test').secret)
  t.equal(new Set(secrets).size, 100)
  const { codes, writes } = generateRecoveryCodes('user-1')
  t.equal(new Set(codes).size, 10)
  const stored = JSON.stringify(writes)
  for (const code of codes) t.notOk(stored.includes(code) || stored.includes(code.replaceAll('-', '')), 'not as it is')
})
