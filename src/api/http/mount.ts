/**
 * From a route to a request handler: who asks, may they, what do they say, run, answer.
 *
 * The order is fixed: the key before the permission, the permission before the body, so
 * that a stranger cannot make us read 22 MB. Both are asked for once more when the body is
 * there, because it may have taken minutes, and a key that was revoked meanwhile must not
 * act. A route without a body schema does not look at
 * a body; one without a query schema takes no query.
 *
 * Who follows a link that we signed needs no key, nor does who brings a secret of ours in a short
 * body. The visit was counted all the same: for the key's workspace where there is one, else for the
 * address.
 */
import { parse as parseQuery } from 'node:querystring'
import { z } from 'zod'
import { addressKeyOf } from '../../accounts/client-address.js'
import { requirePermission } from '../../accounts/permissions.js'
import type { Principal } from '../../accounts/principal.js'
import { Refusal } from '../../mail/refusal.js'
import type { Clock } from '../../platform/clock.js'
import type { MemoryShares } from '../../platform/memory/shares.js'
import { JSON_TYPE, type Reply } from '../emails/send.js'
import { parseInput } from './input/input.js'
import { type JsonBody, readJson } from './input/json-body.js'
import type { BodyPace } from './input/read-body.js'
import { readUpload } from './input/upload.js'
import { hasLargeText, stringifyInSteps } from './output/json-in-steps.js'
import type { LargeAnswers } from './output/large-answer.js'
import { type StreamLimits, sendStream } from './output/stream-answer.js'
import { checkRate, type IdentityResolver, requirePrincipal } from './request-identity.js'
import type { Answer, Call, KeyRoute, LinkRoute, OpenRoute, Route, StreamAnswer, UploadRoute } from './route.js'
import type { ApiContext } from './server/api-state.js'

export interface MountDeps {
  readonly clock: Clock
  readonly identityResolver: Pick<IdentityResolver, 'reauthenticate'>
  /** Of bodies that requests have us hold, by workspace. */
  readonly memory: MemoryShares
  readonly pace: BodyPace
  readonly answers: LargeAnswers
  readonly streamLimits: StreamLimits
}

const emptyQuery = z.strictObject({})
const emptyBody: JsonBody = { raw: Buffer.alloc(0), value: undefined, release: () => undefined }

type Handler = (ctx: ApiContext) => Promise<void>

export function createHandler(route: Route, deps: MountDeps): Handler {
  if (route.area === 'link') return createLinkHandler(route, deps)
  if (route.area === 'open') return createOpenHandler(route, deps)
  return 'fileDescription' in route ? createUploadHandler(route, deps) : createKeyHandler(route, deps)
}

function createLinkHandler({ run, query }: LinkRoute, deps: MountDeps): Handler {
  return async (ctx) => {
    checkRate(ctx.state.identity)
    const asked = parseInput(query, parseQueryString(ctx.req.url ?? '') ?? {})
    await sendAnswer(ctx, await run({ params: paramsOf(ctx), query: asked, now: deps.clock() }), deps)
  }
}

/** Of a stranger: a secret and a few words. */
const MAX_OPEN_BODY = 16_384

function createOpenHandler({ run, body }: OpenRoute, deps: MountDeps): Handler {
  const { clock, memory, pace } = deps
  return async (ctx) => {
    const { identity } = ctx.state
    checkRate(identity)
    parseRouteQuery(null, parseQueryString(ctx.req.url ?? ''))
    const share = memory.forOwner(addressKeyOf(identity.remoteAddress))
    const given = await readJson(ctx.req, ctx.res, share, pace, MAX_OPEN_BODY)
    try {
      const { remoteAddress } = identity
      await sendAnswer(ctx, await run({ body: parseInput(body, given.value), remoteAddress, now: clock() }), deps)
    } finally {
      given.release()
    }
  }
}

function createKeyHandler(route: KeyRoute, deps: MountDeps): Handler {
  const { clock, memory, pace, identityResolver } = deps
  const { run, query, body } = route
  return async (ctx) => {
    const { identity } = ctx.state
    const atFirst = requirePrincipal(identity)
    authorizeRoute(route, atFirst)
    const asked = parseQueryString(ctx.req.url ?? '')
    const given =
      body === null ? emptyBody : await readJson(ctx.req, ctx.res, memory.forOwner(atFirst.workspaceId), pace)
    try {
      const principal = body === null ? atFirst : identityResolver.reauthenticate(ctx.req, identity.remoteAddress)
      const call: Call = {
        principal,
        ownKey: authorizeRoute(route, principal),
        params: paramsOf(ctx),
        query: parseRouteQuery(query, asked),
        body: body === null ? undefined : parseInput(body, given.value),
        rawBody: given.raw,
        header: (name) => headerOf(ctx, name),
        remoteAddress: identity.remoteAddress,
        now: clock(),
      }
      await sendAnswer(ctx, await run(call), deps)
    } finally {
      given.release()
    }
  }
}

function createUploadHandler(route: UploadRoute, deps: MountDeps): Handler {
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

/** The key whose own sends the caller is restricted to, or null. Throws a Refusal `forbidden`. */
function authorizeRoute({ area, own }: KeyRoute, principal: Principal): string | null {
  return requirePermission(principal, area, own === true) === 'yes' ? null : principal.keyId
}

function paramsOf(ctx: ApiContext): Call['params'] {
  return ctx['params']
}

/** Throws a Refusal for parameters that the route does not know. */
function parseRouteQuery(query: z.ZodType | null, asked: Readonly<Record<string, unknown>> | null): unknown {
  return asked === null && query === null ? undefined : parseInput(query ?? emptyQuery, asked ?? {})
}

/** The parameters, each of them text; null where there are none. Throws a Refusal for one that comes twice. */
function parseQueryString(url: string): Readonly<Record<string, unknown>> | null {
  const start = url.indexOf('?')
  if (start === -1) return null
  const query = parseQuery(url.slice(start + 1), '&', '=', { maxKeys: 0 })
  const errors = Object.keys(query)
    .filter((name) => Array.isArray(query[name]))
    .map((field) => ({ field, message: 'is given more than once', value: null }))
  if (errors.length > 0) throw new Refusal('invalid-parameter', 'a query parameter is given more than once', { errors })
  return query
}

/** Undefined: there is none. */
function headerOf({ req }: ApiContext, name: string): string | undefined {
  const value = req.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

async function sendAnswer(ctx: ApiContext, answer: Answer, { answers, streamLimits }: MountDeps): Promise<void> {
  if (answer.kind === 'stream') return sendStream(ctx, answer, streamLimits)
  if (answer.kind === 'json' && hasLargeText(answer.body)) {
    const payload = await stringifyInSteps(answer.body)
    return answers.send(ctx, { status: answer.status, type: JSON_TYPE, payload })
  }
  return answers.send(ctx, replyOf(answer))
}

function replyOf(answer: Exclude<Answer, StreamAnswer>): Reply {
  switch (answer.kind) {
    case 'json':
      return { status: answer.status, type: JSON_TYPE, payload: JSON.stringify(answer.body) }
    case 'text':
      return { status: answer.status, type: JSON_TYPE, payload: answer.json }
    case 'bytes':
      return { status: 200, type: answer.type, payload: answer.bytes, headers: answer.headers ?? {} }
    case 'nothing':
      return { status: 204, type: null, payload: '' }
  }
}
