/**
 * Asks rspamd about a message (`POST /checkv2`).
 *
 * Fails open: on any failure the result is null within five seconds, and our own score stands alone. After three
 * failures in a row no request is made for ten seconds, then one message tries: a filter that hangs must not delay all
 * mail. Failures are logged once a minute.
 *
 * Limits: 20 requests at a time, 64 MB of messages in requests or waiting for one, 1 MB of answer. Header values come
 * from untrusted input, so control characters are removed.
 */
import type { Clock } from '../../../base/platform/clock.js'
import { createHttpClient, type HttpAnswer } from '../../../base/platform/http/http-client.js'
import { HttpFault } from '../../../base/platform/http/http-fault.js'
import type { Log } from '../../../base/platform/log.js'
import { MemoryBudget } from '../../../base/platform/memory/budget.js'
import type { SpamOrigin } from '../facts/spam-message.js'
import { parseRspamdVerdict, type RspamdVerdict } from './rspamd-answer.js'

export interface RspamdRequest {
  /** The id of the record; it appears in rspamd's log. */
  readonly id: string
  readonly raw: Buffer
  readonly origin: SpamOrigin
  readonly recipients: readonly string[]
}

export interface RspamdLimits {
  /** Milliseconds. */
  readonly timeout: number
  readonly concurrency: number
  /** Bytes of messages. */
  readonly memoryBytes: number
  readonly responseBytes: number
}

const defaultRspamdLimits: RspamdLimits = {
  timeout: 5_000,
  concurrency: 20,
  memoryBytes: 64 * 1024 ** 2,
  responseBytes: 1024 ** 2,
}

interface RspamdDeps {
  /** The URL of an rspamd worker, with or without `/checkv2` at its end. */
  readonly url: URL
  readonly clock: Clock
  readonly log: Log
  readonly limits?: RspamdLimits
}

const MAX_RECIPIENTS = 100
const MAX_VALUE = 500
const MAX_FAILURES = 3
const OPEN_TIME = 10_000
const LOG_INTERVAL = 60_000

export class RspamdClient {
  private readonly post: Post
  private readonly memory: MemoryBudget
  private readonly breaker: CircuitBreaker

  constructor({ url, clock, log, limits = defaultRspamdLimits }: RspamdDeps) {
    const where = buildCheckUrl(url)
    this.post = createPost(where, limits)
    this.memory = new MemoryBudget(limits.memoryBytes)
    this.breaker = createCircuitBreaker(clock, (reason, messages) => {
      const at = `${where.protocol}//${where.host}${where.pathname}`
      log.warn({ rspamd: at, reason, messages }, 'rspamd gives no verdict: the spam score is our own alone')
    })
  }

  /** Null if there is no verdict. Never rejects. */
  async check(question: RspamdRequest): Promise<RspamdVerdict | null> {
    const { breaker, memory } = this
    if (breaker.isOpen()) return breaker.recordSkip()
    const { length } = question.raw
    if (!memory.acquire(length)) return breaker.recordSkip('too many messages wait for it')
    try {
      const verdict = await checkMessage(this.post, question)
      return verdict === null
        ? breaker.recordFailure('its answer is not an answer of rspamd')
        : breaker.recordSuccess(verdict)
    } catch (error) {
      // Errors of our own count too: an optional filter must not cost a message.
      return breaker.recordFailure(error instanceof Error ? error.message : String(error))
    } finally {
      memory.release(length)
    }
  }
}

type Post = (question: RspamdRequest) => Promise<HttpAnswer>

/** The client is made at once, because loading it blocks the thread for a while. */
function createPost(url: URL, { timeout, concurrency, responseBytes }: RspamdLimits): Post {
  const client = createHttpClient({ maxConnections: concurrency, maxBodyBytes: responseBytes, maxDroppedBytes: 0 })
  // Each request reports it.
  client.catch(() => undefined)
  return async (question) => (await client).post({ url, headers: buildHeaders(question), body: question.raw, timeout })
}

async function checkMessage(post: Post, question: RspamdRequest): Promise<RspamdVerdict | null> {
  const { status, body, isComplete } = await post(question)
  if (status !== 200) throw new HttpFault(`answered ${status}`)
  if (!isComplete) throw new HttpFault(`an answer of more than ${body.length} bytes`)
  return parseRspamdVerdict(body.toString())
}

function buildCheckUrl(base: URL): URL {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '').replace(/\/checkv2$/, '')}/checkv2`
  return url
}

export function buildHeaders({ id, origin, recipients }: RspamdRequest): Record<string, string | readonly string[]> {
  const { clientAddress, helo, envelopeFrom, reverseName } = origin
  const known = { IP: clientAddress, Helo: helo, Hostname: reverseName ?? '' }
  const fields = Object.entries(known).flatMap(([name, value]) =>
    value === '' ? [] : [[name, sanitizeValue(value)] as const],
  )
  return {
    ...Object.fromEntries(fields),
    'Queue-Id': sanitizeValue(id),
    From: sanitizeValue(`<${envelopeFrom}>`),
    Rcpt: recipients.slice(0, MAX_RECIPIENTS).map(sanitizeValue),
    'Content-Type': 'message/rfc822',
  }
}

/** Encodes a value as Latin-1, so that the octets sent are those of the UTF-8 text. */
function sanitizeValue(value: string): string {
  return Buffer.from(value.slice(0, MAX_VALUE).replace(/\p{Cc}+/gu, ' ')).toString('latin1')
}

interface CircuitBreaker {
  /** True while requests are paused: from repeated failures until a pause ends and one request may try. */
  readonly isOpen: () => boolean
  readonly recordSuccess: <T>(verdict: T) => T
  readonly recordFailure: (reason: string) => null
  /** Records that no request was made. If no reason is given, it is the last failure. */
  readonly recordSkip: (reason?: string) => null
}

function createCircuitBreaker(clock: Clock, complain: (reason: string, messages: number) => void): CircuitBreaker {
  let failures = 0
  let openUntil = 0
  let silentUntil = 0
  let unreported = 0
  let lastFailure = ''
  const recordSkip = (reason = lastFailure): null => {
    unreported += 1
    if (clock() < silentUntil) return null
    complain(reason, unreported)
    silentUntil = clock() + LOG_INTERVAL
    unreported = 0
    return null
  }
  return {
    recordSkip,
    isOpen: () => {
      if (failures < MAX_FAILURES) return false
      if (clock() < openUntil) return true
      openUntil = clock() + OPEN_TIME
      return false
    },
    recordSuccess: (verdict) => {
      failures = 0
      return verdict
    },
    recordFailure: (reason) => {
      failures += 1
      openUntil = clock() + OPEN_TIME
      lastFailure = reason
      return recordSkip(reason)
    },
  }
}
