/** Questions for challenges: what strangers can make the daemon do, and that they keep nobody from an answer. */
import t from 'tap'
import { ChallengeAnswers } from '../../../src/operations/certificates/challenge-answers.js'
import { SharedAnswers } from '../../../src/operations/certificates/shared-answers.js'

const tokenOf = (number: number): string => String(number).padStart(43, 'x')

function open() {
  const own = new ChallengeAnswers()
  const state = { reads: 0, isAway: false, stored: new Map<string, string>() }
  const rows = {
    readAll: async () => {
      state.reads += 1
      if (state.isAway) throw new Error('the database is away')
      return new Map(state.stored)
    },
  }
  return { own, state, shared: new SharedAnswers({ own, rows }) }
}

t.test('an answer of this daemon is given without a read', async (t) => {
  const { own, state, shared } = open()
  own.addText('token', 'token.thumbprint')
  t.equal(await shared.textOf('token'), 'token.thumbprint')
  t.equal(state.reads, 0)
})

t.test('what cannot be a token is not looked for', async (t) => {
  const { state, shared } = open()
  for (const token of ['', 'short', '../../etc/passwd', '__proto__', `${tokenOf(1)}/`, `${tokenOf(1)}%41`]) {
    t.equal(await shared.textOf(token), undefined, token)
  }
  t.equal(await shared.textOf('x'.repeat(257)), undefined)
  t.equal(state.reads, 0)
})

t.test('an answer of another daemon is found at once', async (t) => {
  const { state, shared } = open()
  state.stored.set(tokenOf(1), 'one')
  t.equal(await shared.textOf(tokenOf(1)), 'one')
  t.equal(await shared.textOf(tokenOf(1)), 'one')
  t.equal(state.reads, 1, 'it is remembered')
})

t.test('however many strangers ask, there are four reads a second, and the right question is answered', async (t) => {
  const { state, shared } = open()
  const begin = performance.now()
  let asked = 0
  let isOver = false
  const strangers = Array.from({ length: 200 }, async (_, stranger) => {
    while (!isOver) {
      asked += 1
      t.equal(await shared.textOf(tokenOf(1_000 * stranger + asked)), undefined)
    }
  })
  for (let at = 0; at < 4; at += 1) {
    state.stored.set(tokenOf(at), `answer ${at}`)
    t.equal(await shared.textOf(tokenOf(at)), `answer ${at}`, 'it was stored before the question')
  }
  isOver = true
  await Promise.all(strangers)
  const seconds = (performance.now() - begin) / 1_000
  t.ok(asked >= 600, `${asked} questions`)
  t.ok(state.reads <= 4 * seconds + 2, `${state.reads} reads in ${seconds} s`)
})

t.test('while the database is away, questions fail, and later ones are answered', async (t) => {
  const { state, shared } = open()
  state.isAway = true
  await t.rejects(shared.textOf(tokenOf(1)), /away/)
  state.isAway = false
  state.stored.set(tokenOf(1), 'one')
  t.equal(await shared.textOf(tokenOf(1)), 'one')
})
