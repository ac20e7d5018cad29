/** Answers of rspamd: what is read from them and what it weighs. */
import fc from 'fast-check'
import t from 'tap'
import { parseRspamdVerdict } from '../../../../src/inbound/spam/rspamd/rspamd-answer.js'
import { collectRspamdContributions } from '../../../../src/inbound/spam/rspamd-points.js'
import { defaultSpamThresholds, sumScores } from '../../../../src/inbound/spam/rules/spam-report.js'
import { buildVerdict, sumPoints } from '../../../helpers/spam/rspamd-client.js'

t.test('findings of both count once, and negative points count unchanged', async (t) => {
  t.equal(sumPoints(0, { score: 15 }), 8, 'the score at which it refuses is our spam')
  t.equal(sumPoints(0, { score: 7.5 }), 4)
  t.equal(sumPoints(5, { score: 7.5 }), 5, 'ours is higher')
  t.equal(sumPoints(3, { score: 7.5 }), 4, 'its is higher')
  t.equal(sumPoints(3, { score: 0 }), 3, 'that it found nothing is no evidence')
  t.equal(sumPoints(5, { score: -3 }), 3.4)
  t.equal(sumPoints(9, { score: -100 }), 6, 'no more than three are taken away')
  t.equal(sumPoints(-3, { score: 15 }), 5)
  t.equal(sumPoints(2, { score: 6, action: 'add header' }), 4, 'what it marks is suspicious')
  t.equal(sumPoints(0, { score: 0, action: 'reject' }), 8, 'what it refuses is spam')
  t.equal(sumPoints(3, { score: 40, requiredScore: 20 }), 16, 'its scale is its own')
})

t.test('its symbols are shown, bounded, and the report adds up', async (t) => {
  const symbols = Array.from({ length: 90 }, (_, at) => ({ name: `S_${at}`, score: at / 10, description: 'd' }))
  const lines = collectRspamdContributions(2, buildVerdict({ score: 12.34, symbols }), defaultSpamThresholds)
  t.equal(lines.length, 41)
  t.same(lines[0], { name: 'RSPAMD_S_89', score: 4.75, description: 'd' })
  t.equal(sumScores(lines), 4.58, '12.34 of 15 as of 8, less the two that were found already')
  t.match(lines.at(-1), { name: 'RSPAMD', description: /12\.34 of 15, which is 6\.58 here/ })
  const silent = [{ name: 'GTUBE', score: 0, description: '' }]
  t.match(collectRspamdContributions(0, buildVerdict({ symbols: silent, action: 'reject' }), defaultSpamThresholds), [
    { name: 'RSPAMD_GTUBE', score: 0 },
    { name: 'RSPAMD', score: 8 },
  ])
})

t.test('an answer is read as far as it is valid', async (t) => {
  t.same(
    parseRspamdVerdict(
      JSON.stringify({
        score: 1e300,
        required_score: null,
        action: 'rewrite subject',
        symbols: {
          'A b\r\n': { score: 2, description: 'one\r\ntwo\u202e =?utf-8?q?=1B?=', options: ['x'] },
          [`L${'o'.repeat(100)}`]: { score: 'x', description: 7 },
          N: null,
        },
      }),
    ),
    {
      score: 1000,
      requiredScore: 15,
      action: 'add header',
      symbols: [
        { name: 'A_b__', score: 2, description: 'one two' },
        { name: `L${'o'.repeat(59)}`, score: 0, description: '' },
        { name: 'N', score: 0, description: '' },
      ],
    },
  )
  for (const [action, means] of [
    ['greylist', 'none'],
    ['soft reject', 'none'],
    ['toString', 'none'],
    ['discard', 'reject'],
    ['quarantine', 'reject'],
  ] as const) {
    t.equal(parseRspamdVerdict(JSON.stringify({ score: 0, action }))?.action, means)
  }
})

t.test('no answer breaks the report', async (t) => {
  const symbol = fc.record({
    score: fc.anything(),
    description: fc.oneof(fc.string({ unit: 'binary' }), fc.anything()),
  })
  const likely = fc.record(
    {
      score: fc.oneof(fc.double(), fc.anything()),
      required_score: fc.oneof(fc.double(), fc.anything()),
      action: fc.oneof(fc.constantFrom('reject', 'add header'), fc.anything()),
      symbols: fc.oneof(fc.dictionary(fc.string({ unit: 'binary' }), symbol), fc.anything()),
    },
    { requiredKeys: [] },
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    likely.map((answer) => JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? String(value) : value))),
  )
  let read = 0
  fc.assert(
    fc.property(texts, fc.double({ min: -20, max: 2000, noNaN: true }), (text, own) => {
      const found = parseRspamdVerdict(text)
      if (found === null) return
      read += 1
      const lines = collectRspamdContributions(own, found, defaultSpamThresholds)
      if (!lines.every(({ score }) => Number.isFinite(score) && Math.abs(score) < 100_000)) throw new Error('score')
      if (lines.some(({ name }) => !/^\w{1,70}$/.test(name))) throw new Error('name')
      if (lines.some(({ description }) => description.length > 200 || /\p{Cc}/u.test(description)))
        throw new Error('text')
      if (lines.length > 41) throw new Error('lines')
    }),
  )
  t.ok(read > 15, `${read} of them were answers`)
})
