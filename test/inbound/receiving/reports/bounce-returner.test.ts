/** Bounces of forwarded mail: which go back, and how many. */
import { createSecretKey } from 'node:crypto'
import t from 'tap'
import { type DomainName, parseAddress } from '../../../../src/base/mail/address.js'
import { createForwardedSender } from '../../../../src/base/mail/forwarded-sender.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../../../src/base/storage/tables/tables.js'
import type { ProcessingResult } from '../../../../src/inbound/receiving/analysis/processing-result.js'
import { RecipientPolicy } from '../../../../src/inbound/receiving/recipients/recipient-policy.js'
import { BounceReturner } from '../../../../src/inbound/receiving/reports/bounce-returner.js'
import type { EnqueuedEmail } from '../../../../src/records/messages/queue/enqueue.js'
import { addSuppression } from '../../../../src/records/suppressions/suppressions.js'
import { defaultInboundPolicy } from '../../../../src/workspaces/domains/rows/inbound-policy.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { inboundMail } from '../../../helpers/mail/inbound-mail.js'

const HOUR = 3_600_000
const host = 'posthorn.a.test' as DomainName
const secret = createSecretKey(Buffer.alloc(32, 7))
let now = Date.UTC(2026, 6, 1)
const policy = new RecipientPolicy({
  ...{ hostname: 'mx.service.test' as DomainName, zone: 'zone.test' as DomainName, secret, clock: () => now },
  domains: {
    find: async (domain) =>
      domain === 'a.test'
        ? { workspaceId: 'ws_1', inbound: true, blocked: new Set(), policy: defaultInboundPolicy }
        : undefined,
  },
})
const { database } = await temporaryDatabase(t)
const offered: EnqueuedEmail[] = []
const others: string[] = []
const returner = new BounceReturner({
  ...{ read: database.read, clock: () => now, log: { info: () => undefined }, policy, hostname: 'mx.service.test' },
  queue: { offer: (enqueued) => offered.push(enqueued) },
  reports: {
    process: async ({ id }) => {
      others.push(id)
      return { writes: [] }
    },
  },
})

const pathOf = (sender: string): string => createForwardedSender(secret, parseAddress(sender), host, now) ?? ''

async function bring(from: string, ...to: readonly string[]): Promise<ProcessingResult> {
  const email = {
    ...{ ...inboundMail({ id: 'report', workspace_id: SERVICE_WORKSPACE }), kind: 'report', size: 1_000 },
    envelope_from: from,
    envelope_to: toJson(to.map(parseAddress)),
  }
  const result = await returner.process(email as never, { report: { type: 'other' }, isAutoReply: false } as never)
  result.onCommitted?.()
  return result
}

const recipientsOf = (from: number): readonly string[] =>
  offered.slice(from).flatMap(({ entries }) => entries.map(({ recipient }) => recipient))

t.test('a bounce goes to the sender of the forwarded message, from the null sender', async (t) => {
  const { writes } = await bring('', pathOf('ann@b.test'))
  t.same(recipientsOf(0), ['ann@b.test'])
  t.match(offered[0]?.email, { envelope_from: '', workspace_id: 'service', size: 1_000 - 'Return-Path: <>\r\n'.length })
  t.match(writes.at(-1)?.sql, /delete from "inbound_raw"/, 'and is removed')
  t.same(others, [])
})

t.test('what is none goes its own way, and mixed mail both', async (t) => {
  const before = offered.length
  await bring('', 'abuse@mx.service.test')
  t.equal(others.length, 1)
  await bring('', 'abuse@mx.service.test', pathOf('bob@b.test'))
  t.equal(others.length, 2)
  t.same(recipientsOf(before), ['bob@b.test'])
  await bring('x@b.test', pathOf('bob@b.test'))
  t.equal(offered.length, before + 1, 'not from anybody else')
})

t.test('sixty in an hour for one sender', async (t) => {
  const before = offered.length
  for (let count = 0; count < 70; count++) await bring('', pathOf('many@b.test'))
  t.equal(offered.length, before + 60)
  await bring('', pathOf('other@b.test'))
  t.equal(offered.length, before + 61, 'others are not affected')
  now += HOUR / 2
  for (let count = 0; count < 70; count++) await bring('', pathOf('many@b.test'))
  t.equal(offered.length, before + 91)
})

t.test('none to an address from which mail of the service bounced', async (t) => {
  const before = offered.length
  const email = parseAddress('dead@b.test')
  await database.commit([
    addSuppression({
      ...{ workspaceId: SERVICE_WORKSPACE, email, reason: 'hard_bounce', sourceEmailId: null, metadata: {}, at: now },
    }),
  ])
  await bring('', pathOf('dead@b.test'))
  t.equal(offered.length, before)
})
