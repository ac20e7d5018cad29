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
import { limitKey } from '../../accounts/client-address.js'
import { requirePermission } from '../../accounts/permissions.js'
import type { Principal } from '../../accounts/principal.js'
import { Refusal } from '../../mail/refusal.js'
import type { Clock } from '../../platform/clock.js'
import type { MemoryShares } from '../../platform/memory/shares.js'
import { JSON_TYPE, type Reply } from '../emails/send.js'
import { parse } from './input/input.js'
import { type JsonBody, readJson } from './input/json-body.js'
import type { BodyPace } from './input/read-body.js'
import { readUpload } from './input/upload.js'
import { hasLargeText, jsonInSteps } from './output/json-in-steps.js'
import type { LargeAnswers } from './output/large-answer.js'
import { type Streaming, sendStream } from './output/stream-answer.js'
import type { Answer, Call, KeyRoute, LinkRoute, OpenRoute, Route, StreamAnswer, UploadRoute } from './route.js'
import type { ApiContext } from './server/api-state.js'
import { admitted, type Reception, tolerated } from './visit.js'

export interface MountDeps {
  readonly clock: Clock
  readonly reception: Pick<Reception, 'admitAgain'>
  /** Of bodies that requests have us hold, by workspace. */
  readonly memory: MemoryShares
  readonly pace: BodyPace
  readonly answers: LargeAnswers
  readonly streaming: Streaming
}

const noQuery = z.strictObject({})
const noBody: JsonBody = { raw: Buffer.alloc(0), value: undefined, release: () => undefined }

type Handle = (ctx: ApiContext) => Promise<void>

export function handle(route: Route, deps: MountDeps): Handle {
  if (route.area === 'link') return handleLink(route, deps)
  if (route.area === 'open') return handleOpen(route, deps)
  return 'receive' in route ? handleUpload(route, deps) : handleKey(route, deps)
}

function handleLink({ follow, query }: LinkRoute, deps: MountDeps): Handle {
  return async (ctx) => {
    tolerated(ctx.state.visit)
    const asked = parse(query, queryOf(ctx.req.url ?? '') ?? {})
    await answerWith(ctx, await follow({ params: paramsOf(ctx), query: asked, now: deps.clock() }), deps)
  }
}

/** Of a stranger: a secret and a few words. */
const MAX_OPEN_BODY = 16_384

function handleOpen({ hear, body }: OpenRoute, deps: MountDeps): Handle {
  const { clock, memory, pace } = deps
  return async (ctx) => {
    const { visit } = ctx.state
    tolerated(visit)
    queryIn(null, queryOf(ctx.req.url ?? ''))
    const share = memory.of(limitKey(visit.remoteAddress))
    const given = await readJson(ctx.req, ctx.res, share, pace, MAX_OPEN_BODY)
    try {
      const { remoteAddress } = visit
      await answerWith(ctx, await hear({ body: parse(body, given.value), remoteAddress, now: clock() }), deps)
    } finally {
      given.release()
    }
  }
}

function handleKey(route: KeyRoute, deps: MountDeps): Handle {
  const { clock, memory, pace, reception } = deps
  const { run, query, body } = route
  return async (ctx) => {
    const { visit } = ctx.state
    const atFirst = admitted(visit)
    only(route, atFirst)
    const asked = queryOf(ctx.req.url ?? '')
    const given = body === null ? noBody : await readJson(ctx.req, ctx.res, memory.of(atFirst.workspaceId), pace)
    try {
      const principal = body === null ? atFirst : reception.admitAgain(ctx.req, visit.remoteAddress)
      const call: Call = {
        principal,
        ownKey: only(route, principal),
        params: paramsOf(ctx),
        query: queryIn(query, asked),
        body: body === null ? undefined : parse(body, given.value),
        rawBody: given.raw,
        header: (name) => fieldOf(ctx, name),
        remoteAddress: visit.remoteAddress,
        now: clock(),
      }
      await answerWith(ctx, await run(call), deps)
    } finally {
      given.release()
    }
  }
}

function handleUpload(route: UploadRoute, deps: MountDeps): Handle {
  const { clock, pace, reception } = deps
  return async (ctx) => {
    const { visit } = ctx.state
    const principal = admitted(visit)
    requirePermission(principal, route.area)
    const query = queryIn(route.query, queryOf(ctx.req.url ?? ''))
    const admitAgain = (): void => {
      requirePermission(reception.admitAgain(ctx.req, visit.remoteAddress), route.area)
    }
    const upload = { limit: route.limit, pace, admitAgain }
    const answer = await readUpload(ctx.req, ctx.res, upload, (file) =>
      route.receive({ principal, params: paramsOf(ctx), query, file, now: clock() }),
    )
    await answerWith(ctx, answer, deps)
  }
}

/** The key whose own sends the caller is restricted to, or null. Throws a Refusal `forbidden`. */
function only({ area, own }: KeyRoute, principal: Principal): string | null {
  return requirePermission(principal, area, own === true) === 'yes' ? null : principal.keyId
}

function paramsOf(ctx: ApiContext): Call['params'] {
  return ctx['params'] as Call['params']
}

/** Throws a Refusal for parameters that the route does not know. */
function queryIn(query: z.ZodType | null, asked: Readonly<Record<string, unknown>> | null): unknown {
  return asked === null && query === null ? undefined : parse(query ?? noQuery, asked ?? {})
}

/** The parameters, each of them text; null where there are none. Throws a Refusal for one that comes twice. */
function queryOf(url: string): Readonly<Record<string, unknown>> | null {
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
function fieldOf({ req }: ApiContext, name: string): string | undefined {
  const value = req.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

async function answerWith(ctx: ApiContext, answer: Answer, { answers, streaming }: MountDeps): Promise<void> {
  if (answer.kind === 'stream') return sendStream(ctx, answer, streaming)
  if (answer.kind === 'json' && hasLargeText(answer.body)) {
    const payload = await jsonInSteps(answer.body)
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
