/**
 * Serves the HTML of messages as documents for a sandboxed frame: of sent and received emails, and of previews.
 *
 * Anyone can write the HTML of a message. Its document runs no script, has no origin, loads nothing from
 * anywhere, submits no form, and may be framed by our own pages only. Inline styles are allowed in these documents and
 * nowhere else: without a script and a network they can change nothing but the look of the message.
 */
import { z } from 'zod'
import { randomSecret } from '../../../base/platform/ids.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { findTrackedHtml } from '../../../outbound/tracking/links.js'
import { readLargeRaw } from '../../../records/messages/email/raw-message.js'
import { requireVisibleEmail } from '../../../records/messages/email-resource.js'
import { readInboundRaw } from '../../../records/messages/inbound/inbound-email.js'
import type { MessageReader, RawSource } from '../../../records/messages/mime/mime-parts.js'
import { requirePermission } from '../../../workspaces/accounts/access/permissions.js'
import { findSessionPrincipal } from '../../../workspaces/accounts/sessions/session-principal.js'
import { type Answer, json } from '../http/answer.js'
import { notFound } from '../http/input/values.js'
import { HTML_TYPE } from '../http/output/send-reply.js'
import { type Route, sessionRoute } from '../http/route/route.js'
import { requireInboundEmail } from '../inbound/show.js'
import { type DisplayFacts, messageRenderer, renderNote } from './message-html.js'

/** Characters. */
const MAX_PREVIEW = 1_000_000
/** Bytes of all previews. */
const MAX_BYTES = 32 * 1_048_576
const LIFETIME = 600_000

interface FrameDeps {
  readonly read: Read
  readonly mime: MessageReader
}

/** `images` are the sources of images. */
const policyOf = (images: string): string =>
  `sandbox; default-src 'none'; img-src ${images}; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; ` +
  "frame-ancestors 'self'"

const frameHeaders = {
  'Content-Security-Policy': policyOf('data:'),
  'X-Frame-Options': 'SAMEORIGIN',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-DNS-Prefetch-Control': 'off',
}

const tag = 'Message views'
const answers = { 200: { description: 'The HTML, as a document that can do nothing.', type: 'text/html' } }
const params = { workspaceId: 'Id of the workspace.', id: 'Id of the message.' }

const textRule = `allowed: 1 to ${MAX_PREVIEW} characters`
export const framePreviewRequest = z
  .strictObject({ html: z.string(textRule).min(1, textRule).max(MAX_PREVIEW, textRule) })
  .meta({ id: 'PreviewRequest', example: { html: '<p>Hello</p>' } })
const previewId = z.strictObject({ id: z.string().meta({ example: 'n4bQgYhMfWWaL-qgxVrQFa' }) }).meta({ id: 'Preview' })

const previewQuery = z.strictObject({
  scheme: z.enum(['light', 'dark']).default('light').meta({ description: 'Of the mail program.' }),
  images: z
    .enum(['blocked', 'shown'])
    .default('blocked')
    .meta({ description: 'Whether the browser loads the images from where they are.' }),
})

/** Bytes of a preview as JSON. */
const MAX_BODY = 4 * 1_048_576

export function frameRoutes(deps: FrameDeps): readonly Route[] {
  const previews = new Previews()
  return [emailRoute(deps), inboundRoute(deps), addPreviewRoute(previews), previewRoute(deps, previews)]
}

function emailRoute({ read, mime }: FrameDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/frames/:workspaceId/emails/:id',
    area: 'session',
    tag,
    summary: 'The HTML of a sent email, for a frame',
    params,
    answers,
    refusals: ['email_not_found'],
    run: async ({ session, params: { workspaceId = '', id = '' } }) => {
      await requireReader(read, session.userId, workspaceId)
      await requireVisibleEmail(read, { workspaceId, ownKey: null }, id)
      const email = { workspaceId, emailId: id }
      const tracked = await findTrackedHtml(read, email)
      return answerDocument(mime, workspaceId, () => readLargeRaw(read, email), { kind: 'message', tracked })
    },
  })
}

function inboundRoute({ read, mime }: FrameDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/frames/:workspaceId/inbound/:id',
    area: 'session',
    tag,
    summary: 'The HTML of an inbound email, for a frame',
    params,
    answers,
    refusals: ['not_found'],
    run: async ({ session, params: { workspaceId = '', id = '' } }) => {
      await requireReader(read, session.userId, workspaceId)
      await requireInboundEmail(read, workspaceId, id)
      const raw = (): Promise<Buffer | undefined> => readInboundRaw(read, { workspaceId, id })
      return answerDocument(mime, workspaceId, raw, { kind: 'message', tracked: null })
    },
  })
}

function addPreviewRoute(previews: Previews): Route {
  return sessionRoute({
    method: 'POST',
    path: '/previews',
    area: 'session',
    tag,
    summary: 'Keep HTML for a frame, for ten minutes',
    description: 'In memory, for this session.',
    body: framePreviewRequest,
    maxBody: MAX_BODY,
    answers: { 201: { description: 'Its id.', schema: previewId } },
    refusals: [],
    run: ({ session, body, now }) => json(201, { id: previews.add(session.id, body.html, now) }),
  })
}

function previewRoute({ mime }: FrameDeps, previews: Previews): Route {
  return sessionRoute({
    method: 'GET',
    path: '/frames/previews/:id',
    area: 'session',
    tag,
    summary: 'HTML that was kept, for a frame',
    params: { id: 'Id of the preview.' },
    query: previewQuery,
    answers,
    refusals: ['not_found'],
    run: async ({ session, params: { id = '' }, query: { scheme, images }, now }) => {
      const found = previews.find(session.id, id, now)
      if (found === null) throw notFound('not-found', 'preview', id)
      const answer = await answerDocument(mime, session.userId, () => found, { kind: 'html', scheme })
      if (images === 'blocked') return answer
      const policy = policyOf('data: https: http:')
      return { ...answer, headers: { ...frameHeaders, 'Content-Security-Policy': policy } }
    },
  })
}

/** Throws a Refusal `forbidden`. */
async function requireReader(read: Read, userId: string, workspaceId: string): Promise<void> {
  requirePermission(await findSessionPrincipal(read, userId, workspaceId), 'read')
}

type FrameAnswer = Extract<Answer, { kind: 'bytes' }>

/** It takes the turn of `owner`. */
async function answerDocument(
  mime: FrameDeps['mime'],
  owner: string,
  source: RawSource,
  facts: DisplayFacts,
): Promise<FrameAnswer> {
  const result = await mime.render(owner, source, messageRenderer, facts)
  const bytes = result.kind === 'rendered' ? result.bytes : Buffer.from(renderNote(UNREADABLE))
  return { kind: 'bytes', type: HTML_TYPE, bytes, headers: frameHeaders }
}

const UNREADABLE = 'This message is no longer stored, or it cannot be read.'

interface Preview {
  /** UTF-8. */
  readonly html: Buffer
  readonly sessionId: string
  readonly expiresAt: number
}

/**
 * Keeps HTML that a page wants to show in a frame: a template or a draft that is not stored yet.
 *
 * It stays in memory for ten minutes, for the session that sent it. The least recently used is removed first.
 */
class Previews {
  private readonly previews = createLruCache<Preview>({ max: MAX_BYTES, weightOf: ({ html }) => html.length + 200 })

  /** Returns the id. */
  add(sessionId: string, html: string, now: number): string {
    const id = randomSecret(16).toString('base64url')
    this.previews.set(id, { html: Buffer.from(html), sessionId, expiresAt: now + LIFETIME })
    return id
  }

  /** Null if there is none of this session. */
  find(sessionId: string, id: string, now: number): Buffer | null {
    const found = this.previews.get(id)
    return found?.sessionId === sessionId && found.expiresAt > now ? found.html : null
  }
}
