/** Greylisting, decided from what is remembered of a tuple and of its network. */
import t from 'tap'
import {
  decideGreylisting,
  type GreylistEntry,
  KNOWN_FROM,
} from '../../../../src/inbound/receiving/greylisting/greylist-policy.js'

const SECOND = 1_000
const DAY = 86_400_000
const times = { delay: 300 * SECOND, retryWindow: 2 * DAY, remember: 36 * DAY }
const now = 1_800_000_000_000

const waiting = (age: number): GreylistEntry => ({ firstAt: now - age, seenAt: now - age, passes: 0 })
const passed = (age: number, passes = 1): GreylistEntry => ({ firstAt: now - 100 * DAY, seenAt: now - age, passes })
const fresh: GreylistEntry = { firstAt: now, seenAt: now, passes: 0 }

interface Case {
  readonly name: string
  readonly tuple?: GreylistEntry
  readonly network?: GreylistEntry
  readonly expected: object
}

const cases: readonly Case[] = [
  { name: 'a new tuple waits', expected: { kind: 'delayed', seconds: 300, tuple: fresh } },
  { name: 'too early', tuple: waiting(100.5 * SECOND), expected: { kind: 'delayed', seconds: 200 } },
  { name: 'one millisecond too early', tuple: waiting(300 * SECOND - 1), expected: { kind: 'delayed', seconds: 1 } },
  {
    name: 'after the delay, of a new network',
    tuple: waiting(300 * SECOND),
    expected: {
      kind: 'passed',
      seconds: 0,
      tuple: { firstAt: now - 300 * SECOND, seenAt: now, passes: 1 },
      network: { firstAt: now, seenAt: now, passes: 1 },
    },
  },
  {
    name: 'a further pass of a network',
    tuple: waiting(400 * SECOND),
    network: passed(DAY, 3),
    expected: {
      kind: 'passed',
      seconds: 0,
      tuple: { firstAt: now - 400 * SECOND, seenAt: now, passes: 1 },
      network: { firstAt: now - 100 * DAY, seenAt: now, passes: 4 },
    },
  },
  {
    name: 'two passes of a network within a minute count once',
    tuple: waiting(400 * SECOND),
    network: passed(59 * SECOND, 3),
    expected: { kind: 'passed', seconds: 0, tuple: { firstAt: now - 400 * SECOND, seenAt: now, passes: 1 } },
  },
  {
    name: 'the last moment of the window',
    tuple: waiting(2 * DAY),
    network: passed(0, 1),
    expected: { kind: 'passed', seconds: 0, tuple: { firstAt: now - 2 * DAY, seenAt: now, passes: 1 } },
  },
  { name: 'after the window', tuple: waiting(2 * DAY + 1), expected: { kind: 'delayed', seconds: 300, tuple: fresh } },
  { name: 'a passed tuple', tuple: passed(SECOND), expected: { kind: 'known', seconds: 0 } },
  {
    name: 'a passed tuple after an hour is stored anew',
    tuple: passed(3_600 * SECOND),
    expected: { kind: 'known', seconds: 0, tuple: passed(0) },
  },
  {
    name: 'a passed tuple that is forgotten',
    tuple: passed(36 * DAY + 1),
    expected: { kind: 'delayed', seconds: 300, tuple: fresh },
  },
  { name: 'a known network', network: passed(SECOND, KNOWN_FROM), expected: { kind: 'known', seconds: 0 } },
  {
    name: 'a known network after a day is stored anew',
    network: passed(DAY, KNOWN_FROM),
    expected: { kind: 'known', seconds: 0, network: passed(0, KNOWN_FROM) },
  },
  {
    name: 'a network one pass short',
    network: passed(SECOND, KNOWN_FROM - 1),
    expected: { kind: 'delayed', seconds: 300, tuple: fresh },
  },
  {
    name: 'a known network that is forgotten',
    network: passed(36 * DAY + 1, KNOWN_FROM),
    expected: { kind: 'delayed', seconds: 300, tuple: fresh },
  },
  {
    name: 'an entry from the future, after the clock was set back',
    tuple: waiting(-1),
    expected: { kind: 'delayed', seconds: 300, tuple: fresh },
  },
]

t.test('decisions', async (t) => {
  for (const { name, tuple, network, expected } of cases) {
    t.same(decideGreylisting(tuple, network, times, now), expected, name)
  }
})
