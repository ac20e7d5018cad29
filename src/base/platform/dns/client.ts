/**
 * Queries recursive DNS servers, with retries and failover, and follows CNAME chains to their end.
 *
 * After a timeout or a malformed reply the query goes to the next server; a server that replied with an error is not
 * tried again for this query. NOERROR and NXDOMAIN are final. Every query resolves to a value. At most 200 queries run
 * at once; others wait, at most as long as their own tries may take. A query without a reply after one second gives up
 * its slot and goes on without one, so that queries for dead domains, which any external sender can cause, do not block
 * the others.
 *
 * Known limits: the system's servers are read once, at the start. Forged replies are prevented by a fresh port and id
 * alone, without mixed case (RFC 5452). DNSSEC validation is left to the servers; only a server on loopback is
 * believed, because replies from elsewhere can be forged on the way. Docker's is not: it forwards what it gets.
 */
import { getServers } from 'node:dns'
import { isLoopback, parseIpAddress } from '../ip-address.js'
import { Semaphore } from '../semaphore.js'
import { type ChainSoFar, type DnsAnswer, findAnswer, noChain } from './chain.js'
import { buildQuery, type DnsReply, isReplyTo, isTruncated, type Question, rcodeOf, readDnsReply } from './message.js'
import { isQueryable } from './name.js'
import { type DnsServer, DnsTransport, type ExchangeOptions, type ExchangeResult, parseDnsServer } from './transport.js'

interface DnsClientSettings {
  /** Empty if the servers of the system are used. */
  readonly servers: readonly DnsServer[]
  /** Milliseconds for one try; it doubles with each further one. */
  readonly timeout: number
  /** Each server gets at least one. */
  readonly tries: number
}

/** The name must be canonical (`toCanonicalName`). */
export type DnsClient = (question: Question) => Promise<DnsAnswer>

/** By default, the receive buffer of a server holds some 250 datagrams and drops further ones. */
const MAX_CONCURRENT_QUERIES = 200
const MAX_WAITING_QUERIES = 20_000
/** Milliseconds after which a query gives up its slot. */
const SLOW_AFTER = 1000
/** Each holds a socket. */
const MAX_SLOW_QUERIES = 2000
/** CNAME records whose target needs a further query. */
const MAX_ALIAS_QUERIES = 8

/** Queries under way fail when `signal` is aborted. */
export function openDnsClient({ servers, timeout, tries }: DnsClientSettings, signal: AbortSignal): DnsClient {
  const transport = new DnsTransport()
  const tryServers = createServerFailover(servers.length > 0 ? servers : listSystemServers(), {
    timeout,
    tries,
  })
  const querySlots = new Semaphore(MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES)
  const withSlot = createSlotHolder(querySlots)
  const maxWait = timeout * (2 ** tries - 1)
  const stop = (): void => {
    querySlots.close()
    transport.cancel()
  }
  signal.addEventListener('abort', stop, { once: true })

  return async (question) => {
    if (signal.aborted) return cancelledAnswer
    if (!isQueryable(question.name)) return unqueryableAnswer
    if (!(await querySlots.acquire(maxWait)))
      return signal.aborted ? cancelledAnswer : { kind: 'failure', detail: 'TIMEOUT' }
    return withSlot(() =>
      followAliases(question, (next) => tryServers((server, time) => queryServer(transport, server, next, time))),
    )
  }
}

/** It is not cached, because such a name has no limit of its length. */
const unqueryableAnswer: DnsAnswer = { kind: 'no-domain', ttl: 0, isAuthenticData: false, isAlias: false }
const cancelledAnswer: DnsAnswer = { kind: 'failure', detail: 'CANCELLED' }

type WithSlot = (ask: () => Promise<DnsAnswer>) => Promise<DnsAnswer>

/** Runs a query that holds a slot. The slot is released once: at the end, or after `SLOW_AFTER`. */
function createSlotHolder(slots: Semaphore): WithSlot {
  let slowQueries = 0
  return async (ask) => {
    let isSlow = false
    const timer = setTimeout(() => {
      if (slowQueries === MAX_SLOW_QUERIES) return
      isSlow = true
      slowQueries += 1
      slots.release()
    }, SLOW_AFTER)
    try {
      return await ask()
    } finally {
      clearTimeout(timer)
      if (isSlow) slowQueries -= 1
      else slots.release()
    }
  }
}

async function followAliases(
  question: Question,
  ask: (question: Question) => Promise<QueryResult>,
): Promise<DnsAnswer> {
  let { name } = question
  let chain: ChainSoFar = noChain
  for (let hops = 0; hops <= MAX_ALIAS_QUERIES; hops += 1) {
    if (!isQueryable(name)) return { kind: 'failure', detail: 'BADNAME' }
    const reply = await ask({ ...question, name })
    if ('fault' in reply) return { kind: 'failure', detail: reply.fault }
    const found = findAnswer(reply, { ...question, name }, chain)
    if (found.kind !== 'onward') return found
    name = found.name
    chain = { ttl: found.ttl, isAuthenticData: found.isAuthenticData, isAlias: true }
  }
  return { kind: 'failure', detail: 'CNAMECHAIN' }
}

type QueryResult = DnsReply | { readonly fault: string }

type ServerFailover = (attempt: (server: DnsServer, time: number) => Promise<QueryResult>) => Promise<QueryResult>

/** Begins with the server that replied last, so that the timeout of a dead one is paid once. */
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

/** A server that does not know EDNS is queried once more without it (RFC 6891 section 6.2.2). */
async function queryServer(
  exchanges: DnsTransport,
  server: DnsServer,
  question: Question,
  timeout: number,
): Promise<QueryResult> {
  const replied = await exchangeQuery(exchanges, server, buildQuery(question, true), timeout)
  const isTrusted = canProve(server)
  if ('fault' in replied || !['FORMERR', 'NOTIMP'].includes(rcodeOf(replied.reply)))
    return interpretReply(replied, isTrusted)
  return interpretReply(await exchangeQuery(exchanges, server, buildQuery(question, false), timeout), isTrusted)
}

/** The resolver of Docker's networks. It validates nothing, and passes the AD bit of a server on the network on. */
const DOCKER_RESOLVER = '127.0.0.11'

/** Whether the AD bit of its replies counts. */
function canProve({ address }: DnsServer): boolean {
  return isLoopback(address) && parseIpAddress(address)?.toString() !== DOCKER_RESOLVER
}

async function exchangeQuery(
  transport: DnsTransport,
  server: DnsServer,
  query: Buffer,
  timeout: number,
): Promise<ExchangeResult> {
  const options: ExchangeOptions = { timeout, accepts: (reply) => isReplyTo(query, reply) }
  const replied = await transport.overUdp(server, query, options)
  if (!hasTruncatedReply(replied)) return replied
  const overTcpResult = await transport.overTcp(server, query, options)
  return hasTruncatedReply(overTcpResult) ? { fault: 'BADRESP' } : overTcpResult
}

function hasTruncatedReply(replied: ExchangeResult): boolean {
  return 'reply' in replied && isTruncated(replied.reply)
}

/** `isTrusted` says that the AD bit of this server counts. */
function interpretReply(replied: ExchangeResult, isTrusted: boolean): QueryResult {
  if ('fault' in replied) return replied
  const code = rcodeOf(replied.reply)
  if (code !== 'NOERROR' && code !== 'NXDOMAIN') return { fault: code }
  const reply = readDnsReply(replied.reply)
  if (reply === null) return { fault: 'BADRESP' }
  if (reply.isReferral) return { fault: 'REFERRAL' }
  return isTrusted ? reply : { ...reply, isAuthenticData: false }
}

function listSystemServers(): readonly DnsServer[] {
  return getServers().flatMap((text) => parseDnsServer(text) ?? [])
}
