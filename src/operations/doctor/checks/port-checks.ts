/** Checks port 25: out, to hosts of large providers, and in, as far as this machine can see. */

import type { Socket } from 'node:net'
import type { Config } from '../../../base/config/complete.js'
import { listConfiguredSources } from '../../../base/config/configured-sources.js'
import { toPrintableAscii } from '../../../base/mail/printable.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { isLoopback } from '../../../base/platform/ip-address.js'
import { describeMissing } from '../answers.js'
import { ANSWER_TIMEOUT, type Check, type CheckDeps } from '../check.js'
import { failure, good, type Judgement, undecided, warning } from '../finding.js'
import { isPublicAddress, listSourceAddresses } from '../sources.js'

/** Octets; a reply line has at most 512 (RFC 5321 section 4.5.3.1.5). */
const MAX_BANNER = 512

const SMTP_PORT = 25
/** Octets of a greeting that are shown. */
const MAX_GREETING = 120

export const portChecks: readonly Check[] = [
  {
    name: 'port25-out',
    summary: 'hosts of other providers can be reached at port 25',
    run: checkOutbound,
  },
  {
    name: 'port25-in',
    summary: 'this machine answers at port 25; the check prints how to test that from outside',
    run: checkInbound,
  },
]

export interface Reached {
  readonly domain: string
  /** The host that was called. Null if none was found. */
  readonly host: string | null
  /** The first line of the host, or why there is none. */
  readonly outcome:
    | { readonly kind: 'greeting'; readonly text: string }
    | { readonly kind: 'no-connection'; readonly reason: string }
    | { readonly kind: 'no-host'; readonly reason: string }
}

async function checkOutbound(deps: CheckDeps): Promise<readonly Judgement[]> {
  const { outbound, doctor } = deps.config
  if (outbound.routes['*'] !== undefined) {
    return [good('routes', 'the check is not needed, because outbound.routes sends all mail to another server')]
  }
  const reached = await Promise.all(doctor.mx_domains.map((domain) => reachDomain(deps, domain)))
  return judgeReached(reached, outbound.port)
}

async function reachDomain(deps: CheckDeps, domain: string): Promise<Reached> {
  const { resolver, config } = deps
  const mx = await resolver.resolveMx(domain)
  if (mx.kind !== 'records') return { domain, host: null, outcome: { kind: 'no-host', reason: describeMissing(mx) } }
  const [best = mx.records[0]] = mx.records.toSorted((one, other) => one.preference - other.preference)
  const host = best.exchange
  const addresses = await resolver.resolveAddresses(host)
  if (addresses.kind !== 'records') {
    return { domain, host, outcome: { kind: 'no-host', reason: `${host}: ${describeMissing(addresses)}` } }
  }
  const [address] = addresses.records.toSorted((one, other) => Number(one.includes(':')) - Number(other.includes(':')))
  const sources = listConfiguredSources(config.outbound)
  const from = sources.find((own) => own.address.includes(':') === address?.includes(':'))?.address
  return { domain, host, outcome: await callHost(deps, address ?? '', config.outbound.port, from) }
}

async function callHost(
  { dialer, signal }: CheckDeps,
  address: string,
  port: number,
  localAddress: string | undefined,
): Promise<Reached['outcome']> {
  try {
    const socket = await dialer.dial(address, port, { timeout: ANSWER_TIMEOUT, signal, localAddress })
    return { kind: 'greeting', text: (await readBanner(socket, ANSWER_TIMEOUT)).slice(0, MAX_GREETING) }
  } catch (error) {
    return { kind: 'no-connection', reason: errorMessageOf(error) }
  }
}

/** If one host answers, the port is open. */
export function judgeReached(reached: readonly Reached[], port: number): readonly Judgement[] {
  const isOpen = reached.some(({ outcome }) => outcome.kind === 'greeting')
  return reached.map(({ domain, host, outcome }) => {
    if (outcome.kind === 'no-host') return undecided(domain, outcome.reason, [`dig ${domain} MX`])
    if (outcome.kind === 'greeting') return judgeGreeting(domain, `${host}: ${outcome.text}`, outcome.text)
    const text = `no connection to port ${port} of ${host}: ${outcome.reason}`
    const call = `nc -v -w 5 ${host ?? domain} ${port}`
    if (isOpen) return undecided(domain, `${text}; other hosts answer`, [`${call}   # the host may be down for now`])
    return failure(domain, `${text}. Most providers of servers close port 25 until they are asked to open it`, [
      call,
      `nft list ruleset | grep -w ${port}`,
      '# ask the provider of this machine to open outgoing port 25, or set outbound.routes = { "*" = "smtps://USER:PASSWORD@SMARTHOST:465" }',
    ])
  })
}

function judgeGreeting(domain: string, text: string, greeting: string): Judgement {
  if (greeting.startsWith('220')) return good(domain, text)
  return warning(domain, `the host refuses this machine: ${greeting === '' ? 'it sent no greeting' : text}`, [
    '# see the checks ptr and blocklist',
  ])
}

async function checkInbound({ config, dialer, signal, ...deps }: CheckDeps): Promise<readonly Judgement[]> {
  const { listen } = config.inbound
  const endpoint = findPublicEndpoint(listen)
  if (endpoint === null) {
    return [
      warning('inbound.listen', 'other servers can reach no listener for inbound mail, so bounces do not come back', [
        '[inbound]',
        'listen = ["0.0.0.0:25", "[::]:25"]',
      ]),
    ]
  }
  const { host, port } = endpoint
  const outside = listSourceAddresses({ config, ownAddresses: deps.ownAddresses })
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  const greeting = await callHost({ config, dialer, signal, ...deps }, address, port, undefined)
  return [judgeListener(`${address}:${port}`, greeting, outside, config)]
}

type Listen = Config['inbound']['listen']

/** Preferably at port 25. Null if all are on loopback, or there is none. */
function findPublicEndpoint(listen: Listen): Listen[number] | null {
  const open = listen.filter(({ host, port }) => port !== 0 && !isLoopback(host))
  return open.find(({ port }) => port === SMTP_PORT) ?? open[0] ?? null
}

export function judgeListener(
  subject: string,
  outcome: Reached['outcome'],
  addresses: readonly string[],
  { service }: Pick<Config, 'service'>,
): Judgement {
  const outside = [service.inbound_mx_host, ...addresses.filter(isPublicAddress)]
  const test = outside.map((host) => `nc -v -w 5 ${host} ${SMTP_PORT}   # on another machine; it must greet with 220`)
  if (outcome.kind === 'greeting' && outcome.text.startsWith('220')) {
    const port = subject.slice(subject.lastIndexOf(':') + 1)
    if (port === String(SMTP_PORT)) {
      return good(
        subject,
        'the listener answers on this machine; only another machine can test whether it is reachable from outside',
        test,
      )
    }
    return warning(subject, `the listener answers on this machine, but other servers connect to port ${SMTP_PORT}`, [
      `nft add rule ip nat prerouting tcp dport ${SMTP_PORT} redirect to :${port}   # or inbound.listen = ["0.0.0.0:25"]`,
      ...test,
    ])
  }
  const reason = outcome.kind === 'greeting' ? outcome.text : outcome.reason
  return failure(subject, `the listener does not answer: ${reason}`, [
    'systemctl status posthorn',
    'journalctl -u posthorn -n 50',
  ])
}

/**
 * The first line that an SMTP server sends.
 *
 * Says QUIT and closes the socket. Empty if the server closed it without a line, or said nothing in time.
 */
function readBanner(socket: Socket, timeout: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const finish = (): void => {
      clearTimeout(timer)
      socket.removeAllListeners().on('error', () => undefined)
      socket.end('QUIT\r\n')
      setTimeout(() => socket.destroy(), 1_000).unref()
      socket.resume()
      resolve(toPrintableAscii(text.split('\n', 1)[0]?.trimEnd() ?? ''))
    }
    const timer = setTimeout(finish, timeout)
    socket.on('data', (chunk) => {
      text = (text + chunk.toString('latin1')).slice(0, MAX_BANNER)
      if (text.includes('\n') || text.length === MAX_BANNER) finish()
    })
    socket.on('error', finish)
    socket.on('close', finish)
  })
}
