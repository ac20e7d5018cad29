import t from 'tap'
import { listUsableRecords, parseTlsa } from '../../../../src/outbound/delivery/hosts/tlsa-record.js'

const sha256 = 'ab'.repeat(32)
const sha512 = 'cd'.repeat(64)

t.test('usages 2 and 3 with known forms are usable', async (t) => {
  for (const usage of [2, 3]) {
    for (const selector of [0, 1]) {
      const matchings = [
        [0, 'ab'],
        [1, sha256],
        [2, sha512],
      ] as const
      for (const [matching, data] of matchings) {
        const text = `${usage} ${selector} ${matching} ${data}`
        t.match(parseTlsa(text), { usage, selector, matching, data: Buffer.from(data, 'hex'), text })
      }
    }
  }
})

t.test('what SMTP does not use is not usable', async (t) => {
  const texts = [
    `0 0 1 ${sha256}`,
    `1 1 1 ${sha256}`,
    `4 1 1 ${sha256}`,
    `3 2 1 ${sha256}`,
    `3 1 3 ${sha256}`,
    `3 1 1 ${sha512}`,
    `3 1 2 ${sha256}`,
    '3 1 1 ',
    '3 1 0 ',
    '255 1 1 ab',
  ]
  for (const text of texts) t.equal(parseTlsa(text), null, text)
})

t.test('of digests of the same thing the strongest counts', async (t) => {
  const texts = [
    `3 1 1 ${sha256}`,
    `3 1 2 ${sha512}`,
    `3 0 1 ${sha256}`,
    `2 1 1 ${sha256}`,
    '3 1 0 ab',
    `1 1 1 ${sha256}`,
  ]
  t.same(
    listUsableRecords(texts).map(({ text }) => text),
    texts.slice(1, 5),
  )
})

t.test('a hundred records are looked at', async (t) => {
  t.equal(listUsableRecords(Array.from({ length: 200 }, () => `3 1 1 ${sha256}`)).length, 100)
})
