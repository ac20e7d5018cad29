import t from 'tap'
import {
  type FoundAnswer,
  KeptAnswers,
  toAnswerKey,
} from '../../../../src/inbound/receiving/authentication/kept-answers.js'

const answer: FoundAnswer = { kind: 'records', records: ['192.0.2.1'] }
const key = toAnswerKey('b.test', 'A')

t.test('an answer is kept until its time, and is the same object', async (t) => {
  const answers = new KeptAnswers()
  t.equal(answers.find(key, 1000), undefined)
  answers.keep(key, answer, 6000, 1000)
  t.equal(answers.find(key, 1000), answer)
  t.equal(answers.find(key, 5999), answer)
  t.equal(answers.find(key, 6000), undefined)
  answers.keep(key, { kind: 'no-data' }, 0, 7000)
  t.equal(answers.find(key, 7000), undefined, 'what may not be kept is not')
})

t.test('after the clock was set back, answers of the time ahead are not used', async (t) => {
  const answers = new KeptAnswers()
  answers.keep(key, answer, 109_000, 100_000)
  t.equal(answers.find(key, 99_999), undefined)
  t.equal(answers.find(key, 100_000), answer)
})

t.test('names that DNS distinguishes never share an answer', async (t) => {
  t.equal(toAnswerKey('B.Test.', 'A'), key)
  t.not(toAnswerKey('b.test', 'AAAA'), key)
  t.not(toAnswerKey('\u212aey.test', 'TXT'), toAnswerKey('key.test', 'TXT'), 'the Kelvin sign is no k')
})

t.test('large answers make room for one another', async (t) => {
  const answers = new KeptAnswers()
  const large: FoundAnswer = { kind: 'records', records: ['x'.repeat(4096)] }
  for (let count = 0; count < 2000; count += 1) answers.keep(`TXT ${count}`, large, 10, 0)
  t.equal(answers.find('TXT 0', 0), undefined)
  t.equal(answers.find('TXT 1999', 0), large)
})

t.test('long names make room for one another too', async (t) => {
  const answers = new KeptAnswers()
  const nameOf = (count: number): string => `TXT ${'x'.repeat(16_000)}${count}`
  for (let count = 0; count < 300; count += 1) answers.keep(nameOf(count), { kind: 'no-domain' }, 10, 0)
  t.equal(answers.find(nameOf(0), 0), undefined)
  t.same(answers.find(nameOf(299), 0), { kind: 'no-domain' })
})
