/** GET /v1/broadcasts/:id/recipients: who got a broadcast, and what became of it. */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Timestamp } from '../../../base/storage/tables/columns.js'
import { requireKnownBroadcast } from '../../../outbound/broadcasts/broadcast-list.js'
import { readTotals } from '../../../outbound/broadcasts/broadcast-resource.js'
import {
  type BroadcastOutcome,
  keepsAllEmails,
  listRecipients,
  type OutcomePlace,
  recipientOutcomes,
} from '../../../records/messages/broadcast-outcomes.js'
import { emailStatus } from '../emails/email-record.js'
import { json } from '../http/answer.js'
import { buildPage, cursorSchema, limit, pageSchema } from '../http/input/paging.js'
import { timestamp, uuid } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { broadcastRefOf, tag } from './broadcasts.js'

const placeForm = /^(\d{1,15}) (bc-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

function parsePlace(text: string): OutcomePlace {
  const [, at = '', id = ''] = placeForm.exec(text) ?? []
  return { at: Number(at), id }
}

const query = z.strictObject({
  limit,
  cursor: cursorSchema(placeForm, parsePlace),
  status: z
    .enum(recipientOutcomes, `allowed: ${recipientOutcomes.join(', ')}`)
    .optional()
    .meta({
      description: 'Only the recipients that the count of this name counts. Default: all.',
      example: 'opened',
    }),
})

const time = timestamp.nullable()

const recipient = z
  .strictObject({
    to: z.string().meta({ description: 'The address.', example: 'ann@example.com' }),
    contact_id: uuid.nullable(),
    email_id: z.string().meta({ example: 'bc-01a1ff35-3880-7ef5-bbba-0d7e1de2529c' }),
    status: emailStatus.nullable().meta({
      description: 'Of the email. Null: the email was removed.',
      example: 'delivered',
    }),
    created_at: timestamp.meta({ description: 'When the message was made.' }),
    sent_at: time,
    delivered_at: time,
    opened_at: time.meta({ description: 'The first open by a person.' }),
    clicked_at: time.meta({ description: 'The first click by a person.' }),
    bounced_at: time,
    complained_at: time,
    unsubscribed_at: time,
    response: z
      .string()
      .nullable()
      .meta({ description: "The last reply of the recipient's server.", example: '250 2.0.0 OK' }),
  })
  .meta({ id: 'BroadcastRecipient' })

const page = pageSchema(recipient).extend({
  removed: z.boolean().meta({
    description: 'Whether emails of the broadcast were removed after their retention, and are not in the list.',
    example: false,
  }),
})

export function broadcastRecipientsRoute(read: Read): Route {
  return route({
    method: 'GET',
    path: '/broadcasts/:id/recipients',
    area: 'read',
    tag,
    summary: 'List the recipients of a broadcast, the latest first',
    description:
      'With `opened`, `clicked` or `unsubscribed` the order is that of these times, otherwise of the times when the ' +
      'messages were made. Opens and clicks of programs do not count.',
    query,
    answers: { 200: { description: 'A page.', schema: page } },
    refusals: ['not_found'],
    run: async (call) => {
      const { limit: size, cursor: after, status: outcome = null } = call.query
      const ref = broadcastRefOf(call)
      await requireKnownBroadcast(read, ref)
      const broadcast = { workspaceId: ref.workspaceId, broadcastId: ref.id }
      const rows = await listRecipients(read, { ...broadcast, outcome }, { after, limit: size + 1 })
      const { recipients } = await readTotals(read, ref)
      const removed = recipients > 0 && !(await keepsAllEmails(read, broadcast))
      const placeOf = ({ place }: BroadcastOutcome): string => `${place.at} ${place.id}`
      return json(200, { ...buildPage(rows, size, toRecipient, placeOf), removed })
    },
  })
}

function toRecipient(row: BroadcastOutcome): z.output<typeof recipient> {
  return {
    to: row.address,
    contact_id: row.contactId,
    email_id: row.emailId,
    status: row.status,
    created_at: formatTimestamp(row.createdAt),
    sent_at: toTime(row.sentAt),
    delivered_at: toTime(row.deliveredAt),
    opened_at: toTime(row.openedAt),
    clicked_at: toTime(row.clickedAt),
    bounced_at: toTime(row.bouncedAt),
    complained_at: toTime(row.complainedAt),
    unsubscribed_at: toTime(row.unsubscribedAt),
    response: row.response,
  }
}

function toTime(at: Timestamp | null): string | null {
  return at === null ? null : formatTimestamp(at)
}
