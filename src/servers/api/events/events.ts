/** GET /v1/events and GET /v1/emails/:id/events: the event log of the workspace, newest first. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { type JsonObject, parseJson } from '../../../base/storage/tables/columns.js'
import { type EventFilter, type ListedEvent, listEvents } from '../../../records/events/event-list.js'
import { describeEvent, eventTypes } from '../../../records/events/payloads.js'
import { requireVisibleEmail } from '../../../records/messages/email-resource.js'
import { viewerOf } from '../emails/show.js'
import { type Answer, json } from '../http/answer.js'
import { buildPage, limit, pageSchema, seqCursor } from '../http/input/paging.js'
import { addressInQuery, emailId, moment, timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { eventId, pascalCaseOf, payloadSchemas } from './event-schemas.js'

const MAX_EMAIL_ID = 64

const pageFields = {
  limit,
  cursor: seqCursor,
  type: z
    .enum(eventTypes, `allowed: ${eventTypes.join(', ')}`)
    .optional()
    .meta({ description: 'Only events of this type.' }),
  recipient: addressInQuery.optional().meta({ description: 'Only events about this recipient, in any case.' }),
  from: moment.optional().meta({ description: 'Only events at this moment or later.' }),
  to: moment.optional().meta({ description: 'Only events before this moment.' }),
}

const emailQuery = z.strictObject(pageFields).superRefine(checkRange)
const listQuery = z
  .strictObject({
    ...pageFields,
    email_id: z
      .string()
      .max(MAX_EMAIL_ID, `allowed: at most ${MAX_EMAIL_ID} characters`)
      .optional()
      .meta({ description: 'Only events about this email. Empty for an email that does not exist.' }),
  })
  .superRefine(checkRange)

type EmailQuery = z.output<typeof emailQuery>

function checkRange(
  { from, to }: { from?: number | undefined; to?: number | undefined },
  context: z.RefinementCtx,
): void {
  if (from === undefined || to === undefined || from < to) return
  context.addIssue({ code: 'custom', path: ['to'], message: 'must be later than from' })
}

const envelope = {
  id: eventId,
  created_at: timestamp.meta({ description: 'When the event entered the log: never before an older event.' }),
  email_id: emailId.nullable().meta({ description: 'Null: not about an email that was sent.' }),
  recipient: z.string().nullable().meta({ example: 'bob@example.com', description: 'Null: not about one recipient.' }),
}

const eventSchemas = eventTypes.map((type) =>
  z
    .object({ ...envelope, type: z.literal(type), data: payloadSchemas[type] })
    .meta({ id: `${pascalCaseOf(type)}Event`, description: describeEvent(type) }),
)
const event = z
  .discriminatedUnion('type', eventSchemas as [(typeof eventSchemas)[number]])
  .meta({ id: 'Event', description: '`data` depends on `type`. Later versions may add types.' })

const page = pageSchema(event)
const tag = 'Events'

export function eventRoutes({ read }: { readonly read: Read }): readonly Route[] {
  return [listRoute(read), emailRoute(read)]
}

function listRoute(read: Read): Route {
  return route({
    method: 'GET',
    path: '/events',
    area: 'read',
    tag,
    summary: 'List what happened to emails and domains, newest first',
    query: listQuery,
    answers: { 200: { description: 'A page.', schema: page } },
    refusals: ['invalid_email_address'],
    run: ({ principal: { workspaceId }, query: { email_id: emailId, ...query } }) =>
      answerPage(read, { workspaceId, emailId }, query),
  })
}

function emailRoute(read: Read): Route {
  return route({
    method: 'GET',
    path: '/emails/:id/events',
    area: 'read',
    own: true,
    tag: 'Emails',
    summary: 'List what happened to an email, newest first',
    query: emailQuery,
    answers: { 200: { description: 'A page.', schema: page } },
    refusals: ['email_not_found', 'invalid_email_address'],
    run: async ({ principal, params: { id = '' }, query }) => {
      const { workspace_id: workspaceId } = await requireVisibleEmail(read, viewerOf(principal), id)
      return answerPage(read, { workspaceId, emailId: id }, query)
    },
  })
}

async function answerPage(
  read: Read,
  filter: EventFilter,
  { limit, cursor: before, type, recipient, from, to }: EmailQuery,
): Promise<Answer> {
  const rows = await listEvents(read, { ...filter, type, recipient, from, to }, { before, limit: limit + 1 })
  return json(
    200,
    buildPage(rows, limit, toEventResource, ({ seq }) => seq),
  )
}

interface EventResource {
  readonly id: string
  readonly type: ListedEvent['type']
  readonly created_at: string
  readonly email_id: string | null
  readonly recipient: string | null
  readonly data: JsonObject
}

function toEventResource({ id, type, created_at, email_id, recipient, data }: ListedEvent): EventResource {
  return { id, type, created_at: iso(created_at), email_id, recipient, data: parseJson(data) }
}
