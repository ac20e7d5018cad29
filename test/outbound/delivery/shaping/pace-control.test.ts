/** A pace against providers that count in different ways, in virtual time; and what it does with entries and permits. */
import t from 'tap'
import type { PaceControl, PaceDeps } from '../../../../src/outbound/delivery/shaping/pace-control.js'
import type { Outage } from '../../../../src/outbound/delivery/shaping/unreachable-hosts.js'
import type { SendResult } from '../../../../src/outbound/delivery/smtp/send-result.js'
import { createFreePace } from '../../../helpers/free-pace.js'
import { type ProviderLimits, sendFor } from '../../../helpers/shaping/limited-provider.js'
import { createVirtualTimer, type VirtualTimer } from '../../../helpers/shaping/virtual-timer.js'

const providers: Readonly<Record<string, ProviderLimits>> = {
  'tokens with a burst': {
    service: 20,
    sessions: 20,
    rate: { kind: 'bucket', perSecond: 120, burst: 240 },
    messagesPerSession: 100,
  },
  'fixed windows of half a minute': {
    service: 50,
    sessions: 10,
    rate: { kind: 'fixed', perSecond: 100, window: 30_000 },
  },
  'fixed windows, begun in the middle of one': {
    service: 50,
    sessions: 10,
    rate: { kind: 'fixed', perSecond: 100, window: 30_000 },
    phase: 20_000,
  },
  'a sliding window, and few messages a session': {
    service: 20,
    sessions: 5,
    rate: { kind: 'sliding', perSecond: 60, window: 10_000 },
    messagesPerSession: 20,
  },
  'sessions alone': { service: 50, sessions: 5 },
  'sessions that are counted for a while after their end': { service: 50, sessions: 5, lateEnd: 60 },
  'sessions whose ends are noticed late now and then': {
    service: 50,
    sessions: 5,
    lateEnd: (now) => (now % 50_000 < 3_000 ? 600 : 5),
  },
  'a short sliding window, and a block of the address': {
    service: 30,
    sessions: 4,
    rate: { kind: 'sliding', perSecond: 40, window: 5_000 },
    block: { from: 60_000, length: 45_000 },
  },
}

for (const [title, limits] of Object.entries(providers)) {
  t.test(`eight minutes of ${title}`, async (t) => {
    const { pace, refusedShare, refused } = sendFor(476, limits)
    t.ok(pace >= 0.9, `pace ${pace}`)
    t.ok(refusedShare < 0.002, `refused ${refusedShare} ${JSON.stringify(refused)}`)
  })
}

t.test('a slow provider gets few messages too many over an hour', async (t) => {
  const rate = { kind: 'sliding', perSecond: 0.5, window: 60_000 } as const
  const { pace, refusedShare } = sendFor(3_600, { service: 500, sessions: 2, opening: 300, rate })
  t.ok(pace >= 0.9 && refusedShare < 0.02, `${pace} ${refusedShare}`)
})

interface Controlled {
  readonly control: PaceControl
  readonly timer: VirtualTimer
  readonly outages: Outage[]
  /** How often there was room, or `state` changed. */
  readonly calls: { room: number; changes: number }
}

function controlled(deps: Partial<PaceDeps> = {}): Controlled {
  const timer = createVirtualTimer()
  const outages: Outage[] = []
  const calls = { room: 0, changes: 0 }
  const control = createFreePace({
    timer,
    onRoom: () => {
      calls.room += 1
    },
    onChange: () => {
      calls.changes += 1
    },
    onOutage: (_id, outage) => outages.push(outage),
    ...deps,
  })
  return { control, timer, outages, calls }
}

const accepted: SendResult = { kind: 'accepted', reply: { code: 250, enhanced: null, text: 'ok' }, dsnRelayed: false }

function refusal(code: number, enhanced: string | null, text: string, stage: 'banner' | 'mail' = 'mail'): SendResult {
  return { kind: 'refused', stage, reply: { code, enhanced, text } }
}

const tooFast = refusal(421, '4.7.28', 'rate limited')
const blocked = refusal(554, '5.7.1', 'your address is blocked', 'banner')

t.test('without a refusal nothing is limited, timed or kept', async (t) => {
  const { control, calls } = controlled()
  for (let number = 0; number < 1_000; number++) {
    t.ok(control.mayStart() && control.take())
    control.startEntry()
    control.judge(accepted, control.beginPassage(number))
  }
  t.same(calls, { room: 0, changes: 0 })
})

t.test('after a refusal for the rate one message probes, and its success ends the pause', async (t) => {
  const { control, timer, calls, outages } = controlled()
  timer.advanceTo(10_000)
  t.same(control.judge(tooFast, control.beginPassage(3)), { kind: 'retry', at: 11_000 })
  t.notOk(control.take(), 'nothing is sent in the pause')
  const granted: string[] = []
  for (const name of ['first', 'second'])
    control.request({ grant: () => granted.push(name), turnAway: () => t.fail('a short pause turns nobody away') })
  control.startEntry()
  t.notOk(control.mayStart())
  timer.advanceTo(11_000)
  t.same(granted, ['first'])
  const room = calls.room
  control.judge(accepted, control.beginPassage(0))
  t.same(outages, [])
  t.ok(calls.room > room, 'entries in memory are looked at')
  control.release()
  timer.advanceTo(13_000)
  t.same(granted, ['first', 'second'])
  t.ok((control.state.rate ?? 0) > 0)
})

t.test('what was under way when a pause began does not make it longer, and does not end it', async (t) => {
  const { control, timer } = controlled()
  timer.advanceTo(1_000)
  const passages = [1, 2, 3].map(() => control.beginPassage(0))
  timer.advanceTo(1_100)
  for (const passage of passages.slice(0, 2)) control.judge(tooFast, passage)
  control.judge(accepted, passages[2] ?? control.beginPassage(0))
  t.match(control.state.pause, { kind: 'rate', probes: 0, until: 2_100 })
})

t.test('a block turns away who waits, lets few entries begin, and is over after a probe', async (t) => {
  const { control, timer, outages } = controlled()
  const turnedAway: Outage[] = []
  const [first, second] = [control.beginPassage(0), control.beginPassage(0)]
  control.openSession()
  control.judge(blocked, first)
  control.request({ grant: () => t.fail(), turnAway: (outage) => turnedAway.push(outage) })
  const why = 'mx.test blocks our address: 554 5.7.1 your address is blocked'
  t.same(turnedAway, [{ kind: 'outage', until: 60_000, why, isBlock: true }])
  t.same(outages, turnedAway)
  t.same(control.outage, turnedAway[0])
  control.judge(blocked, second)
  t.match(control.outage, { until: 90_000 }, 'it began at the same moment, so it may count as a probe')
  let started = 0
  while (control.mayStart()) {
    control.startEntry()
    started += 1
  }
  t.equal(started, 20)
  timer.advanceTo(90_000)
  t.equal(control.outage, null)
  const granted: number[] = []
  for (const number of [1, 2]) control.request({ grant: () => granted.push(number), turnAway: () => t.fail() })
  t.same(granted, [1])
  control.judge(accepted, control.beginPassage(0))
  t.same(granted, [1, 2])
  t.equal(control.state.pause, null)
  t.equal(control.state.rate, null, 'a block says nothing about the rate')
})

t.test('a probe without an answer ends the pause: hosts that are down have waits of their own', async (t) => {
  const { control, timer } = controlled()
  control.judge(blocked, control.beginPassage(0))
  const lost: SendResult = { kind: 'failed', stage: 'connect', failure: 'timeout', detail: 'no connection' }
  timer.advanceTo(30_000)
  control.judge(lost, control.beginPassage(0))
  t.not(control.outage, null, 'what was under way meanwhile does not')
  timer.advanceTo(60_000)
  const granted: number[] = []
  for (const number of [1, 2, 3]) control.request({ grant: () => granted.push(number), turnAway: () => t.fail() })
  t.same(granted, [1])
  control.judge(lost, control.beginPassage(0))
  t.same(granted, [1, 2, 3])
  t.equal(control.state.pause, null)
})

t.test('messages a session are learned, and the message goes again at once', async (t) => {
  const { control } = controlled()
  const full = refusal(421, '4.7.0', 'too many messages in this session')
  t.same(control.judge(full, control.beginPassage(20)), { kind: 'resend' })
  t.equal(control.messagesPerSession, 20)
  control.judge(full, control.beginPassage(30))
  t.equal(control.messagesPerSession, 20)
  t.match(control.judge(full, control.beginPassage(0)), { kind: 'retry' }, 'the first message of a session waits')
})

t.test('a refused session is a matter of sessions where others are open', async (t) => {
  const { control } = controlled()
  const unnamed = refusal(421, null, 'service not available', 'banner')
  control.openSession()
  t.same(control.judge(unnamed, control.beginPassage(0)), { kind: 'none' })
  control.openSession()
  control.openSession()
  t.match(control.judge(unnamed, control.beginPassage(0)), { kind: 'retry' })
  t.equal(control.state.window.size, 2)
  t.notOk(control.hasSessionRoom)
  control.closeSession()
  t.notOk(control.hasSessionRoom, 'the server counts it for a moment')
})

t.test('at the stop of the service nobody waits, and what can be sent at once is sent', async (t) => {
  const { control } = controlled()
  const outage: Outage = { kind: 'outage', until: 5, why: 'the next start of the service' }
  const turnedAway: string[] = []
  const ask = (name: string) => control.request({ grant: () => t.fail(name), turnAway: () => turnedAway.push(name) })
  control.judge(tooFast, control.beginPassage(0))
  ask('before')
  t.same(turnedAway, [])
  control.stopWaiting(outage)
  ask('after')
  t.same(turnedAway, ['before', 'after'])
  const free = controlled().control
  free.stopWaiting(outage)
  t.ok(free.take())
})
