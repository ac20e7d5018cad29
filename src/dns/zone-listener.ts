/**
 * The authoritative server for the service zone: one NS delegation to it replaces all hand work.
 *
 * Each place is opened over TCP and UDP at one port. Secondaries that are listed are told of changes.
 */
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import { type Desk, type DeskDeps, deskOf } from './desk.js'
import { changeNotices } from './notify.js'
import { defaultResponseRate, responseRate } from './response-rate.js'
import { type DnsDoor, type Endpoint, openTcp } from './tcp-door.js'
import { openUdp } from './udp-door.js'

export interface ZoneListenerDeps extends Pick<DeskDeps, 'zone' | 'secondaries'> {
  readonly listen: readonly Endpoint[]
  /** Servers that are told when the zone has changed. */
  readonly notify: readonly string[]
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'warn'>
}

export interface ZoneListener {
  /** In the order of the settings, with the ports that were given. */
  readonly endpoints: readonly Endpoint[]
  /** Resolves once everything is closed, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

/** Rejects, with nothing left open, when one of the places cannot be bound. */
export async function listenForQuestions(deps: ZoneListenerDeps): Promise<ZoneListener> {
  const desk = deskOf({ ...deps, rate: responseRate(defaultResponseRate) })
  const doors: DnsDoor[] = []
  const stop = async (limit: number): Promise<void> => {
    await Promise.all(doors.splice(0).map((door) => door.stop(limit)))
  }
  const endpoints: Endpoint[] = []
  try {
    for (const place of deps.listen) {
      const pair = await openBoth(place, desk, deps.log)
      doors.push(...pair)
      endpoints.push(pair[0].endpoint)
    }
  } catch (error) {
    await stop(0)
    throw error
  }
  const notices = deps.listen.length > 0 && deps.notify.length > 0 ? changeNotices(deps) : null
  return {
    endpoints,
    stop: async (limit) => {
      notices?.stop()
      await stop(limit)
    },
  }
}

/** A port that is free for TCP may be taken for UDP: where any will do, another is tried. */
const mostTries = 10

async function openBoth(place: Endpoint, desk: Desk, log: ZoneListenerDeps['log']): Promise<[DnsDoor, DnsDoor]> {
  for (let count = 1; ; count += 1) {
    const tcp = await openTcp(place, desk, log)
    try {
      return [tcp, await openUdp(tcp.endpoint, desk, log)]
    } catch (error) {
      await tcp.stop(0)
      if (place.port !== 0 || count === mostTries) throw error
    }
  }
}
