/**
 * GET /v1/inbound/:id/attachments, and the signed links in its answer, which allow a download for an
 * hour without a key.
 *
 * An attachment is identified by its index in the message and read from the message on request, so a
 * link ends with its email. The answer's header makes browsers save the file and never display it
 * under our origin, since it is untrusted input.
 */
import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { inboundById, readInboundRaw } from '../../../records/messages/inbound/inbound-email.js'
import type { MimeAttachment } from '../../../records/messages/mime/mime-parts-protocol.js'
import { type Answer, json } from '../http/answer.js'
import { formatLinkQuery, type LinkQuery, linkQuery, signLink, verifyLink } from '../http/input/link-signature.js'
import { notFound, timestamp } from '../http/input/values.js'
import { buildDownloadHeaders } from '../http/output/download-headers.js'
import { type OpenCall, openRoute, type Route, route } from '../http/route/route.js'
import { attachmentNameOf, downloadTypeOf } from './attachment-file.js'
import { type InboundDeps, inboundEmailNotFound, readParts, requireInboundEmail } from './show.js'

interface AttachmentDeps extends InboundDeps {
  /** The key that signs links. */
  readonly secret: KeyObject
  /** It has no trailing slash. */
  readonly publicUrl: string
}

const attachment = z
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
    run: async ({ principal: { workspaceId }, params: { id = '' }, now }) => {
      const email = requireInboundEmail(deps.read, workspaceId, id)
      const { attachments } = await readParts(deps, workspaceId, email.id)
      requireInboundEmail(deps.read, workspaceId, id) // it may have been deleted in between
      const expiresAt = now + LINK_LIFETIME
      const link = (place: number): string =>
        buildAttachmentLink(deps.secret, deps.publicUrl, { workspaceId, inboundId: email.id, place, expiresAt })
      const data = attachments.map((part, place) => ({
        ...toAttachmentResource(email.id, part, place),
        download_url: link(place),
        expires_at: iso(expiresAt),
      }))
      return json(200, { data })
    },
  })
}

function toAttachmentResource(
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
  verifyAttachmentLink(secret, { workspaceId, inboundId: id, place, expiresAt: expires }, signature, now)
  const inbound = { workspaceId, id }
  const isThere = (): boolean => inboundById(read, inbound).length > 0
  if (!isThere()) throw inboundEmailNotFound(id)
  const result = await mime.readAttachment(workspaceId, () => readInboundRaw(read, inbound), place)
  if (!isThere()) throw inboundEmailNotFound(id)
  if (result.kind !== 'attachment') throw notFound('not-found', 'attachment', `${id}.${place}`)
  const { attachment: part, bytes } = result
  return {
    kind: 'bytes',
    type: downloadTypeOf(part.content_type),
    bytes,
    headers: buildDownloadHeaders(attachmentNameOf(part, place)),
  }
}

interface LinkedAttachment {
  readonly workspaceId: string
  readonly inboundId: string
  /** Index among the attachments of the email, from 0. */
  readonly place: number
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

const LINK_LIFETIME = 3_600_000

/** `publicUrl` has no trailing slash. */
function buildAttachmentLink(secret: KeyObject, publicUrl: string, linked: LinkedAttachment): string {
  const { workspaceId, inboundId, place, expiresAt } = linked
  const query = formatLinkQuery(workspaceId, expiresAt, signLink(secret, partsOf(linked)))
  return `${publicUrl}/v1/inbound/${inboundId}/attachments/${place}?${query}`
}

/** Throws a Refusal `forbidden` for a wrong signature or an expired link. */
function verifyAttachmentLink(secret: KeyObject, linked: LinkedAttachment, signature: string, now: number): void {
  verifyLink(secret, partsOf(linked), signature)
  if (now >= linked.expiresAt) {
    throw new Refusal('forbidden', 'the link has expired: list the attachments again for a new link')
  }
}

function partsOf({ workspaceId, inboundId, place, expiresAt }: LinkedAttachment): Parameters<typeof signLink>[1] {
  return ['inbound-attachment', workspaceId, inboundId, place, expiresAt]
}
