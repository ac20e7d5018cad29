/**
 * The authoritative server for the service zone: one NS delegation to it replaces records by hand.
 *
 * Each endpoint is opened over TCP and UDP at one port. The configured secondaries are notified of changes.
 */

import type { Clock } from '../../base/platform/clock.js'
import type { DnsServer } from '../../base/platform/dns/transport.js'
import type { Log } from '../../base/platform/log.js'
import { startNotifier } from './notify.js'
import { Responder, type ResponderDeps } from './responder.js'
import { defaultResponseRate, ResponseRateLimiter } from './response-rate-limiter.js'
import { type DnsEndpoint, type DnsListener, openTcpListener } from './tcp-listener.js'
import { openUdpListener } from './udp-listener.js'

interface ZoneListenerDeps extends Pick<ResponderDeps, 'zone' | 'secondaries'> {
  readonly listen: readonly DnsEndpoint[]
  /** Servers that get a NOTIFY when the zone has changed. */
  readonly notify: readonly DnsServer[]
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'warn'>
}

export interface ZoneListener {
  /** They are in the order of the settings, with the ports that were given. */
  readonly endpoints: readonly DnsEndpoint[]
  /** Resolves once everything is closed, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function startZoneListener(deps: ZoneListenerDeps): Promise<ZoneListener> {
  const responder = new Responder({ ...deps, rateLimiter: new ResponseRateLimiter(defaultResponseRate) })
  const listeners: DnsListener[] = []
  const stop = async (limit: number): Promise<void> => {
    await Promise.all(listeners.splice(0).map((listener) => listener.stop(limit)))
  }
  const endpoints: DnsEndpoint[] = []
  try {
    for (const endpoint of deps.listen) {
      const pair = await openListenerPair(endpoint, responder, deps.log)
      listeners.push(...pair)
      endpoints.push(pair[0].endpoint)
    }
  } catch (error) {
    await stop(0)
    throw error
  }
  const notifier = deps.listen.length > 0 && deps.notify.length > 0 ? startNotifier(deps) : null
  return {
    endpoints,
    stop: async (limit) => {
      await Promise.all([notifier?.stop(), stop(limit)])
    },
  }
}

/** A port that is free for TCP may be taken for UDP: if port 0 is configured, another is tried. */
const MAX_PORT_TRIES = 10

async function openListenerPair(
  endpoint: DnsEndpoint,
  responder: Responder,
  log: ZoneListenerDeps['log'],
): Promise<[DnsListener, DnsListener]> {
  for (let count = 1; ; count += 1) {
    const tcp = await openTcpListener(endpoint, responder, log)
    try {
      return [tcp, await openUdpListener(tcp.endpoint, responder, log)]
    } catch (error) {
      await tcp.stop(0)
      if (endpoint.port !== 0 || count === MAX_PORT_TRIES) throw error
    }
  }
}
