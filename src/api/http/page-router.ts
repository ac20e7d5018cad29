/**
 * Pages for people, under `/ui/`: what the pages are is another room's business and is handed
 * in; here a request is read for them, within the same limits as any other.
 *
 * A form comes from a page of ours: a browser that says otherwise (`Origin`, or
 * `Sec-Fetch-Site` where there is none) is refused. Whoever sends neither is no browser, and
 * has no victim's browser to send it from.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { addressKeyOf } from '../../accounts/client-address.js'
import { Refusal } from '../../mail/refusal.js'
import type { Clock } from '../../platform/clock.js'
import type { TransferPace } from '../../platform/connections/transfer-pace.js'
import type { MemoryShares } from '../../platform/memory/shares.js'
import { send } from '../emails/send.js'
import { findClientScheme, type Peer } from './client-address.js'
import { BodyTooSlow, ClientGone, checkLength, readBody, sendContinue } from './input/read-body.js'
import { isForeignOrigin } from './origin.js'
import { type ErrorBody, errorHeaders } from './output/error-answer.js'
import { checkRate } from './request-identity.js'
import { methodNotAllowed } from './routing.js'
import type { ApiContext } from './server/api-state.js'

export interface PageRequest {
  /** `/ui/docs`. */
  readonly path: string
  readonly query: URLSearchParams
  /** What the form holds; null: the page is only looked at. */
  readonly form: URLSearchParams | null
  readonly remoteAddress: string
  readonly now: number
}

export interface Page {
  readonly status: number
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Pages {
  /** Null: there is no such page. `form`: it takes one. */
  readonly find: (path: string) => { readonly form: boolean } | null
  /** Throws a Refusal. */
  readonly show: (request: PageRequest) => Promise<Page> | Page
  /** Instead of a page that cannot be shown. `request` null: nothing of it was read. */
  readonly showError: (status: number, message: string, request: PageRequest | null) => Page
}

export interface PageRouterDeps {
  readonly clock: Clock
  readonly memory: MemoryShares
  readonly pace: TransferPace
  readonly peerOf: (request: IncomingMessage) => Peer
  /** What is no Refusal is logged. */
  readonly errorBodyOf: (error: unknown, requestId: string) => ErrorBody
}

/**
 * Is a page asked for, whether there is one or not? At `/` by a browser alone, which says that it
 * takes HTML: a program is told as everywhere that there is no such resource.
 */
export function isPageRequest({ url = '', method, headers }: IncomingMessage): boolean {
  if (/^\/ui(?:[/?]|$)/.test(url)) return true
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && /^\/(?:\?|$)/.test(url) && /\btext\/html\b/i.test(headers.accept ?? '')
}

const HTML = 'text/html; charset=utf-8'
const MAX_FORM = 16_384

export function createPageRouter(pages: Pages, deps: PageRouterDeps): (ctx: ApiContext) => Promise<void> {
  return async (ctx) => {
    let request: PageRequest | null = null
    try {
      checkRate(ctx.state.identity)
      request = await readPageRequest(ctx, pages, deps)
      sendPage(ctx, await pages.show(request))
    } catch (error) {
      // Nobody reads a page of what went wrong with the connection.
      if (error instanceof ClientGone || error instanceof BodyTooSlow || ctx.res.headersSent) throw error
      const body = deps.errorBodyOf(error, ctx.state.identity.requestId)
      const { status, message } = body.error
      sendPage(ctx, pages.showError(status, message, request), errorHeaders(body))
    }
  }
}

function sendPage(ctx: ApiContext, { status, html, headers }: Page, more: Readonly<Record<string, string>> = {}): void {
  send(ctx, { status, type: HTML, payload: html, headers: { ...headers, ...more } })
}

async function readPageRequest(ctx: ApiContext, pages: Pages, deps: PageRouterDeps): Promise<PageRequest> {
  const { url = '', method = '' } = ctx.req
  const end = url.indexOf('?')
  const path = end === -1 ? url : url.slice(0, end)
  const found = pages.find(path)
  if (found === null) throw new Refusal('not-found', 'there is no such page')
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && !(method === 'POST' && found.form)) {
    throw methodNotAllowed(method, found.form ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD'])
  }
  requireHttps(ctx.req, deps.peerOf(ctx.req))
  const { remoteAddress } = ctx.state.identity
  return {
    path,
    query: new URLSearchParams(end === -1 ? '' : url.slice(end)),
    form: isRead ? null : await readForm(ctx, deps),
    remoteAddress,
    now: deps.clock(),
  }
}

async function readForm({ req, res, state }: ApiContext, deps: PageRouterDeps): Promise<URLSearchParams> {
  requireOwnPage(req, deps.peerOf(req))
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(req.headers['content-type'] ?? '')) {
    throw new Refusal('unsupported-media-type', 'this page takes a form')
  }
  checkLength(req, MAX_FORM, 'too-large')
  sendContinue(req, res)
  const share = deps.memory.forOwner(addressKeyOf(state.identity.remoteAddress))
  const { raw, release } = await readBody(req, MAX_FORM, share, deps.pace)
  try {
    if (!isUtf8(raw)) throw new Refusal('invalid-parameter', 'the form is not UTF-8')
    return new URLSearchParams(raw.toString())
  } finally {
    release()
  }
}

function schemeOf({ headers }: IncomingMessage, peer: Peer): ReturnType<typeof findClientScheme> {
  const said = headers['x-forwarded-proto']
  return findClientScheme(peer, Array.isArray(said) ? said.join(',') : said)
}

/** A proxy says how it was spoken to: nobody's password goes over plain HTTP. */
function requireHttps(request: IncomingMessage, peer: Peer): void {
  if (!peer.trusted || schemeOf(request, peer) !== 'http') return
  throw new Refusal('invalid-parameter', 'pages are served over HTTPS only')
}

function requireOwnPage(request: IncomingMessage, peer: Peer): void {
  const { headers } = request
  const { origin, host } = headers
  const scheme = schemeOf(request, peer)
  const site = headers['sec-fetch-site']
  const foreign =
    origin === undefined
      ? site !== undefined && site !== 'same-origin' && site !== 'none'
      : isForeignOrigin(origin, host, scheme)
  if (foreign) throw new Refusal('forbidden', 'the form was sent from a page of somebody else')
}
