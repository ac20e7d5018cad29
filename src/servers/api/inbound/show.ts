/**
 * GET and DELETE /v1/inbound/:id, and GET /v1/inbound/:id/raw: one inbound email.
 *
 * Bodies, header and attachments are parsed from the message on request. If the message is no longer
 * stored or cannot be parsed, the record is shown without them.
 */
import { z } from 'zod'
import type { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import {
  inboundById,
  readInboundRaw,
  removeInbound,
  removeInboundRaw,
} from '../../../records/messages/inbound/inbound-email.js'
import { removeForwards } from '../../../records/messages/inbound/inbound-forwards.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import { attachmentNameOf } from '../../../records/messages/mime/attachment-name.js'
import type { MessageReader } from '../../../records/messages/mime/mime-parts.js'
import type { ReadableParts } from '../../../records/messages/mime/mime-parts-protocol.js'
import { json } from '../http/answer.js'
import { notFound, timestamp } from '../http/input/values.js'
import { JSON_TYPE } from '../http/output/send-reply.js'
import { type Route, route } from '../http/route/route.js'
import { listItemFields, toListItem } from './list.js'

export interface InboundDeps extends Store {
  readonly mime: MessageReader
}

const contribution = z
  .object({ name: z.string(), score: z.number(), description: z.string() })
  .meta({ example: { name: 'HTML_ONLY', score: 1.4, description: 'the message has HTML but no text version' } })

const record = z
  .strictObject({
    ...listItemFields,
    envelope_from: z.string().meta({ description: 'Empty for the null sender.' }),
    envelope_to: z.array(z.string()).meta({ description: 'Your addresses in the envelope.' }),
    message_id: z.string().nullable(),
    html: z.string().nullable(),
    text: z
      .string()
      .nullable()
      .meta({ description: 'Made from the HTML if the message has no text (`has_text` is false).' }),
    headers: z
      .array(z.object({ name: z.string(), value: z.string() }))
      .meta({ example: [{ name: 'Subject', value: 'Hello' }] }),
    attachments: z.array(z.object({ id: z.string(), filename: z.string(), contentType: z.string(), size: z.int() })),
    spf_result: z.enum(['pass', 'fail', 'neutral']),
    dkim_result: z.string(),
    dmarc_result: z.string(),
    authentication: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The full results.', example: { spf: { result: 'pass' } } }),
    spam_report: z.array(contribution).meta({ description: 'The contributions to the score.' }),
    processed_at: timestamp.nullable(),
  })
  .meta({ id: 'InboundEmail' })

const EXAMPLE_MESSAGE = 'From: Ann <ann@example.org>\r\nTo: support@example.com\r\nSubject: Hello\r\n\r\nHello\r\n'

const tag = 'Inbound email'
const path = '/inbound/:id'

export function inboundShowRoute(deps: InboundDeps): Route {
  return route({
    method: 'GET',
    path,
    area: 'read',
    tag,
    summary: 'Read an inbound email',
    answers: { 200: { description: 'The email', schema: record } },
    refusals: ['not_found'],
    run: async ({ principal: { workspaceId }, params: { id = '' } }) => {
      await requireInboundEmail(deps.read, workspaceId, id)
      const parts = await readParts(deps, workspaceId, id)
      // It is read again after parsing, which takes time: the answer shows the present state.
      const bytes = toRecordJson(recordOf(await requireInboundEmail(deps.read, workspaceId, id), parts), parts)
      return { kind: 'bytes', type: JSON_TYPE, bytes }
    },
  })
}

export function inboundRawRoute({ read }: InboundDeps): Route {
  return route({
    method: 'GET',
    path: `${path}/raw`,
    area: 'read',
    tag,
    summary: 'Read the message as it was received',
    description: 'It begins with the trace fields and authentication results that were added on receipt.',
    answers: { 200: { description: 'The message', type: 'message/rfc822', example: EXAMPLE_MESSAGE } },
    refusals: ['not_found'],
    run: async ({ principal: { workspaceId }, params: { id = '' } }) => {
      await requireInboundEmail(read, workspaceId, id)
      const raw = await readInboundRaw(read, { workspaceId, id })
      if (raw === undefined) throw notFound('not-found', 'message kept of inbound email', id)
      return { kind: 'bytes', type: 'message/rfc822', bytes: raw }
    },
  })
}

export function deleteRoute({ commit }: InboundDeps): Route {
  return route({
    method: 'DELETE',
    path,
    area: 'write',
    tag,
    summary: 'Delete an inbound email permanently',
    description: 'Its message and attachments are deleted too.',
    answers: { 200: { description: 'It is gone.', schema: z.object({ deleted: z.literal(true), id: z.string() }) } },
    refusals: ['not_found'],
    run: async ({ principal: { workspaceId }, params: { id = '' } }) => {
      const place = { workspaceId, id }
      if (!(await tryCommit(commit([removeInbound(place), removeInboundRaw(place), removeForwards(place)]))))
        throw inboundEmailNotFound(id)
      return json(200, { deleted: true, id })
    },
  })
}

export async function requireInboundEmail(read: Read, workspaceId: string, id: string): Promise<InboundEmail> {
  const [email] = await inboundById(read, { workspaceId, id })
  if (email === undefined) throw inboundEmailNotFound(id)
  return email
}

export function inboundEmailNotFound(id: string): Refusal {
  return notFound('not-found', 'inbound email', id)
}

/** The parts are empty if the message is not stored or cannot be parsed. */
export async function readParts({ read, mime }: InboundDeps, workspaceId: string, id: string): Promise<ReadableParts> {
  const result = await mime.readForDisplay(workspaceId, () => readInboundRaw(read, { workspaceId, id }))
  return result.kind === 'readable' ? result.parts : { html: null, text: null, headers: [], attachments: [] }
}

type InboundRecord = Omit<z.output<typeof record>, 'html' | 'text'>

/** The bodies, which may have tens of megabytes, are JSON texts already and inserted unchanged. */
export function toRecordJson(rest: object, { html, text }: Pick<ReadableParts, 'html' | 'text'>): readonly Buffer[] {
  const before = `${JSON.stringify(rest).slice(0, -1)},"html":`
  return [before, html ?? 'null', ',"text":', text ?? 'null', '}'].map(toBytes)
}

function toBytes(piece: string | Buffer): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : piece
}

function recordOf(email: InboundEmail, { headers, attachments }: ReadableParts): InboundRecord {
  return {
    ...toListItem(email),
    envelope_from: email.envelope_from,
    envelope_to: [...parseJson(email.envelope_to)],
    message_id: email.message_id,
    headers: [...headers],
    attachments: attachments.map((it, place) => ({
      id: `${email.id}.${place}`,
      filename: attachmentNameOf(it, place),
      contentType: it.content_type,
      size: it.size,
    })),
    spf_result: email.spf_result,
    dkim_result: email.dkim_result,
    dmarc_result: email.dmarc_result,
    authentication: parseJson(email.authentication),
    spam_report: [...parseJson(email.spam_report)],
    processed_at: email.processed_at === null ? null : iso(email.processed_at),
  }
}
