/**
 * Asks recursive DNS servers: several tries, one server after the other, and CNAME chains to their end.
 *
 * No answer and a broken one take the question to the next server; a server that answered with an error is not
 * asked again for this question. A name that exists or does not is believed at once. Every question ends as a
 * value. Only so many are asked at once; the rest wait in line, at most as long as their tries could take. What
 * is not answered soon gives its place up and waits aside, so that names of dead domains, which any stranger can
 * have us ask for, do not keep the others from being asked.
 *
 * Known limits: the system's servers are read once, at the start. Letters' case is not mixed against forgery: a
 * fresh port and id are what there is (RFC 5452). DNSSEC is left to the servers.
 */
import { getServers } from 'node:dns'
import { createSemaphore, type Semaphore } from '../semaphore.js'
import { type DnsAnswer, findAnswer } from './chain.js'
import { buildQuery, isReplyTo, isTruncated, type Question, type Reply, rcodeOf, readReply } from './message.js'
import { isQueryable } from './name.js'
import {
  createDnsTransport,
  type DnsServer,
  type DnsTransport,
  type ExchangeOptions,
  type ExchangeResult,
  parseDnsServer,
} from './transport.js'

export interface DnsClientSettings {
  /** Empty: the system's. */
  readonly servers: readonly DnsServer[]
  /** Milliseconds for one try; it doubles with each further one. */
  readonly timeout: number
  /** Each server gets at least one. */
  readonly tries: number
}

/** The name as `canonicalName` gives it. */
export type DnsClient = (question: Question) => Promise<DnsAnswer>

/** A server's receive buffer holds some 250 datagrams where nobody enlarged it; what comes beyond is lost. */
const MAX_CONCURRENT_QUERIES = 200
const MAX_WAITING_QUERIES = 20_000
/** Milliseconds. */
const SLOW_AFTER = 1000
/** Each has a socket. */
const MAX_SLOW_QUERIES = 2000
/** CNAME records whose target must be asked for anew. */
const MAX_ALIAS_QUERIES = 8

/** Questions under way end as failures once `signal` is aborted. */
export function openDnsClient({ servers, timeout, tries }: DnsClientSettings, signal: AbortSignal): DnsClient {
  const transport = createDnsTransport()
  const tryServers = createServerFailover(servers.length > 0 ? servers : listSystemServers(), {
    timeout,
    tries,
  })
  const querySlots = createSemaphore(MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES)
  const withSlot = createSlotHolder(querySlots)
  const maxWait = timeout * (2 ** tries - 1)
  const stop = (): void => {
    querySlots.close()
    transport.cancel()
  }
  signal.addEventListener('abort', stop, { once: true })

  return async (question) => {
    if (signal.aborted) return cancelledAnswer
    if (!isQueryable(question.name)) return { kind: 'no-domain', ttl: null }
    if (!(await querySlots.acquire(maxWait)))
      return signal.aborted ? cancelledAnswer : { kind: 'failure', detail: 'TIMEOUT' }
    return withSlot(() =>
      followAliases(question, (next) => tryServers((server, time) => queryServer(transport, server, next, time))),
    )
  }
}

const cancelledAnswer: DnsAnswer = { kind: 'failure', detail: 'CANCELLED' }

type WithSlot = (ask: () => Promise<DnsAnswer>) => Promise<DnsAnswer>

/** For whoever has been let in: the place is left once, at the end or when the answer is not there soon. */
function createSlotHolder(line: Semaphore): WithSlot {
  let slowQueries = 0
  return async (ask) => {
    let isSlow = false
    const timer = setTimeout(() => {
      if (slowQueries === MAX_SLOW_QUERIES) return
      isSlow = true
      slowQueries += 1
      line.release()
    }, SLOW_AFTER)
    try {
      return await ask()
    } finally {
      clearTimeout(timer)
      if (isSlow) slowQueries -= 1
      else line.release()
    }
  }
}

async function followAliases(
  question: Question,
  ask: (question: Question) => Promise<QueryResult>,
): Promise<DnsAnswer> {
  let { name } = question
  let ttl = Number.POSITIVE_INFINITY
  for (let onward = 0; onward <= MAX_ALIAS_QUERIES; onward += 1) {
    if (!isQueryable(name)) return { kind: 'failure', detail: 'BADNAME' }
    const reply = await ask({ ...question, name })
    if ('fault' in reply) return { kind: 'failure', detail: reply.fault }
    const found = findAnswer(reply, { ...question, name }, ttl)
    if (found.kind !== 'onward') return found
    ;({ name, ttl } = found)
  }
  return { kind: 'failure', detail: 'CNAMECHAIN' }
}

type QueryResult = Reply | { readonly fault: string }

type ServerFailover = (attempt: (server: DnsServer, time: number) => Promise<QueryResult>) => Promise<QueryResult>

/** Begins with the server that answered last, so that a dead one costs its time once. */
function createServerFailover(
  servers: readonly DnsServer[],
  settings: Omit<DnsClientSettings, 'servers'>,
): ServerFailover {
  const maxTries = Math.max(settings.tries, servers.length)
  let first = 0
  return async (attempt) => {
    let left = [...servers.slice(first), ...servers.slice(0, first)]
    let last: QueryResult = { fault: 'NOSERVER' }
    for (let count = 0; count < maxTries; count += 1) {
      const [server, ...others] = left
      if (server === undefined) break
      last = await attempt(server, settings.timeout * 2 ** count)
      if (!('fault' in last)) {
        first = servers.indexOf(server)
        break
      }
      if (last.fault === 'CANCELLED') break
      left = last.fault === 'TIMEOUT' ? [...others, server] : others
    }
    return last
  }
}

/** A server that does not know EDNS is asked once more without it (RFC 6891 section 6.2.2). */
async function queryServer(
  exchanges: DnsTransport,
  server: DnsServer,
  question: Question,
  timeout: number,
): Promise<QueryResult> {
  const replied = await exchangeQuery(exchanges, server, buildQuery(question, true), timeout)
  if ('fault' in replied || !['FORMERR', 'NOTIMP'].includes(rcodeOf(replied.reply))) return interpretReply(replied)
  return interpretReply(await exchangeQuery(exchanges, server, buildQuery(question, false), timeout))
}

async function exchangeQuery(
  { overUdp, overTcp }: DnsTransport,
  server: DnsServer,
  query: Buffer,
  timeout: number,
): Promise<ExchangeResult> {
  const options: ExchangeOptions = { timeout, accepts: (reply) => isReplyTo(query, reply) }
  const replied = await overUdp(server, query, options)
  if (!hasTruncatedReply(replied)) return replied
  const whole = await overTcp(server, query, options)
  return hasTruncatedReply(whole) ? { fault: 'BADRESP' } : whole
}

function hasTruncatedReply(replied: ExchangeResult): boolean {
  return 'reply' in replied && isTruncated(replied.reply)
}

function interpretReply(replied: ExchangeResult): QueryResult {
  if ('fault' in replied) return replied
  const code = rcodeOf(replied.reply)
  if (code !== 'NOERROR' && code !== 'NXDOMAIN') return { fault: code }
  const reply = readReply(replied.reply)
  if (reply === null) return { fault: 'BADRESP' }
  return reply.isReferral ? { fault: 'REFERRAL' } : reply
}

function listSystemServers(): readonly DnsServer[] {
  return getServers().flatMap((text) => parseDnsServer(text) ?? [])
}
