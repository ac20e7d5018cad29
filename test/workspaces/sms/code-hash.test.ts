import { createSecretKey } from 'node:crypto'
import t from 'tap'
import { deriveCodeKey, generateCode, hashCode, isCode } from '../../../src/workspaces/sms/code-hash.js'

const secret = createSecretKey(Buffer.alloc(32, 1))
const key = deriveCodeKey(secret)

t.test('a code has its digits, with leading zeros, each as likely as another', async (t) => {
  for (let digits = 4; digits <= 8; digits++) t.match(generateCode(digits), new RegExp(`^\\d{${digits}}$`))
  const counts = new Array<number>(10).fill(0)
  for (let round = 0; round < 20_000; round++) {
    const first = Number(generateCode(6)[0])
    counts[first] = (counts[first] ?? 0) + 1
  }
  // 2,000 each; the standard deviation is 42, so a fair source fails once in 10^20 runs.
  for (const count of counts) t.ok(Math.abs(count - 2_000) < 420, String(count))
})

t.test('a hash is of one code, record, salt and key', async (t) => {
  const row = { id: 'code-1', ...hashCode(key, 'code-1', '012345') }
  t.ok(isCode(key, row, '012345'))
  for (const code of ['12345', '012346', '0123456', '', '０12345']) t.notOk(isCode(key, row, code), code)
  t.notOk(isCode(key, { ...row, id: 'code-2' }, '012345'), 'of another record')
  t.notOk(isCode(key, { ...row, ...{ salt: Buffer.alloc(16) } }, '012345'), 'with another salt')
  t.notOk(isCode(secret, row, '012345'), 'with the secret itself')
  t.notOk(isCode(deriveCodeKey(createSecretKey(Buffer.alloc(32, 2))), row, '012345'), 'of another installation')
  t.notSame(hashCode(key, 'code-1', '012345').code_hash, row.code_hash, 'each has a salt of its own')
  t.equal(row.salt.length, 16)
  t.equal(row.code_hash.length, 32)
})
