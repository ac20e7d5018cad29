/** Events that are prepared for requests, and those of which no request can be made. */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { WebhookFormat } from '../../../src/base/storage/tables/webhook-tables.js'
import type { EventPreparer } from '../../../src/workspaces/webhooks/event-preparer.js'
import { type Webhook, webhookById } from '../../../src/workspaces/webhooks/webhook-records.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { plainPreparer } from '../../helpers/http/plain-preparer.js'

interface Place {
  readonly database: Database
  readonly preparer: EventPreparer
  readonly webhookOf: (format: WebhookFormat) => Webhook
}

async function setUp(t: Test): Promise<Place> {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const [workspace_id, id] = ['ws_1', 'wh_1']
  await database.commit([
    await row('webhooks', { id, workspace_id, events: '[]' }),
    await row('emails', {
      ...{ id: 'e1', workspace_id, message_id: '<1@a.test>', subject: 'hi' },
      ...{ from_email: 'app@a.test', to_emails: toJson(['bob@b.test']) },
    }),
  ])
  const webhook = await webhookById(database.read, { workspaceId: workspace_id, id })
  if (webhook === undefined) throw new Error('no webhook')
  return {
    database,
    preparer: plainPreparer(database.read),
    webhookOf: (format) => ({ ...webhook, format, content: 'parsed' }),
  }
}

const eventOf = (type: string, data: object) => ({ id: 'evt_1', type, created_at: 5, data: toJson(data) })
const received = eventOf('email.received', { inbound_email_id: 'in_1', attachments: [{ id: 'in_1.0' }] })

t.test('a format of another service gets what only the record of the email has', async (t) => {
  const { preparer, webhookOf } = await setUp(t)
  const delivered = eventOf('email.delivered', { email_id: 'e1' })
  const email = {
    message_id: '<1@a.test>',
    subject: 'hi',
    from_email: 'app@a.test',
    tags: [],
    to_emails: ['bob@b.test'],
  }
  t.match(await preparer.prepare(webhookOf('mailgun'), delivered), { kind: 'prepared', event: delivered, email })
  t.match(await preparer.prepare(webhookOf('posthorn'), delivered), { kind: 'prepared', event: delivered, email: null })
  const gone = eventOf('email.delivered', { email_id: 'e2' })
  t.match(await preparer.prepare(webhookOf('mailgun'), gone), { kind: 'prepared', email: null })
})

t.test('an event that a format does not know, or whose message is gone, is never attempted', async (t) => {
  const { preparer, webhookOf } = await setUp(t)
  t.same(await preparer.prepare(webhookOf('postmark'), eventOf('domain.verified', {})), {
    kind: 'undeliverable',
    reason: 'the format postmark has no event of the type domain.verified',
  })
  for (const format of ['posthorn', 'postmark', 'raw'] as const) {
    t.same(await preparer.prepare(webhookOf(format), received), {
      kind: 'undeliverable',
      reason: 'the message is no longer stored',
    })
  }
})

t.test('an event without content has links, also when its message is gone', async (t) => {
  const { preparer, webhookOf } = await setUp(t)
  const prepared = await preparer.prepare({ ...webhookOf('posthorn'), content: 'none' }, received)
  if (prepared?.kind !== 'prepared') throw new Error('it is not prepared')
  t.match(JSON.parse(prepared.event.data), {
    raw_url: /^https:\/\/mail\.test\/v1\/inbound\/in_1\/raw\/download\?workspace=ws_1&expires=\d+&signature=/,
    attachments: [{ download_url: /^https:\/\/mail\.test\/v1\/inbound\/in_1\/attachments\/0\?/ }],
  })
})
