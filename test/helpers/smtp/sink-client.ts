/** What the SMTP client of delivery needs to talk to a scripted sink. */

import { parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import type { Clock } from '../../../src/base/platform/clock.js'
import { createDialer } from '../../../src/base/platform/dialer.js'
import type { Host } from '../../../src/outbound/delivery/hosts/destination.js'
import { SessionOpener } from '../../../src/outbound/delivery/sessions/session-opener.js'
import {
  type ConnectionLimits,
  SessionPool,
  type SessionPoolLimits,
} from '../../../src/outbound/delivery/sessions/session-pool.js'
import { UnreachableHosts } from '../../../src/outbound/delivery/shaping/unreachable-hosts.js'
import type { OutboundMessage } from '../../../src/outbound/delivery/smtp/outbound-message.js'
import type { SmtpClientDeps } from '../../../src/outbound/delivery/smtp/smtp-client.js'
import { defaultTimeouts, type Timeouts } from '../../../src/outbound/delivery/smtp/timeouts.js'
import { createFreePace } from '../free-pace.js'

/** A signal that never aborts. */
export const never = new AbortController().signal

export function hostAt({ port }: { readonly port: number }, over: Partial<Host> = {}): Host {
  return { mx: 'mx.test', address: '127.0.0.1', port, tls: 'opportunistic', auth: null, final: true, ...over }
}

export function outbound(raw: string | readonly Buffer[], over: Partial<OutboundMessage> = {}): OutboundMessage {
  return {
    returnPath: 'bounce@sender.test',
    recipient: parseAddress('bob@rcpt.test'),
    domain: parseDomainName('rcpt.test'),
    pieces: typeof raw === 'string' ? [Buffer.from(raw)] : raw,
    smtputf8: false,
    envid: null,
    ret: null,
    notify: null,
    orcpt: null,
    ...over,
  }
}

/** `impatient`: timeouts that a test needs short; all others stay long, so that a slow machine fails no test. */
export function clientDeps(impatient: Partial<Timeouts> = {}, authorities?: string): SmtpClientDeps {
  return {
    dialer: createDialer(authorities),
    helloName: 'us.test',
    timeouts: { ...defaultTimeouts, ...impatient },
    clock: () => 0,
  }
}

export const manyConnections: ConnectionLimits = { max_connections: 100, max_connections_per_host: 10 }

export type PoolSettings = Partial<SessionPoolLimits & ConnectionLimits>

export function poolOf(
  deps: SmtpClientDeps = clientDeps(),
  settings: PoolSettings = {},
  clock: Clock = () => 0,
): SessionPool {
  const open = new SessionOpener({ ...deps, clock, unreachableHosts: new UnreachableHosts() })
  const pace = createFreePace()
  const limits = { messagesPerSession: 100, idleTimeout: 10_000, ...settings }
  return new SessionPool(open, () => ({ ...manyConnections, ...settings }), { of: () => pace }, limits)
}
