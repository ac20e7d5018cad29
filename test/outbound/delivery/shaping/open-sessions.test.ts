import t from 'tap'
import { OpenSessions } from '../../../../src/outbound/delivery/shaping/open-sessions.js'
import { createVirtualTimer } from '../../../helpers/shaping/virtual-timer.js'

/** Milliseconds until the place of a session that ends now is free. */
function timeUntilFree(sessions: OpenSessions, timer: ReturnType<typeof createVirtualTimer>): number {
  const before = sessions.count
  const begun = timer.now()
  sessions.open()
  sessions.close(true)
  for (let at = begun; ; at++) {
    timer.advanceTo(at)
    if (sessions.count === before) return at - begun
  }
}

t.test('the place of a session is free a moment after its end; each refusal doubles that, up to 240 ms', async (t) => {
  const timer = createVirtualTimer()
  const sessions = new OpenSessions(timer)
  t.equal(timeUntilFree(sessions, timer), 30)
  for (const expected of [60, 120, 240]) {
    t.equal(sessions.waitLonger(), true)
    t.equal(timeUntilFree(sessions, timer), expected)
  }
  t.equal(sessions.waitLonger(), false)
})

t.test('each minute half of it is tried again', async (t) => {
  const timer = createVirtualTimer()
  const sessions = new OpenSessions(timer)
  timeUntilFree(sessions, timer)
  while (sessions.waitLonger());
  for (const expected of [120, 60, 30, 30]) {
    timer.advanceTo(timer.now() + 60_000)
    t.equal(timeUntilFree(sessions, timer), expected)
  }
})

t.test('a refusal long after the end of a session is not due to it', async (t) => {
  const timer = createVirtualTimer()
  const sessions = new OpenSessions(timer)
  timeUntilFree(sessions, timer)
  timer.advanceTo(timer.now() + 2_000)
  t.equal(sessions.waitLonger(), false)
})
