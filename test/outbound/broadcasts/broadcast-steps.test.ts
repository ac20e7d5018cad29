import t from 'tap'
import { decideStep, type QueueState } from '../../../src/outbound/broadcasts/broadcast-steps.js'

const now = 1_000_000
const WINDOW = 2_000

interface Case {
  readonly what: string
  readonly of: Partial<Parameters<typeof decideStep>[0]>
  readonly queue?: Partial<Record<keyof QueueState, boolean | number>>
  readonly isRecheck?: boolean
  readonly hasDiskSpace?: boolean
  readonly step: Awaited<ReturnType<typeof decideStep>>
}

const cases: readonly Case[] = [
  { what: 'scheduled, before its time', of: { status: 'scheduled', scheduled_for: now + 1 }, step: 'wait' },
  { what: 'scheduled, at its time', of: { status: 'scheduled', scheduled_for: now }, step: 'start' },
  { what: 'sending, with room in the queue', of: {}, step: 'expand' },
  { what: 'sending, the last chunk fits', of: {}, queue: { hasFreshOver: WINDOW - 100 }, step: 'expand' },
  { what: 'sending, the queue is full', of: {}, queue: { hasFreshOver: WINDOW - 99 }, step: 'wait' },
  { what: 'sending, a limit is used up', of: { waits_until: now + 1 }, step: 'wait' },
  { what: 'sending, the wait is over', of: { waits_until: now }, step: 'expand' },
  { what: 'sending, the limit is looked at again', of: { waits_until: now + 1 }, isRecheck: true, step: 'expand' },
  { what: 'sending, the disk is nearly full', of: {}, hasDiskSpace: false, step: 'wait' },
  { what: 'resumed', of: {}, queue: { hasPaused: true, hasEntries: true }, step: 'unhold' },
  {
    what: 'resumed, all contacts done',
    of: { expanded: 1 },
    queue: { hasPaused: true, hasEntries: true },
    step: 'unhold',
  },
  { what: 'all contacts done, entries left', of: { expanded: 1 }, queue: { hasEntries: true }, step: 'wait' },
  { what: 'all contacts done, none left', of: { expanded: 1 }, step: 'finish' },
  {
    what: 'paused, entries to hold',
    of: { status: 'paused' },
    queue: { hasToHold: true, hasEntries: true },
    step: 'hold',
  },
  { what: 'paused, all held', of: { status: 'paused' }, queue: { hasPaused: true, hasEntries: true }, step: 'rest' },
  {
    what: 'cancelled, entries left',
    of: { status: 'cancelled' },
    queue: { hasRemovable: true, hasEntries: true },
    step: 'cancel',
  },
  { what: 'cancelled, one on the wire', of: { status: 'cancelled' }, queue: { hasEntries: true }, step: 'wait' },
  { what: 'cancelled, none left', of: { status: 'cancelled' }, step: 'finish' },
  { what: 'a draft', of: { status: 'draft' }, step: 'wait' },
  { what: 'sent', of: { status: 'sent' }, step: 'wait' },
]

for (const { what, of, queue = {}, isRecheck = false, hasDiskSpace = true, step } of cases) {
  t.test(`${what}: ${step}`, async (t) => {
    const broadcast = { status: 'sending', scheduled_for: null, expanded: 0, waits_until: null, ...of } as const
    const state: QueueState = {
      hasFreshOver: async (count) => Number(queue.hasFreshOver ?? 0) > count,
      hasEntries: async () => queue.hasEntries === true,
      hasPaused: async () => queue.hasPaused === true,
      hasToHold: async () => queue.hasToHold === true,
      hasRemovable: async () => queue.hasRemovable === true,
    }
    t.equal(await decideStep(broadcast, state, { now, chunk: 100, window: WINDOW, isRecheck, hasDiskSpace }), step)
  })
}
