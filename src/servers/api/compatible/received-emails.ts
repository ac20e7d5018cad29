/** Received mail in the form of Resend: a list, one email, and its attachments with links. */
import { z } from 'zod'
import { MAX_LIST_LENGTH, parseMailboxList } from '../../../base/mail/mailbox-list.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { buildMessageLink, LINK_LIFETIME } from '../../../records/messages/inbound/inbound-links.js'
import { type ListedInbound, listInbound } from '../../../records/messages/inbound/inbound-list.js'
import type { ReadableParts } from '../../../records/messages/mime/mime-parts-protocol.js'
import { json } from '../http/answer.js'
import { buildList, buildPart, listSchema, partQuery, sliceAfterQuery, withNext } from '../http/input/paging.js'
import { notFound, timestamp } from '../http/input/values.js'
import { JSON_TYPE } from '../http/output/send-reply.js'
import { type Route, route } from '../http/route/route.js'
import { type AttachmentDeps, attachment, listAttachments, toAttachmentResource } from '../inbound/attachments.js'
import { readParts, requireInboundEmail, toRecordJson } from '../inbound/show.js'

const addresses = z.array(z.string()).nullable()
const facts = {
  id: z.string(),
  to: z.array(z.string()),
  from: z.string(),
  created_at: timestamp,
  subject: z.string(),
  bcc: addresses,
  cc: addresses,
  reply_to: addresses,
  received_for: z.array(z.string()).meta({ description: 'Your addresses in the envelope.' }),
  message_id: z.string().nullable(),
}
const listed = z.strictObject({
  ...facts,
  attachments: z.array(z.never()).meta({ description: 'Empty in the list: read the email.' }),
  attachment_count: z.int(),
})
const part = attachment.omit({ download_url: true, expires_at: true })
const whole = z.strictObject({
  object: z.literal('email'),
  ...facts,
  headers: z.record(z.string(), z.string()),
  raw: z
    .strictObject({
      download_url: z.url().meta({ description: 'Needs no key, until it expires.' }),
      expires_at: timestamp,
    })
    .meta({ description: 'The message as it was received.' }),
  attachments: z.array(part),
  html: z.string().nullable(),
  text: z.string().nullable(),
})

const common = { method: 'GET', area: 'read', tag: 'Received emails' } as const
const path = '/emails/receiving'

export function receivedEmailRoutes(deps: AttachmentDeps): readonly Route[] {
  return [listRoute(deps), showRoute(deps), attachmentsRoute(deps), attachmentRoute(deps)]
}

function listRoute({ read }: AttachmentDeps): Route {
  return route<z.output<typeof sliceAfterQuery>>({
    ...{ ...common, path, summary: 'List received emails, newest first', query: sliceAfterQuery },
    answers: { 200: { description: 'Some of them.', schema: listSchema(listed) } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query }) => {
      const rows = await listInbound(read, { workspaceId }, withNext(query))
      return json(200, buildList(rows, query.limit, toListed))
    },
  })
}

function showRoute(deps: AttachmentDeps): Route {
  return route({
    ...{ ...common, path: `${path}/:id`, summary: 'Read a received email' },
    query: z.strictObject({
      html_format: z.enum(['data_uri', 'cid']).optional().meta({ description: 'Ignored: images stay `cid:`.' }),
    }),
    answers: { 200: { description: 'The email.', schema: whole } },
    refusals: ['not_found'],
    run: async ({ principal: { workspaceId }, params: { id = '' }, now }) => {
      await requireInboundEmail(deps.read, workspaceId, id)
      const parts = await readParts(deps, workspaceId, id)
      const email = await requireInboundEmail(deps.read, workspaceId, id)
      const expiresAt = now + LINK_LIFETIME
      const link = buildMessageLink(deps, { workspaceId, inboundId: id, expiresAt })
      const rest = {
        object: 'email',
        ...toWhole(email, parts),
        raw: { download_url: link, expires_at: iso(expiresAt) },
      }
      return { kind: 'bytes', type: JSON_TYPE, bytes: toRecordJson(rest, parts) }
    },
  })
}

function attachmentsRoute(deps: AttachmentDeps): Route {
  return route({
    ...{ ...common, path: `${path}/:id/attachments`, summary: 'List the attachments of a received email' },
    query: partQuery,
    answers: { 200: { description: 'They, with links that are valid for an hour.', schema: listSchema(attachment) } },
    refusals: ['not_found'],
    run: async (call) =>
      json(
        200,
        buildPart(await listAttachments(deps, call), call.query, (row) => row),
      ),
  })
}

function attachmentRoute(deps: AttachmentDeps): Route {
  const object = z.literal('attachment')
  return route({
    ...{ ...common, path: `${path}/:id/attachments/:attachment`, summary: 'Find an attachment of a received email' },
    params: { attachment: 'The id of an attachment.' },
    answers: { 200: { description: 'It, with a link.', schema: attachment.extend({ object }) } },
    refusals: ['not_found'],
    run: async (call) => {
      const { attachment: id = '' } = call.params
      const found = (await listAttachments(deps, call)).find((one) => one.id === id)
      if (found === undefined) throw notFound('not-found', 'attachment', id)
      return json(200, { object: 'attachment', ...found })
    },
  })
}

function toFacts(row: ListedInbound): Omit<z.output<z.ZodObject<typeof facts>>, 'reply_to'> {
  const cc = parseJson(row.cc_emails)
  return {
    id: row.id,
    to: [...parseJson(row.to_emails)],
    from: row.from_email,
    created_at: iso(row.received_at),
    subject: row.subject,
    bcc: null,
    cc: cc.length > 0 ? [...cc] : null,
    received_for: [...parseJson(row.envelope_to)],
    message_id: row.message_id,
  }
}

function toListed(row: ListedInbound): z.output<typeof listed> {
  return { ...toFacts(row), reply_to: null, attachments: [], attachment_count: row.attachment_count }
}

function toWhole(
  row: ListedInbound,
  { headers, attachments }: ReadableParts,
): Omit<z.output<typeof whole>, 'object' | 'html' | 'text' | 'raw'> {
  const replyTo = headers.find(({ name }) => name.toLowerCase() === 'reply-to')
  const isReadable = replyTo !== undefined && replyTo.value.length <= MAX_LIST_LENGTH
  const given = isReadable ? parseMailboxList(replyTo.value).flatMap(({ address }) => address ?? []) : []
  return {
    ...toFacts(row),
    reply_to: given.length > 0 ? given : null,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value])),
    attachments: attachments.map((one, place) => toAttachmentResource(row.id, one, place)),
  }
}
