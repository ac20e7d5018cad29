/**
 * Makes the request handler of a route: authenticate, authorize, parse the input, run, answer.
 *
 * The order is fixed: the key is checked before the permission, and the permission before the body,
 * so that an unauthenticated client cannot make us read 22 MB. Both are checked again after the
 * body, which may take minutes to arrive: a key revoked meanwhile must not act. A route without a
 * body schema ignores the body; one without a query schema accepts no query.
 *
 * Signed links, pages and public routes need no key; a route with a key may have a signed link beside it. Their
 * requests count for rate limits all the same; those of tracking routes, and of callbacks with the right token, for a
 * wider one.
 */
import { parse as parseQuery } from 'node:querystring'
import { z } from 'zod'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import type { MemoryShares } from '../../../../base/platform/memory/shares.js'
import { requirePermission } from '../../../../workspaces/accounts/access/permissions.js'
import type { Principal } from '../../../../workspaces/accounts/access/principal.js'
import { type Answer, type FileAnswer, noContent, type StreamAnswer } from '../answer.js'
import { readCallbackFields } from '../input/callback-fields.js'
import { type JsonBytes, readJsonBytes } from '../input/json-body.js'
import { linkQuery } from '../input/link-signature.js'
import { parseInput } from '../input/parse-input.js'
import type { BodyPace } from '../input/read-body.js'
import { readShortForm } from '../input/short-form.js'
import { readUpload } from '../input/upload.js'
import type { CallbackRoute, PageRoute, TrackingRoute } from '../open-route.js'
import { sendFile } from '../output/file-answer.js'
import { hasLargeText, stringifyInSteps } from '../output/json-in-steps.js'
import type { LargeAnswers } from '../output/large-answer.js'
import { HTML_TYPE, JSON_TYPE } from '../output/send-reply.js'
import { type StreamLimits, sendStream } from '../output/stream-answer.js'
import type { Call, KeyRoute, PublicRoute, Route, SignedLinkRoute, UploadRoute } from '../route.js'
import type { ApiContext } from './api-context.js'
import { type LargeBodies, parseBody } from './parse-body.js'
import { checkRate, type IdentityResolver, requirePrincipal } from './request-identity.js'

export interface RunRouteDeps {
  readonly clock: Clock
  readonly identityResolver: Pick<IdentityResolver, 'reauthenticate' | 'countClient'>
  /** Memory for request bodies, by workspace. */
  readonly memory: MemoryShares
  readonly pace: BodyPace
  readonly answers: LargeAnswers
  readonly streamLimits: StreamLimits
  readonly bodies: LargeBodies
}

const emptyQuery = z.strictObject({})
const emptyBytes: JsonBytes = { raw: Buffer.alloc(0), isAbsent: true, release: () => undefined }

type Handler = (ctx: ApiContext) => Promise<void>

export function createHandler(route: Route, deps: RunRouteDeps): Handler {
  if (route.area === 'link') return createSignedLinkHandler(route, deps)
  if (route.area === 'public') return createPublicHandler(route, deps)
  if (route.area === 'page') return createPageHandler(route, deps)
  if (route.area === 'callback') return createCallbackHandler(route, deps)
  if (route.area === 'tracking') return createTrackingHandler(route, deps)
  const byKey = 'fileDescription' in route ? createUploadHandler(route, deps) : createKeyHandler(route, deps)
  if (route.link === undefined) return byKey
  const { run } = route.link
  const byLink: Handler = async (ctx) => {
    const query = parseSignedQuery(linkQuery, ctx)
    await sendAnswer(ctx, await run({ params: paramsOf(ctx), query, now: deps.clock() }), deps)
  }
  return (ctx) => (parseQueryString(ctx.req.url ?? '')?.['signature'] === undefined ? byKey(ctx) : byLink(ctx))
}

function createSignedLinkHandler({ run, query }: SignedLinkRoute, deps: RunRouteDeps): Handler {
  return async (ctx) => {
    const parsed = parseSignedQuery(query, ctx)
    await sendAnswer(ctx, await run({ params: paramsOf(ctx), query: parsed, now: deps.clock() }), deps)
  }
}

function parseSignedQuery<Query>(schema: z.ZodType<Query>, ctx: ApiContext): Query {
  checkRate(ctx.state.identity)
  return parseInput(schema, parseQueryString(ctx.req.url ?? '') ?? {})
}

function createTrackingHandler({ run }: TrackingRoute, deps: RunRouteDeps): Handler {
  return async (ctx) => {
    const { url = '', method } = ctx.req
    const start = url.indexOf('?')
    const answer = await run({
      params: paramsOf(ctx),
      query: new URLSearchParams(start === -1 ? '' : url.slice(start)),
      isHead: method === 'HEAD',
      header: (name) => headerOf(ctx, name),
      remoteAddress: ctx.state.identity.remoteAddress,
      now: deps.clock(),
    })
    await sendAnswer(ctx, answer, deps)
  }
}

function createPageHandler({ run, method }: PageRoute, deps: RunRouteDeps): Handler {
  const { clock, memory, pace } = deps
  return async (ctx) => {
    const { identity } = ctx.state
    checkRate(identity)
    const share = memory.forOwner(addressKeyOf(identity.remoteAddress))
    const form = method === 'POST' ? await readShortForm(ctx.req, ctx.res, share, pace) : new URLSearchParams()
    await sendAnswer(ctx, await run({ params: paramsOf(ctx), form, now: clock() }), deps)
  }
}

/** A HEAD reports nothing. */
function createCallbackHandler({ run, isAuthorized }: CallbackRoute, deps: RunRouteDeps): Handler {
  const { identityResolver, memory, pace } = deps
  return async (ctx) => {
    const { identity } = ctx.state
    const params = paramsOf(ctx)
    if (!isAuthorized(params)) {
      ctx.state.identity = { ...identity, rate: identityResolver.countClient(identity.remoteAddress) }
      checkRate(ctx.state.identity)
      throw new Refusal('not-found', 'this URL is not one of ours, or is incomplete')
    }
    if (ctx.method === 'HEAD') return sendAnswer(ctx, noContent, deps)
    const share = memory.forOwner(addressKeyOf(identity.remoteAddress))
    const fields = await readCallbackFields(ctx.req, ctx.res, share, pace)
    await sendAnswer(ctx, await run({ params, fields }), deps)
  }
}

/** Bytes of the body of a public route, which is a secret and a few short fields. */
const MAX_PUBLIC_BODY = 16_384

function createPublicHandler({ run, body, path }: PublicRoute, deps: RunRouteDeps): Handler {
  const { clock, memory, pace } = deps
  return async (ctx) => {
    const { identity } = ctx.state
    checkRate(identity)
    parseRouteQuery(null, parseQueryString(ctx.req.url ?? ''))
    const share = memory.forOwner(addressKeyOf(identity.remoteAddress))
    const received = await readJsonBytes(ctx.req, ctx.res, share, pace, MAX_PUBLIC_BODY)
    try {
      const { remoteAddress } = identity
      const { value } = await parseBody(received, bodyUseOf(ctx, body, path), deps.bodies)
      await sendAnswer(ctx, await run({ body: value, remoteAddress, now: clock() }), deps)
    } finally {
      received.release()
    }
  }
}

function createKeyHandler(route: KeyRoute, deps: RunRouteDeps): Handler {
  const { clock, memory, pace, identityResolver } = deps
  const { run, query, body, maxBody, path } = route
  return async (ctx) => {
    const { identity } = ctx.state
    const atFirst = requirePrincipal(identity)
    authorizeRoute(route, atFirst)
    const rawQuery = parseQueryString(ctx.req.url ?? '')
    const share = memory.forOwner(atFirst.workspaceId)
    const received = body === null ? emptyBytes : await readJsonBytes(ctx.req, ctx.res, share, pace, maxBody)
    const { release } = received
    try {
      const parsedQuery = parseRouteQuery(query, rawQuery)
      const input = body === null ? noInput : await parseBody(received, bodyUseOf(ctx, body, path), deps.bodies)
      const principal = body === null ? atFirst : identityResolver.reauthenticate(ctx.req, identity.remoteAddress)
      const call: Call = {
        principal,
        ownKey: authorizeRoute(route, principal),
        params: paramsOf(ctx),
        query: parsedQuery,
        body: input.value,
        fingerprint: input.fingerprint,
        header: (name) => headerOf(ctx, name),
        remoteAddress: identity.remoteAddress,
        now: clock(),
      }
      await sendAnswer(ctx, await run(call), deps)
    } finally {
      release()
    }
  }
}

function createUploadHandler(route: UploadRoute, deps: RunRouteDeps): Handler {
  const { clock, pace, identityResolver } = deps
  return async (ctx) => {
    const { identity } = ctx.state
    const principal = requirePrincipal(identity)
    requirePermission(principal, route.area)
    const query = parseRouteQuery(route.query, parseQueryString(ctx.req.url ?? ''))
    const reauthorize = (): void => {
      requirePermission(identityResolver.reauthenticate(ctx.req, identity.remoteAddress), route.area)
    }
    const upload = { limit: route.limit, pace, reauthorize }
    const answer = await readUpload(ctx.req, ctx.res, upload, (file) =>
      route.run({ principal, params: paramsOf(ctx), query, file, now: clock() }),
    )
    await sendAnswer(ctx, answer, deps)
  }
}

const noInput = { value: undefined, fingerprint: () => '' }

export function bodyUseOf({ req }: ApiContext, schema: z.ZodType, label: string): Parameters<typeof parseBody>[1] {
  return { schema, label, needsFingerprint: req.headers['idempotency-key'] !== undefined }
}

/** The key to whose own sends the caller is restricted; null: unrestricted. Throws a Refusal `forbidden`. */
function authorizeRoute({ area, own }: KeyRoute, principal: Principal): string | null {
  return requirePermission(principal, area, own === true) === 'yes' ? null : principal.keyId
}

export function paramsOf(ctx: ApiContext): Call['params'] {
  return ctx['params']
}

/** Throws a Refusal for parameters that the route does not have. */
export function parseRouteQuery(query: z.ZodType | null, raw: Readonly<Record<string, unknown>> | null): unknown {
  return raw === null && query === null ? undefined : parseInput(query ?? emptyQuery, raw ?? {})
}

/** The parameters as text; null: there is no query. Throws a Refusal for a parameter that is repeated. */
export function parseQueryString(url: string): Readonly<Record<string, unknown>> | null {
  const start = url.indexOf('?')
  if (start === -1) return null
  const query = parseQuery(url.slice(start + 1), '&', '=', { maxKeys: 0 })
  const errors = Object.keys(query)
    .filter((name) => Array.isArray(query[name]))
    .map((field) => ({ field, message: 'is given more than once', value: null }))
  if (errors.length > 0) throw new Refusal('invalid-parameter', 'a query parameter is given more than once', { errors })
  return query
}

/** Undefined: the request has no such field. */
function headerOf({ req }: ApiContext, name: string): string | undefined {
  const value = req.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

export async function sendAnswer(
  ctx: ApiContext,
  answer: Answer,
  { answers, streamLimits }: RunRouteDeps,
): Promise<void> {
  if ('emails' in answer && answer.emails !== undefined) ctx.state.emails = answer.emails
  if (answer.kind === 'stream') return sendStream(ctx, answer, streamLimits)
  if (answer.kind === 'file') return sendFile(ctx, answer, streamLimits)
  if (answer.kind === 'json' && hasLargeText(answer.body)) {
    const payload = await stringifyInSteps(answer.body)
    return answers.send(ctx, { status: answer.status, type: JSON_TYPE, payload })
  }
  return answers.send(ctx, replyOf(answer))
}

function replyOf(answer: Exclude<Answer, StreamAnswer | FileAnswer>): Parameters<LargeAnswers['send']>[1] {
  switch (answer.kind) {
    case 'json':
      return {
        ...{ status: answer.status, type: JSON_TYPE, payload: JSON.stringify(answer.body) },
        headers: answer.headers ?? {},
      }
    case 'text':
      return { status: answer.status, type: JSON_TYPE, payload: answer.json }
    case 'bytes':
      return { status: 200, type: answer.type, payload: answer.bytes, headers: answer.headers ?? {} }
    case 'redirect':
      return {
        ...{ status: 302, type: null, payload: '' },
        headers: { Location: answer.location, 'Content-Length': '0', ...answer.headers },
      }
    case 'page':
      return { status: answer.status, type: HTML_TYPE, payload: answer.html, headers: answer.headers }
    case 'nothing':
      return { status: 204, type: null, payload: '', headers: answer.headers ?? {} }
  }
}
