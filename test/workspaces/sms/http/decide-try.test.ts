/** When a request to a gateway is made again. */
import t from 'tap'
import { decideNextStep, type TryResult } from '../../../../src/workspaces/sms/http/decide-try.js'

const NOW = 1_800_000_000_000
const state = { tries: 1, now: NOW, deadline: NOW + 12_000, random: 0.5 }
const answer = (status: number, retryAfter: number | null = null): TryResult => ({ kind: 'answer', status, retryAfter })

t.test('only 429 and 5xx, and what was not sent, are tried again', async (t) => {
  const cases: readonly (readonly [TryResult, ReturnType<typeof decideNextStep>['kind']])[] = [
    ...[200, 201, 204, 299, 301, 307, 400, 401, 403, 404, 408, 422, 428, 430, 499].map(
      (status) => [answer(status), 'answered'] as const,
    ),
    ...[429, 500, 502, 503, 504, 599].map((status) => [answer(status), 'retry'] as const),
    [{ kind: 'fault', isSent: true }, 'silent'],
    [{ kind: 'fault', isSent: false }, 'retry'],
  ]
  for (const [result, kind] of cases) t.equal(decideNextStep(result, state).kind, kind, JSON.stringify(result))
})

t.test('the pauses grow, are spread by a quarter, and five of them are the end', async (t) => {
  for (const [place, delay] of [250, 500, 1_000, 2_000, 4_000].entries()) {
    for (const [random, factor] of [
      [0, 0.75],
      [0.5, 1],
      [1, 1.25],
    ] as const) {
      const step = decideNextStep(answer(503), { ...state, tries: place + 1, random })
      t.same(step, { kind: 'retry', delay: delay * factor })
    }
  }
  t.same(decideNextStep(answer(503), { ...state, tries: 6 }), { kind: 'refused' })
  t.same(decideNextStep({ kind: 'fault', isSent: false }, { ...state, tries: 6 }), { kind: 'refused' })
})

t.test('a second before the deadline is the last moment of a request', async (t) => {
  const at = (left: number): typeof state => ({ ...state, deadline: NOW + left })
  t.same(decideNextStep(answer(503), at(1_250)), { kind: 'retry', delay: 250 })
  t.same(decideNextStep(answer(503), at(1_249)), { kind: 'refused' })
  t.same(decideNextStep(answer(429, 3_000), at(4_000)), { kind: 'retry', delay: 3_000 })
  t.same(decideNextStep(answer(429, 3_000), at(3_999)), { kind: 'refused' }, 'it asks for a later time')
  t.same(decideNextStep(answer(429, 0), at(12_000)), { kind: 'retry', delay: 250 }, 'it asks for an earlier time')
  t.same(decideNextStep({ kind: 'fault', isSent: false }, at(1)), { kind: 'refused' })
  t.same(decideNextStep({ kind: 'fault', isSent: false }, at(0)), { kind: 'silent' }, 'no connection in time')
})
