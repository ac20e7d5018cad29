/** What the concerns of a workspace say: how bad they are, and how to repair them. */
import t from 'tap'
import {
  listHeldMailConcerns,
  listLimitConcerns,
  toBreakerConcern,
  toBroadcastConcern,
  toDomainConcern,
} from '../../../src/operations/concerns/workspace-concerns.js'

t.test('a domain is bad when mail stops, and a warning before its first verification', async (t) => {
  const domain = { id: 'd', domain: 'a.test', failsAt: null, wasVerified: true }
  for (const status of ['pending', 'failed'] as const) {
    const title = 'a.test is not verified yet'
    t.match(toDomainConcern({ ...domain, status, wasVerified: false }), { severity: 'warn', title })
  }
  t.match(toDomainConcern({ ...domain, status: 'failed' }), { severity: 'bad', text: /Publish the records/ })
  t.match(toDomainConcern({ ...domain, status: 'verified', failsAt: 0 }), {
    severity: 'bad',
    text: /sending stops on 1970-01-01T00:00:00\.000Z\./,
    link: { href: '/domains/d' },
  })
})

t.test('a limit is named from four fifths on', async (t) => {
  const limit = { text: 'Used.', effect: 'Nothing more', limit: 100 }
  t.same(listLimitConcerns({ ...limit, used: 79 }), [])
  t.match(listLimitConcerns({ ...limit, used: 80 }), [
    { severity: 'warn', title: '80 % of a limit of the plan is used' },
  ])
  t.match(listLimitConcerns({ ...limit, used: 100 }), [
    { severity: 'bad', text: 'Used. Nothing more is accepted now.' },
  ])
  t.same(listLimitConcerns({ ...limit, used: 100, limit: null }), [])
})

t.test('held mail says who releases it', async (t) => {
  const counts = { held: 1, heldByMembers: 1_200, isComplete: false }
  t.match(listHeldMailConcerns(counts, { actsForOperator: false, isBroken: false }), [
    { text: /^At least 1 recipient waits until the operator/, link: { href: '/emails?status=queued' } },
    { severity: 'warn', text: /^At least 1,200 recipients wait until a member/ },
  ])
  t.match(listHeldMailConcerns({ ...counts, heldByMembers: 0 }, { actsForOperator: true, isBroken: true }), [
    { text: /until bounces and complaints are below the limits/, link: { href: '/operator/queue' } },
  ])
  t.match(
    toBreakerConcern('ws', {
      scope: 'workspace',
      id: 'ws',
      state: 'warning',
      cause: 'complaints',
      reason: '0.3 % of 1 message',
    }),
    {
      severity: 'warn',
      text: /0\.3 % of 1 message\. Mailbox providers/,
      remedy: [],
    },
  )
})

t.test('a broadcast says why it waits', async (t) => {
  const broadcast = { id: 'b', name: 'News', status: 'sending', waits_until: 0, note: 'the limit of a day' }
  t.match(toBroadcastConcern(broadcast), {
    title: 'The broadcast “News” waits',
    text: /continues at 1970.*The limit of a day\.$/,
  })
  t.match(toBroadcastConcern({ ...broadcast, status: 'paused', note: null }), { text: 'Resume or cancel it.' })
})
