/**
 * Reads the input of a request as its route declares it: the query, and a JSON body, a file, or another body.
 *
 * A route without a body schema ignores the body; one without a query schema accepts no query. Bytes of a JSON body are
 * parsed here if they are few, on the thread of `body-thread` if they are many. When the bytes are complete, a request
 * waits for the turn of its owner, and then goes on to its answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parse as parseQuery } from 'node:querystring'
import { z } from 'zod'
import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { MemoryShares } from '../../../../base/platform/memory/shares.js'
import { fingerprintInSteps, fingerprintOf } from '../../../../outbound/sending/idempotency.js'
import type { BodyThread } from '../input/body-thread.js'
import { mediaTypeOf, parseJsonBody, readJsonBytes, readWholeBody } from '../input/json-body.js'
import { parseInput } from '../input/parse-input.js'
import type { BodyPace } from '../input/read-body.js'
import { openUpload } from '../input/upload.js'
import { DEFAULT_BODY, type RawBody, type Route } from '../route/route.js'
import type { RequestTurns } from './request-turns.js'

/** Parses bodies of more than `DEFAULT_BODY` bytes. */
export interface LargeBodies {
  /** Null if bodies of this schema are parsed on the main thread. */
  readonly nameOf: (schema: z.ZodType) => string | null
  readonly thread: Pick<BodyThread, 'parse'>
}

interface ReadInput {
  readonly query: unknown
  readonly body: unknown
  readonly fingerprint: () => string
  /** Returns the memory of the body; to be called once. */
  readonly release: () => void
}

interface Incoming {
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

const noBody = { body: undefined, fingerprint: () => '', release: () => undefined }
const emptyQuery = z.strictObject({})

export class InputReader {
  constructor(
    /** Memory for bodies, by workspace, user or client address. */
    private readonly memory: MemoryShares,
    private readonly pace: BodyPace,
    private readonly large: LargeBodies,
    private readonly turns: RequestTurns,
  ) {}

  /**
   * The body counts in the share of the memory that `owner` has. `reauthorize` is called before the end of an uploaded
   * file, and rejects if the client is no longer authorized. Throws a Refusal, BodyTooSlow or ClientGone.
   */
  async read(
    { req, res }: Incoming,
    route: Route,
    owner: string,
    reauthorize: () => Promise<unknown>,
  ): Promise<ReadInput> {
    const { body, file, raw, readBody } = route
    const given = ignoresQuery(route) ? null : parseQueryString(req.url ?? '')
    if (body !== null) return this.readJson({ req, res }, route, body, owner, given)
    if (raw === null) await this.turns.take(owner)
    const query = ignoresQuery(route) ? undefined : parseRouteQuery(route.query, given)
    if (file !== null) {
      const upload = await openUpload(req, res, { limit: file.limit, pace: this.pace, reauthorize })
      return { ...noBody, query, body: upload.file, release: upload.end }
    }
    if (raw !== null) return { ...(await this.readRaw({ req, res }, route, raw, owner)), query }
    if (readBody === null) return { ...noBody, query }
    return { ...noBody, query, body: await readBody(req, res, this.memory.forOwner(owner), this.pace) }
  }

  private async readRaw(
    { req, res }: Incoming,
    { path }: Route,
    { types, limit, parse }: RawBody<unknown>,
    owner: string,
  ): Promise<Omit<ReadInput, 'query'>> {
    if (!types.includes(mediaTypeOf(req))) throw mediaTypeRefusal(req, types)
    const { raw, release } = await readWholeBody(req, res, this.memory.forOwner(owner), this.pace, limit)
    try {
      await this.turns.take(owner)
      const { body, parts } = await parse(raw, req.headers['content-type'] ?? '')
      const fingerprint = hasKey(req) ? await fingerprintInSteps([path, ...parts]) : null
      return { body, fingerprint: () => requireFingerprint(fingerprint), release }
    } catch (error) {
      release()
      throw error
    }
  }

  private async readJson(
    { req, res }: Incoming,
    { path, query, maxBody }: Route,
    schema: z.ZodType,
    owner: string,
    given: RawQuery,
  ): Promise<ReadInput> {
    const { raw, isAbsent, release } = await readJsonBytes(req, res, this.memory.forOwner(owner), this.pace, maxBody)
    try {
      await this.turns.take(owner)
      const parsed = parseRouteQuery(query, given)
      const name = raw.length > DEFAULT_BODY ? this.large.nameOf(schema) : null
      if (name !== null) {
        const fingerprintLabel = hasKey(req) ? path : null
        const { value, fingerprint } = await this.large.thread.parse({ schema: name, raw, fingerprintLabel }, owner)
        await this.turns.take(owner)
        return { query: parsed, body: value, fingerprint: () => requireFingerprint(fingerprint), release }
      }
      // Some clients name the type of a body that they leave out.
      const isMissing = isAbsent || (raw.length === 0 && schema.safeParse(undefined).success)
      const value = parseInput(schema, isMissing ? undefined : parseJsonBody(raw))
      // The path is in it: equal bodies of two routes are different requests.
      return { query: parsed, body: value, fingerprint: () => fingerprintOf([path, raw]), release }
    } catch (error) {
      release()
      throw error
    }
  }
}

function mediaTypeRefusal({ headers }: IncomingMessage, types: readonly string[]): Refusal {
  const given = formatForDisplay(headers['content-type'] ?? '')
  return new Refusal('unsupported-media-type', `Content-Type: must be ${types.join(' or ')}`, { content_type: given })
}

function hasKey({ headers }: IncomingMessage): boolean {
  return headers['idempotency-key'] !== undefined
}

function requireFingerprint(fingerprint: string | null): string {
  if (fingerprint === null) throw new Error('the fingerprint of this body was not computed')
  return fingerprint
}

/** Mail clients, scanners and services add parameters to the query. */
function ignoresQuery({ area, raw }: Route): boolean {
  if (raw?.takesQuery === true) return true
  return area === 'tracking' || area === 'page' || area === 'callback'
}

/** Null if there is no query. */
type RawQuery = Readonly<Record<string, unknown>> | null

/** Throws a Refusal for parameters that the route does not have. */
function parseRouteQuery(query: z.ZodType | null, raw: RawQuery): unknown {
  return raw === null && query === null ? undefined : parseInput(query ?? emptyQuery, raw ?? {})
}

/** The parameters as text. Throws a Refusal for a parameter that is repeated. */
export function parseQueryString(url: string): RawQuery {
  const start = url.indexOf('?')
  if (start === -1) return null
  const query = parseQuery(url.slice(start + 1), '&', '=', { maxKeys: 0 })
  const errors = Object.keys(query)
    .filter((name) => Array.isArray(query[name]))
    .map((field) => ({ field, message: 'is given more than once', value: null }))
  if (errors.length > 0) throw new Refusal('invalid-parameter', 'a query parameter is given more than once', { errors })
  return query
}
