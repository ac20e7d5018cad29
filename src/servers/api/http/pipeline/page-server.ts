/**
 * Requests for the HTML pages and files under `/ui/`, read within the limits of any other request. The pages
 * themselves are another room's and are passed in.
 *
 * A form must come from a page of ours: it is refused when `Origin`, or `Sec-Fetch-Site` without
 * one, names another site (CSRF). A client that sends neither field is not a browser.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import type { TransferPace } from '../../../../base/platform/connections/transfer-pace.js'
import type { MemoryShares } from '../../../../base/platform/memory/shares.js'
import type { ApiContext } from '../context/api-context.js'
import { pathOf } from '../context/place.js'
import { checkRate } from '../context/request-identity.js'
import { isForeignOrigin, type Peer, requireHttps, schemeOf } from '../context/request-source.js'
import { type ErrorBody, errorHeaders } from '../error-answer.js'
import { chooseEncoding } from '../input/accept-encoding.js'
import { BodyTooSlow, checkLength, HttpClientGone, readBody, sendContinue } from '../input/read-body.js'
import { HTML_TYPE, send } from '../output/send-reply.js'
import { methodNotAllowed } from './route-table.js'

interface PageRequest {
  /** `/ui/docs`. */
  readonly path: string
  readonly query: URLSearchParams
  /** The fields of a submitted form, or null if the page is only read. */
  readonly form: URLSearchParams | null
  readonly remoteAddress: string
  readonly now: number
}

interface Page {
  readonly status: number
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/** A file that is the same for every client, in memory. */
interface PageFile {
  readonly type: string
  readonly bytes: Buffer
  /** The ETag of the plain bytes, without its quotes. */
  readonly tag: string
  readonly headers: Readonly<Record<string, string>>
  /** Null if it is not worth it. */
  readonly compress: (encoding: 'br' | 'gzip') => Promise<Buffer> | null
}

export interface Pages {
  /** Null if the path is no file; `find` may know it. */
  readonly findFile: (path: string) => PageFile | null
  /** Null if there is no such page. `form` says that the page accepts a form. */
  readonly find: (path: string) => { readonly form: boolean } | null
  /** Throws a Refusal. */
  readonly show: (request: PageRequest) => Promise<Page> | Page
  /** The page that reports an error. `request` is null if the request could not be read. */
  readonly showError: (status: number, message: string, request: PageRequest | null) => Promise<Page>
}

/** Bytes. */
const MAX_FORM = 16_384

export class PageServer {
  constructor(
    private readonly pages: Pages,
    /** Memory for forms, by client address. */
    private readonly memory: MemoryShares,
    private readonly pace: TransferPace,
    private readonly clock: Clock,
    /** Logs every error that is not a Refusal. */
    private readonly toErrorBody: (error: unknown, requestId: string) => ErrorBody,
  ) {}

  async serve(ctx: ApiContext): Promise<void> {
    let request: PageRequest | null = null
    try {
      checkRate(ctx.state.identity)
      const file = findFile(ctx, this.pages)
      if (file !== null) return await sendFile(ctx, file)
      request = await this.read(ctx)
      sendPage(ctx, await this.pages.show(request))
    } catch (error) {
      // After a fault of the connection no page can be sent.
      if (error instanceof HttpClientGone || error instanceof BodyTooSlow || ctx.res.headersSent) throw error
      const body = this.toErrorBody(error, ctx.state.identity.requestId)
      const { status, message } = body.error
      sendPage(ctx, await this.pages.showError(status, message, request), errorHeaders(body))
    }
  }

  private async read(ctx: ApiContext): Promise<PageRequest> {
    const { url = '', method = '' } = ctx.req
    const { path } = ctx.state.place
    const entry = this.pages.find(path)
    if (entry === null) throw new Refusal('not-found', 'there is no such page')
    const isRead = method === 'GET' || method === 'HEAD'
    if (!isRead && !(method === 'POST' && entry.form)) {
      throw methodNotAllowed(method, entry.form ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD'])
    }
    requireHttps(ctx.req, ctx.state.peer)
    return {
      path,
      query: new URLSearchParams(url.slice(pathOf(url).length)),
      form: isRead ? null : await this.readForm(ctx),
      remoteAddress: ctx.state.identity.remoteAddress,
      now: this.clock(),
    }
  }

  private async readForm({ req, res, state }: ApiContext): Promise<URLSearchParams> {
    requireOwnPage(req, state.peer)
    if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(req.headers['content-type'] ?? '')) {
      throw new Refusal('unsupported-media-type', 'Content-Type: must be application/x-www-form-urlencoded')
    }
    checkLength(req, MAX_FORM, 'too-large')
    sendContinue(req, res)
    const share = this.memory.forOwner(addressKeyOf(state.identity.remoteAddress))
    const { raw, release } = await readBody(req, MAX_FORM, share, this.pace)
    try {
      if (!isUtf8(raw)) throw new Refusal('invalid-parameter', 'the form is not valid UTF-8')
      return new URLSearchParams(raw.toString())
    } finally {
      release()
    }
  }
}

function sendPage(ctx: ApiContext, { status, html, headers }: Page, more: Readonly<Record<string, string>> = {}): void {
  send(ctx, { status, type: HTML_TYPE, payload: html, headers: { ...headers, ...more } })
}

function findFile({ method, state }: ApiContext, pages: Pages): PageFile | null {
  return method === 'GET' || method === 'HEAD' ? pages.findFile(state.place.path) : null
}

/** Each coding has a different tag: a cache must not take its bytes for those of another coding. */
async function sendFile(ctx: ApiContext, { type, bytes, tag, headers, compress }: PageFile): Promise<void> {
  const { 'accept-encoding': accepted, 'if-none-match': known } = ctx.req.headers
  const encoding = chooseEncoding(Array.isArray(accepted) ? accepted.join(',') : accepted)
  const packed = encoding === null ? null : compress(encoding)
  const coding = packed === null || encoding === null ? null : encoding
  const all = { ...headers, ETag: coding === null ? `"${tag}"` : `"${tag}-${coding}"` }
  if (known?.includes(all.ETag) === true) return send(ctx, { status: 304, type: null, payload: '', headers: all })
  const coded = coding === null ? all : { ...all, 'Content-Encoding': coding }
  send(ctx, { status: 200, type, payload: (await packed) ?? bytes, headers: coded })
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
  if (foreign) throw new Refusal('forbidden', 'the form was sent from a page of another site')
}
