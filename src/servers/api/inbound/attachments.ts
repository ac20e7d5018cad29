/**
 * GET /v1/inbound/:id/attachments, and downloads by signed links to attachments and to the message, which allow it for
 * an hour without a key.
 *
 * An attachment is identified by its index in the message and read from the message on request, so a
 * link ends with its email. The answer's header makes browsers save the file and never display it
 * under our origin, since it is untrusted input.
 */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { inboundById, readInboundRaw } from '../../../records/messages/inbound/inbound-email.js'
import {
  buildAttachmentLink,
  LINK_LIFETIME,
  type LinkedInbound,
  type LinkSigner,
  partsOfAttachmentLink,
  partsOfMessageLink,
} from '../../../records/messages/inbound/inbound-links.js'
import { attachmentNameOf } from '../../../records/messages/mime/attachment-name.js'
import type { MimeAttachment } from '../../../records/messages/mime/mime-parts-protocol.js'
import { type Answer, json } from '../http/answer.js'
import { type LinkQuery, linkQuery, verifyLink } from '../http/input/link-signature.js'
import { notFound, timestamp } from '../http/input/values.js'
import { buildDownloadHeaders } from '../http/output/download-headers.js'
import { type Call, type OpenCall, openRoute, type Route, route } from '../http/route/route.js'
import { downloadTypeOf } from './attachment-file.js'
import { type InboundDeps, inboundEmailNotFound, readParts, requireInboundEmail } from './show.js'

export interface AttachmentDeps extends InboundDeps, LinkSigner {}

export const attachment = z
  .strictObject({
    id: z.string(),
    filename: z.string().meta({ description: 'The name in the message, not a safe path; generated if it has none.' }),
    content_type: z.string().meta({ description: 'As the message declares it.' }),
    content_disposition: z.enum(['attachment', 'inline']),
    content_id: z.string().nullable(),
    size: z.int().meta({ description: 'Bytes, decoded.' }),
    download_url: z.url().meta({ description: 'Needs no key, until it expires.' }),
    expires_at: timestamp,
  })
  .meta({ id: 'InboundAttachment' })

const tag = 'Inbound email'
const path = '/inbound/:id/attachments'

export function attachmentsRoute(deps: AttachmentDeps): Route {
  return route({
    method: 'GET',
    path,
    area: 'read',
    tag,
    summary: 'List the attachments of an inbound email, with links to download them',
    description: 'A link is valid for an hour. Empty if the message is no longer stored or cannot be read.',
    answers: { 200: { description: 'The attachments', schema: z.strictObject({ data: z.array(attachment) }) } },
    refusals: ['not_found'],
    run: async (call) => json(200, { data: await listAttachments(deps, call) }),
  })
}

/** The attachments of the inbound email in the path. */
export async function listAttachments(
  deps: AttachmentDeps,
  { principal: { workspaceId }, params: { id = '' }, now }: Call<unknown, unknown>,
): Promise<readonly z.output<typeof attachment>[]> {
  const email = await requireInboundEmail(deps.read, workspaceId, id)
  const { attachments } = await readParts(deps, workspaceId, email.id)
  await requireInboundEmail(deps.read, workspaceId, id) // it may have been deleted in between
  const expiresAt = now + LINK_LIFETIME
  return attachments.map((part, place) => ({
    ...toAttachmentResource(email.id, part, place),
    download_url: buildAttachmentLink(deps, { workspaceId, inboundId: email.id, expiresAt }, place),
    expires_at: iso(expiresAt),
  }))
}

export function toAttachmentResource(
  id: string,
  part: MimeAttachment,
  place: number,
): Omit<z.output<typeof attachment>, 'download_url' | 'expires_at'> {
  return {
    id: `${id}.${place}`,
    filename: attachmentNameOf(part, place),
    content_type: part.content_type,
    content_disposition: part.disposition,
    content_id: part.content_id,
    size: part.size,
  }
}

export function downloadRoute(deps: AttachmentDeps): Route {
  return openRoute<LinkQuery>({
    method: 'GET',
    path: `${path}/:place`,
    area: 'link',
    tag,
    summary: 'Download an attachment',
    description:
      'By a link from the list of attachments, without a key. The answer is to be saved, not displayed: types that a ' +
      'browser would execute are sent as `application/octet-stream`.',
    query: linkQuery,
    params: { place: 'Its place in the message, from 0.' },
    answers: {
      200: {
        description: 'The bytes, with the declared type if no browser would execute it.',
        type: '*/*',
        example: 'The bill, as bytes.',
        headers: ['Content-Disposition'],
      },
    },
    refusals: ['missing_required_field', 'insufficient_permissions', 'not_found'],
    run: (call) => downloadAttachment(deps, call),
  })
}

async function downloadAttachment(
  { read, mime, secret }: AttachmentDeps,
  {
    params: { id = '', place: rawPlace = '' },
    query: { workspace: workspaceId, expires, signature },
    now,
  }: OpenCall<LinkQuery>,
): Promise<Answer> {
  // Our links have no leading zeros.
  const place = /^(?:0|[1-9]\d{0,5})$/.test(rawPlace) ? Number(rawPlace) : -1
  const linked = { workspaceId, inboundId: id, expiresAt: expires }
  verifyLink(secret, partsOfAttachmentLink(linked, place), signature)
  refuseExpired(linked, now)
  const inbound = { workspaceId, id }
  const isThere = async (): Promise<boolean> => (await inboundById(read, inbound)).length > 0
  if (!(await isThere())) throw inboundEmailNotFound(id)
  const result = await mime.readAttachment(workspaceId, () => readInboundRaw(read, inbound), place)
  if (!(await isThere())) throw inboundEmailNotFound(id)
  if (result.kind !== 'attachment') throw notFound('not-found', 'attachment', `${id}.${place}`)
  const { attachment: part, bytes } = result
  return {
    kind: 'bytes',
    type: downloadTypeOf(part.content_type),
    bytes,
    headers: buildDownloadHeaders(attachmentNameOf(part, place)),
  }
}

/** Throws a Refusal `forbidden` for an expired link. */
function refuseExpired({ expiresAt }: LinkedInbound, now: number): void {
  if (now < expiresAt) return
  throw new Refusal('forbidden', 'the link has expired: list the attachments again for a new link')
}

export function messageDownloadRoute(deps: AttachmentDeps): Route {
  return openRoute<LinkQuery>({
    method: 'GET',
    path: '/inbound/:id/raw/download',
    area: 'link',
    tag,
    summary: 'Download the message as it was received',
    description: 'By the `raw_url` of an event `email.received`, without a key.',
    query: linkQuery,
    answers: {
      200: {
        description: 'The message',
        type: 'message/rfc822',
        example: 'Subject: Hello\r\n\r\nHello\r\n',
        headers: ['Content-Disposition'],
      },
    },
    refusals: ['missing_required_field', 'insufficient_permissions', 'not_found'],
    run: async ({ params: { id = '' }, query: { workspace: workspaceId, expires, signature }, now }) => {
      const linked = { workspaceId, inboundId: id, expiresAt: expires }
      verifyLink(deps.secret, partsOfMessageLink(linked), signature)
      refuseExpired(linked, now)
      const inbound = { workspaceId, id }
      if ((await inboundById(deps.read, inbound)).length === 0) throw inboundEmailNotFound(id)
      const bytes = await readInboundRaw(deps.read, inbound)
      if (bytes === undefined) throw notFound('not-found', 'message kept of inbound email', id)
      return { kind: 'bytes', type: 'message/rfc822', bytes, headers: buildDownloadHeaders(`${id}.eml`) }
    },
  })
}
