/**
 * The MX listener: all its sockets, and what they share.
 *
 * It offers STARTTLS without requiring it, offers no AUTH, and does not relay: `RecipientChecker` decides
 * who receives mail here. A message is answered 250 once `InboundAcceptor.accept` has resolved.
 */

import { originOf } from '../../../base/platform/connections/client-address.js'
import { isInSomeNetwork } from '../../../base/platform/ip-address.js'
import { bindServers, SmtpListener } from '../server/server-sockets.js'
import type { ListenerRules, SmtpServerAdapter } from '../server/smtp-server-adapter.js'
import type { SmtpReply } from '../session/smtp-reply.js'
import type { MxDeps } from './mx-deps.js'
import { MxGate } from './mx-gate.js'
import { type MxReason, mxReplies } from './mx-refusals.js'
import { MxSession } from './mx-session.js'

export class MxListener extends SmtpListener<MxSession> {
  private constructor(
    private readonly gate: MxGate,
    servers: readonly SmtpServerAdapter<MxSession>[],
  ) {
    super(gate, servers)
  }

  /** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
  static async start(deps: MxDeps): Promise<MxListener> {
    const gate = new MxGate(deps)
    const endpoints = deps.settings().listen.map((endpoint) => ({ ...endpoint, tls: false }))
    return new MxListener(gate, await bindServers(endpoints, listenerRules(gate)))
  }

  /** How many clients, recipients and messages were turned away, by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number> {
    return this.gate.refusals()
  }
}

function listenerRules(gate: MxGate): ListenerRules<MxSession> {
  const { settings, newConnections, clock, lines } = gate
  return {
    gate,
    openSession: (connection) => {
      gate.observer?.onSession()
      return new MxSession(gate, connection)
    },
    originOf,
    checkNewClient(origin, client): SmtpReply | null {
      if (newConnections.take(origin.address, clock()).allowed) return null
      gate.note('connection-rate', { client })
      return mxReplies['connection-rate']
    },
    isProxy: (address) => isInSomeNetwork(settings().proxies, address),
    forSubmission: false,
    logFault: (facts) => lines.info(facts, 'an MX client failed'),
  }
}
