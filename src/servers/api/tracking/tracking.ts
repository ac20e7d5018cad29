/**
 * GET /v1/track/open/:emailId and GET /v1/track/click/:trackingId: the pixel and the links of tracked emails.
 *
 * Both answer before anything is recorded, and whatever is wrong with a request, as long as it can be answered at all:
 * a pixel is always the same image. A HEAD is answered and counts for nothing.
 */
import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { boundAgent, boundReferer, type Hit, isEmailId } from '../../../outbound/tracking/hit.js'
import { resolveClick } from '../../../outbound/tracking/resolve-click.js'
import type { Answer } from '../http/answer.js'
import { type OpenCall, openRoute, type Route } from '../http/route/route.js'

interface TrackingDeps {
  readonly read: Read
  /** The key that signs the tokens of links in broadcasts. */
  readonly secret: KeyObject
  /** Never waits. */
  readonly record: (hit: Hit) => void
  /** The page for a click on an unknown link. */
  readonly unknownLinkPage: { readonly html: string; readonly headers: Readonly<Record<string, string>> }
}

const tag = 'Tracking'

/** A GIF89a of one transparent pixel, 43 bytes. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')

const pixel: Answer = {
  kind: 'bytes',
  type: 'image/gif',
  bytes: PIXEL,
  headers: {
    'Cache-Control': 'no-store, no-cache, must-revalidate, proxy-revalidate',
    Pragma: 'no-cache',
    Expires: '0',
  },
}

/** The target does not learn the URL of the link, and no search engine stores it. */
const redirectHeaders = { 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex, nofollow' }

const bid = z.string().optional().meta({ description: 'Id of the broadcast.' })

export function trackingRoutes(deps: TrackingDeps): readonly Route[] {
  return [pixelRoute(deps), clickRoute(deps)]
}

function pixelRoute({ record }: TrackingDeps): Route {
  return openRoute({
    method: 'GET',
    area: 'tracking',
    path: '/track/open/:emailId',
    tag,
    summary: 'Load the pixel of an email',
    description:
      'Needs no key, and is not counted by rate limits. Records an open, unless the id is unknown or the email has no ' +
      'open tracking; the answer is always the same. Other parameters are ignored.',
    params: { emailId: 'Id of the email.' },
    query: z.object({ bid }),
    answers: {
      200: { description: 'A transparent pixel', type: 'image/gif', example: 'One transparent pixel, as bytes.' },
    },
    refusals: [],
    run: (call) => {
      const { emailId = '' } = call.params
      if (!call.isHead && isEmailId(emailId)) record({ kind: 'open', emailId, ...requesterOf(call) })
      return pixel
    },
  })
}

function clickRoute(deps: TrackingDeps): Route {
  return openRoute({
    method: 'GET',
    area: 'tracking',
    path: '/track/click/:trackingId',
    tag,
    summary: 'Follow a link of an email',
    description:
      'Needs no key, and is not counted by rate limits. Records a click and redirects to the URL that the link had in ' +
      'the message. Links of broadcasts have the id of the email, `url` and `bid`. Other parameters are ignored.',
    params: { trackingId: 'Id of the link, or, with `url`, of the email.' },
    query: z.object({
      url: z
        .string()
        .optional()
        .meta({ description: 'Followed only if it is the URL of a link of the same email, or of its broadcast.' }),
      tid: z
        .string()
        .optional()
        .meta({ description: 'In a broadcast the token of a URL with variables; elsewhere it changes nothing.' }),
      bid,
    }),
    answers: {
      302: { description: 'The link is known', headers: ['Location'] },
      404: { description: 'The link is unknown: a page that says so', type: 'text/html', example: '<!doctype html>' },
    },
    refusals: [],
    run: (call) => followLink(deps, call),
  })
}

async function followLink({ read, secret, record, unknownLinkPage }: TrackingDeps, call: OpenCall): Promise<Answer> {
  const { trackingId = '' } = call.params
  // The query stays as it came: mail clients and scanners add parameters.
  const query = call.search()
  const [url, token, broadcastId] = [query.get('url'), query.get('tid'), query.get('bid')]
  const target = await resolveClick({ read, secret }, { trackingId, url, token, broadcastId })
  if (target === null) return { kind: 'page', status: 404, ...unknownLinkPage }
  const { linkId, emailId, location } = target
  if (!call.isHead) {
    record({
      kind: 'click',
      emailId,
      linkId,
      url: target.url,
      referer: boundReferer(call.header('referer')),
      ...requesterOf(call),
    })
  }
  return { kind: 'redirect', location, headers: redirectHeaders }
}

function requesterOf({ header, remoteAddress, now }: OpenCall): Pick<Hit, 'userAgent' | 'address' | 'at'> {
  return { userAgent: boundAgent(header('user-agent')), address: remoteAddress, at: now }
}
