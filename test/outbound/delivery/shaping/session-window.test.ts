import t from 'tap'
import { SessionWindow } from '../../../../src/outbound/delivery/shaping/session-window.js'

const minute = 60_000
const hour = 60 * minute

function windowOf(size: number, ceiling: number | null = null): SessionWindow {
  return new SessionWindow({ size, ceiling, ceilingAt: 0 })
}

function take(window: SessionWindow, times: number, now: number): void {
  for (let time = 0; time < times; time++) window.noteTaken(window.size, now)
}

t.test('it grows by one while all sessions are open, until one is refused', async (t) => {
  const window = windowOf(2)
  window.noteTaken(1, 0)
  t.equal(window.size, 2, 'the second session is not open yet')
  take(window, 4, 0)
  t.equal(window.size, 6)
  window.noteRefused(5, 0)
  t.same([window.size, window.ceiling], [5, 5])
  take(window, 100, minute - 1)
  t.equal(window.size, 5)
})

t.test('above the ceiling it goes by one, after waits that double with each refusal up to an hour', async (t) => {
  const window = windowOf(5, 5)
  let now = 0
  for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
    take(window, 100, now + minutes * minute - 1)
    t.equal(window.size, 5, `not before ${minutes} min`)
    now += minutes * minute
    take(window, 100, now)
    t.same([window.size, window.ceiling], [6, 6])
    window.noteRefused(5, now)
    t.same([window.size, window.ceiling], [5, 5])
  }
})

t.test('while there is room it goes on by one a minute', async (t) => {
  const window = windowOf(3, 3)
  for (const minutes of [1, 2, 3]) take(window, 100, minutes * minute)
  t.equal(window.size, 6)
  window.noteRefused(5, 3 * minute)
  take(window, 100, 4 * minute)
  t.equal(window.size, 5)
  take(window, 100, 5 * minute)
  t.equal(window.size, 6)
})

t.test('a single refusal far below the ceiling lowers the window for a while, a second one the ceiling', async (t) => {
  const window = windowOf(10, 10)
  window.noteRefused(3, hour)
  t.same([window.size, window.ceiling], [3, 10])
  take(window, 20, hour + 1)
  t.equal(window.size, 5)
  window.noteRefused(4, hour + 30_000)
  t.same([window.size, window.ceiling], [4, 4])
})

t.test('the refusals of one moment at a ceiling that was in full use move the window alone', async (t) => {
  const window = windowOf(5, 5)
  for (const others of [4, 3, 1]) window.noteRefused(others, 0)
  t.same([window.size, window.ceiling], [1, 5])
  take(window, 40, 10_000)
  t.equal(window.size, 5)
  take(window, 100, 20_000)
  window.noteRefused(4, 20_000)
  t.same([window.size, window.ceiling], [4, 5], 'it was in full use again')
  take(window, 10 + 99, 25_000)
  window.noteRefused(4, 25_001)
  t.same([window.size, window.ceiling], [4, 4], 'not for long')
  take(window, 99, 31_000)
  window.noteRefused(3, 31_000)
  t.same([window.size, window.ceiling], [3, 3])
})

t.test('a refused probe says nothing about the sessions before it', async (t) => {
  const window = windowOf(5, 5)
  take(window, 100, minute)
  t.equal(window.size, 6)
  window.noteRefused(3, minute)
  t.same([window.size, window.ceiling], [5, 5])
  window.noteRefused(4, minute + 1)
  t.same([window.size, window.ceiling], [4, 5])
})

t.test('a ceiling that was lowered is probed a minute later, however long the waits were before', async (t) => {
  const window = windowOf(5, 5)
  for (const now of [minute, 3 * minute, 7 * minute]) {
    take(window, 100, now)
    t.equal(window.size, 6)
    window.noteRefused(5, now)
  }
  window.noteRefused(4, 9 * minute)
  window.noteRefused(3, 9 * minute + 6_000)
  t.same([window.size, window.ceiling], [3, 3])
  take(window, 99, 11 * minute)
  t.equal(window.size, 3, 'not before it was in full use')
  take(window, 1, 11 * minute)
  t.equal(window.size, 4)
})

t.test('without a limit the first refusal sets one, and there is always room for one session', async (t) => {
  const window = windowOf(Number.POSITIVE_INFINITY)
  take(window, 3, 0)
  t.equal(window.size, Number.POSITIVE_INFINITY)
  window.noteRefused(7, 0)
  t.equal(window.size, 7)
  for (let time = 0; time < 5; time++) window.noteRefused(0, time)
  t.equal(window.size, 1)
})

t.test('it has an end', async (t) => {
  const window = windowOf(199)
  take(window, 10, 0)
  t.equal(window.size, 200)
})
