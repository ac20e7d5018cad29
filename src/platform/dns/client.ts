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
import { isIP } from 'node:net'
import { type WaitingLine, waitingLine } from '../waiting-line.js'
import { type Found, foundIn } from './chain.js'
import { type DnsExchanges, type DnsServer, dnsExchanges, type Exchanged, type ExchangeOptions } from './exchange.js'
import { codeOf, isReplyTo, isTruncated, type Question, questionMessage, type Reply, readReply } from './message.js'
import { isAskable } from './name.js'

export interface DnsClientSettings {
  /** Empty: the system's. Entries may carry a port. */
  readonly servers: readonly string[]
  /** Milliseconds for one try; it doubles with each further one. */
  readonly timeout: number
  /** Each server gets at least one. */
  readonly tries: number
}

/** The name as `canonicalName` gives it. */
export type DnsAsk = (question: Question) => Promise<Found>

/** A server's receive buffer holds some 250 datagrams where nobody enlarged it; what comes beyond is lost. */
const mostAtOnce = 200
const mostWaiting = 20_000
/** Milliseconds. */
const soon = 1000
/** Each has a socket. */
const mostAside = 2000
/** CNAME records whose target must be asked for anew. */
const mostOnward = 8

/** Questions under way end as failures once `signal` is aborted. */
export function openDnsClient({ servers, timeout, tries }: DnsClientSettings, signal: AbortSignal): DnsAsk {
  const exchanges = dnsExchanges()
  const inTurn = triesInTurn(servers.length > 0 ? servers.map(serverOf) : systemServers(), { timeout, tries })
  const line = waitingLine(mostAtOnce, mostWaiting)
  const inPlace = placeHolder(line)
  const patience = timeout * (2 ** tries - 1)
  const stop = (): void => {
    line.close()
    exchanges.cancel()
  }
  signal.addEventListener('abort', stop, { once: true })

  return async (question) => {
    if (signal.aborted) return cancelled
    if (!isAskable(question.name)) return { kind: 'no-domain', ttl: null }
    if (!(await line.enter(patience))) return signal.aborted ? cancelled : { kind: 'failure', detail: 'TIMEOUT' }
    return inPlace(() => followed(question, (next) => inTurn((server, time) => tried(exchanges, server, next, time))))
  }
}

const cancelled: Found = { kind: 'failure', detail: 'CANCELLED' }

type InPlace = (ask: () => Promise<Found>) => Promise<Found>

/** For whoever has been let in: the place is left once, at the end or when the answer is not there soon. */
function placeHolder(line: WaitingLine): InPlace {
  let aside = 0
  return async (ask) => {
    let isAside = false
    const timer = setTimeout(() => {
      if (aside === mostAside) return
      isAside = true
      aside += 1
      line.leave()
    }, soon)
    try {
      return await ask()
    } finally {
      clearTimeout(timer)
      if (isAside) aside -= 1
      else line.leave()
    }
  }
}

async function followed(question: Question, ask: (question: Question) => Promise<Tried>): Promise<Found> {
  let { name } = question
  let ttl = Number.POSITIVE_INFINITY
  for (let onward = 0; onward <= mostOnward; onward += 1) {
    if (!isAskable(name)) return { kind: 'failure', detail: 'BADNAME' }
    const reply = await ask({ ...question, name })
    if ('fault' in reply) return { kind: 'failure', detail: reply.fault }
    const found = foundIn(reply, { ...question, name }, ttl)
    if (found.kind !== 'onward') return found
    ;({ name, ttl } = found)
  }
  return { kind: 'failure', detail: 'CNAMECHAIN' }
}

type Tried = Reply | { readonly fault: string }

type InTurn = (attempt: (server: DnsServer, time: number) => Promise<Tried>) => Promise<Tried>

/** Begins with the server that answered last, so that a dead one costs its time once. */
function triesInTurn(servers: readonly DnsServer[], settings: Omit<DnsClientSettings, 'servers'>): InTurn {
  const most = Math.max(settings.tries, servers.length)
  let first = 0
  return async (attempt) => {
    let left = [...servers.slice(first), ...servers.slice(0, first)]
    let last: Tried = { fault: 'NOSERVER' }
    for (let count = 0; count < most; count += 1) {
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
async function tried(exchanges: DnsExchanges, server: DnsServer, question: Question, timeout: number): Promise<Tried> {
  const replied = await asked(exchanges, server, questionMessage(question, true), timeout)
  if ('fault' in replied || !['FORMERR', 'NOTIMP'].includes(codeOf(replied.reply))) return judged(replied)
  return judged(await asked(exchanges, server, questionMessage(question, false), timeout))
}

async function asked(
  { overUdp, overTcp }: DnsExchanges,
  server: DnsServer,
  query: Buffer,
  timeout: number,
): Promise<Exchanged> {
  const options: ExchangeOptions = { timeout, accepts: (reply) => isReplyTo(query, reply) }
  const replied = await overUdp(server, query, options)
  if (!isCut(replied)) return replied
  const whole = await overTcp(server, query, options)
  return isCut(whole) ? { fault: 'BADRESP' } : whole
}

function isCut(replied: Exchanged): boolean {
  return 'reply' in replied && isTruncated(replied.reply)
}

function judged(replied: Exchanged): Tried {
  if ('fault' in replied) return replied
  const code = codeOf(replied.reply)
  if (code !== 'NOERROR' && code !== 'NXDOMAIN') return { fault: code }
  const reply = readReply(replied.reply)
  if (reply === null) return { fault: 'BADRESP' }
  return reply.referral ? { fault: 'REFERRAL' } : reply
}

function systemServers(): readonly DnsServer[] {
  return getServers().map(serverOf)
}

/** As `192.0.2.53`, `192.0.2.53:5353`, `2001:db8::53`, `[2001:db8::53]:5353`. */
export function serverOf(text: string): DnsServer {
  if (isIP(text) !== 0) return { address: text, port: 53 }
  const { host = '', port = '53' } = /^\[?(?<host>[^\]]*?)\]?(?::(?<port>\d{1,5}))?$/.exec(text)?.groups ?? {}
  if (isIP(host) === 0 || Number(port) < 1 || Number(port) > 0xffff)
    throw new TypeError(`not the address of a DNS server: ${text}`)
  return { address: host, port: Number(port) }
}
