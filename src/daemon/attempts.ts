/** Wires an attempt: to hosts over the session pool, with what the message demands of TLS, or to the simulator. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StartSettings } from '../config/live-config.js'
import { type AttemptDeps, attemptDelivery } from '../delivery/attempt/attempt.js'
import { defaultAttemptLimits } from '../delivery/attempt/attempt-decision.js'
import { createCallLimiter } from '../delivery/attempt/call-limit.js'
import type { RunnerDeps } from '../delivery/queue/runner-deps.js'
import type { SessionPool } from '../delivery/sessions/session-pool.js'
import { attemptScripted, type SimulatorDeps } from '../delivery/simulator/scripted-attempt.js'
import { applyMessageDemand } from '../delivery/transport-security/message-demand.js'
import { type OnTlsResult, toRefusedResult } from '../delivery/transport-security/session-result.js'
import type { Clock } from '../platform/clock.js'

interface AttemptWiring {
  readonly config: StartSettings
  readonly clock: Clock
  readonly onTlsResult: OnTlsResult
}

export function createAttempt(
  pool: SessionPool,
  { config: { service }, clock, onTlsResult }: AttemptWiring,
): RunnerDeps['attempt'] {
  const shared = { clock, limits: defaultAttemptLimits, startCallLimit: createCallLimiter(defaultAttemptLimits.cutOff) }
  const simulator: SimulatorDeps = { hostname: service.hostname, zone: service.zone, clock, sleep: sleepUntilAborted }
  return (message, to, { ignoreOutages, acquireSlot, onSent, number }, signal) => {
    const send: AttemptDeps['send'] = async (host, ...call) => {
      const exchange = await pool.send(host, ...call, ignoreOutages)
      if ('sent' in exchange) onSent(host, exchange.sent)
      return exchange
    }
    const allowed = applyMessageDemand(message, to, (host) => {
      // The null return path: mail of the service, which must not cause reports.
      const result = message.returnPath === '' ? null : toRefusedResult(host, message.domain, clock())
      if (result !== null) onTlsResult(result)
    })
    if (allowed.kind === 'scripted')
      return attemptScripted(message, { attempt: number, acquireSlot, signal }, simulator)
    return attemptDelivery(message, allowed, { ...shared, acquireSlot, send }, signal)
  }
}

function sleepUntilAborted(milliseconds: number, signal: AbortSignal): Promise<void> {
  return sleep(milliseconds, undefined, { signal })
}
