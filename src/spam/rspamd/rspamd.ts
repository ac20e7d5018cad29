/**
 * Asks rspamd about a message (`POST /checkv2`).
 *
 * Fails open: whatever goes wrong, the answer is null within five seconds and our own score stands
 * alone. After three failures in a row nobody is asked for ten seconds, then one message tries: a
 * filter that hangs must not hold up all mail. What is wrong is said in the log once a minute.
 *
 * Bounded: 20 questions at a time, 64 MB of messages that are asked about or wait for it, a
 * megabyte of answer. Header values hold what strangers said: no control character gets into them.
 */
import type { Clock } from '../../platform/clock.js'
import { type HttpPost, httpPost } from '../../platform/http-post.js'
import type { Log } from '../../platform/log.js'
import { memoryBudget } from '../../platform/memory/budget.js'
import type { SpamOrigin } from '../spam-message.js'
import { type RspamdVerdict, rspamdVerdict } from './rspamd-answer.js'

export interface RspamdQuestion {
  /** Of the record: rspamd's log names it. */
  readonly id: string
  readonly raw: Buffer
  readonly origin: SpamOrigin
  readonly recipients: readonly string[]
}

/** Never rejects; null: rspamd gives no verdict. */
export type AskRspamd = (question: RspamdQuestion) => Promise<RspamdVerdict | null>

export interface RspamdLimits {
  /** Milliseconds. */
  readonly time: number
  readonly atOnce: number
  /** Bytes of messages. */
  readonly memory: number
  readonly answer: number
}

export const rspamdLimits: RspamdLimits = { time: 5_000, atOnce: 20, memory: 64 * 1024 ** 2, answer: 1024 ** 2 }

export interface RspamdDeps {
  /** Of a worker of rspamd, with or without `/checkv2` at its end. */
  readonly url: string
  readonly clock: Clock
  readonly log: Log
  readonly limits?: RspamdLimits
}

const MAX_RECIPIENTS = 100
const MAX_VALUE = 500
const FAILURES = 3
const REST = 10_000
const SILENCE = 60_000

export function rspamd({ url, clock, log, limits = rspamdLimits }: RspamdDeps): AskRspamd {
  const where = checkUrl(url)
  const post = httpPost({ url: where, atOnce: limits.atOnce, timeLimit: limits.time, answerLimit: limits.answer })
  const memory = memoryBudget(limits.memory)
  const health = healthOf(clock, (reason, messages) => {
    const at = `${where.protocol}//${where.host}${where.pathname}`
    log.warn({ rspamd: at, reason, messages }, 'rspamd gives no verdict: the spam score is our own alone')
  })
  return async (question) => {
    if (health.rests()) return health.missed()
    const { length } = question.raw
    if (!memory.take(length)) return health.missed('too many messages wait for it')
    try {
      const verdict = await ask(post, question)
      return verdict === null ? health.failed('its answer is none of rspamd') : health.answered(verdict)
    } catch (error) {
      // Our own mistakes as well: no message is lost for a filter that is asked by the way.
      return health.failed(error instanceof Error ? error.message : String(error))
    } finally {
      memory.give(length)
    }
  }
}

async function ask(post: HttpPost, question: RspamdQuestion): Promise<RspamdVerdict | null> {
  const answer = await post({ headers: headersOf(question), body: question.raw })
  return rspamdVerdict(answer.toString())
}

function checkUrl(text: string): URL {
  const url = new URL(text)
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '').replace(/\/checkv2$/, '')}/checkv2`
  return url
}

export function headersOf({ id, origin, recipients }: RspamdQuestion): Record<string, string | readonly string[]> {
  const { clientAddress, helo, envelopeFrom, reverseName } = origin
  const known = { IP: clientAddress, Helo: helo, Hostname: reverseName ?? '' }
  const said = Object.entries(known).flatMap(([name, value]) =>
    value === '' ? [] : [[name, harmless(value)] as const],
  )
  return {
    ...Object.fromEntries(said),
    'Queue-Id': harmless(id),
    From: harmless(`<${envelopeFrom}>`),
    Rcpt: recipients.slice(0, MAX_RECIPIENTS).map(harmless),
    'Content-Type': 'message/rfc822',
  }
}

/** As latin1, so that its bytes are those of UTF-8. */
function harmless(value: string): string {
  return Buffer.from(value.slice(0, MAX_VALUE).replace(/\p{Cc}+/gu, ' ')).toString('latin1')
}

interface Health {
  /** False where it may be asked: always while it answers, once after each rest. */
  readonly rests: () => boolean
  readonly answered: <T>(verdict: T) => T
  readonly failed: (reason: string) => null
  /** Nobody was asked; by default for the last failure. */
  readonly missed: (reason?: string) => null
}

function healthOf(clock: Clock, complain: (reason: string, messages: number) => void): Health {
  let failures = 0
  let restsUntil = 0
  let quietUntil = 0
  let unsaid = 0
  let lastFailure = ''
  const missed = (reason = lastFailure): null => {
    unsaid += 1
    if (clock() < quietUntil) return null
    complain(reason, unsaid)
    quietUntil = clock() + SILENCE
    unsaid = 0
    return null
  }
  return {
    missed,
    rests: () => {
      if (failures < FAILURES) return false
      if (clock() < restsUntil) return true
      restsUntil = clock() + REST
      return false
    },
    answered: (verdict) => {
      failures = 0
      return verdict
    },
    failed: (reason) => {
      failures += 1
      restsUntil = clock() + REST
      lastFailure = reason
      return missed(reason)
    },
  }
}
