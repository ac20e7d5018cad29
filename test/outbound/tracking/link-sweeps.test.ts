/** Which clicks are a sweep: more than half of four or more links by one address within ten seconds. */
import t from 'tap'
import { LinkSweeps } from '../../../src/outbound/tracking/link-sweeps.js'

interface Given {
  readonly links: number
  /** Link, address, milliseconds. */
  readonly clicks: readonly (readonly [link: string, address: string, at: number])[]
  /** For each click: the earlier clicks that it reveals, by their places; null: no sweep. */
  readonly found: readonly (readonly number[] | null)[]
}

const A = '192.0.2.1'
const B = '192.0.2.2'

const table: Readonly<Record<string, Given>> = {
  'three of four': {
    links: 4,
    clicks: [
      ['1', A, 0],
      ['2', A, 10],
      ['3', A, 20],
      ['4', A, 30],
    ],
    found: [null, null, [0, 1], []],
  },
  'half of six is no sweep, one more is': {
    links: 6,
    clicks: [
      ['1', A, 0],
      ['2', A, 0],
      ['3', A, 0],
      ['4', A, 0],
    ],
    found: [null, null, null, [0, 1, 2]],
  },
  'all of three links': {
    links: 3,
    clicks: [
      ['1', A, 0],
      ['2', A, 0],
      ['3', A, 0],
    ],
    found: [null, null, null],
  },
  'one link again and again': {
    links: 4,
    clicks: [
      ['1', A, 0],
      ['1', A, 1],
      ['1', A, 2],
      ['1', A, 3],
      ['2', A, 4],
    ],
    found: [null, null, null, null, null],
  },
  'repeated links belong to the sweep': {
    links: 4,
    clicks: [
      ['1', A, 0],
      ['1', A, 1],
      ['2', A, 2],
      ['3', A, 3],
    ],
    found: [null, null, null, [0, 1, 2]],
  },
  'two addresses': {
    links: 4,
    clicks: [
      ['1', A, 0],
      ['2', B, 0],
      ['3', A, 0],
    ],
    found: [null, null, null],
  },
  'addresses of one /64': {
    links: 4,
    clicks: [
      ['1', '2001:db8::1', 0],
      ['2', '2001:db8::2', 0],
      ['3', '2001:db8::3', 0],
      ['4', '2001:db8:0:1::', 0],
    ],
    found: [null, null, [0, 1], null],
  },
  'ten seconds, and a millisecond more': {
    links: 4,
    clicks: [
      ['1', A, 0],
      ['2', A, 5_000],
      ['3', A, 10_000],
      ['4', A, 10_001],
    ],
    found: [null, null, [0, 1], []],
  },
  'too slow': {
    links: 4,
    clicks: [
      ['1', A, 0],
      ['2', A, 5_000],
      ['3', A, 10_001],
    ],
    found: [null, null, null],
  },
}

t.test('clicks of one email', async (t) => {
  for (const [name, { links, clicks, found }] of Object.entries(table)) {
    const sweeps = new LinkSweeps()
    const results: Awaited<ReturnType<LinkSweeps['add']>>[] = []
    for (const [place, [linkId, address, at]] of clicks.entries()) {
      const click = { emailId: 'e', linkId, address, at, eventId: String(place) }
      results.push(await sweeps.add(click, async () => links))
    }
    t.same(
      results.map((result) => result?.map(({ eventId }) => Number(eventId)) ?? null),
      found,
      name,
    )
  }
})

t.test('emails do not mix, and links are counted only when it matters', async (t) => {
  const sweeps = new LinkSweeps()
  let counted = 0
  const countLinks = async (): Promise<number> => {
    counted += 1
    return 4
  }
  for (const emailId of ['one', 'two', 'three', 'four']) {
    t.equal(await sweeps.add({ emailId, linkId: emailId, address: A, at: 0, eventId: emailId }, countLinks), null)
  }
  t.equal(counted, 0)
})

t.test('an address that clicks without end costs bounded memory and time', async (t) => {
  const sweeps = new LinkSweeps()
  let found = 0
  for (let place = 0; place < 3_000; place += 1) {
    const click = { emailId: 'e', linkId: `link ${place}`, address: A, at: place, eventId: `${place}` }
    found = Math.max(found, (await sweeps.add(click, async () => 1_900))?.length ?? 0)
  }
  t.equal(found, 950, 'one more than half of 1,900 is within the 1,000 clicks that are kept')
})

t.test('the clicks of all emails and addresses together are bounded', async (t) => {
  const sweepAfter = async (others: number): Promise<unknown> => {
    const sweeps = new LinkSweeps()
    const click = (emailId: string, linkId: string): Promise<unknown> =>
      sweeps.add({ emailId, linkId, address: A, at: 0, eventId: `${emailId} ${linkId}` }, async () => 4)
    await click('e', '1')
    await click('e', '2')
    for (let place = 0; place < others; place += 1) await click(`other ${place % (others / 10)}`, '1')
    return click('e', '3')
  }
  t.match(await sweepAfter(40_000), [{ eventId: 'e 1' }, { eventId: 'e 2' }])
  t.equal(await sweepAfter(60_000), null)
})

t.test('clicks whose time is over leave memory as new ones come', async (t) => {
  const sweeps = new LinkSweeps()
  const click = async (n: number, at: number): Promise<void> => {
    await sweeps.add({ emailId: `email ${n}`, address: A, linkId: '1', eventId: `${n} ${at}`, at }, async () => 4)
  }
  for (let n = 0; n < 1_000; n += 1) await click(n, 0)
  t.equal(sweeps.size, 1_000)
  for (let n = 0; n < 1_000; n += 1) await click(1_000 + n, 10_001)
  t.equal(sweeps.size, 1_000)
})
