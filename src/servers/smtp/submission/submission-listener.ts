/** The submission listener: all its sockets, and what they share. */

import { originOf } from '../../../base/platform/connections/client-address.js'
import type { ConnectionOrigin } from '../../../base/platform/connections/connection-limiter.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { bindServers, SmtpListener } from '../server/server-sockets.js'
import type { ListenerRules, SmtpServerAdapter } from '../server/smtp-server-adapter.js'
import { accessEndedReply } from '../session/session-replies.js'
import type { SubmissionDeps } from './submission-deps.js'
import { SubmissionGate } from './submission-gate.js'
import { SubmissionSession } from './submission-session.js'

export class SubmissionListener extends SmtpListener<SubmissionSession> {
  private constructor(
    private readonly gate: SubmissionGate,
    servers: readonly SmtpServerAdapter<SubmissionSession>[],
  ) {
    super(gate, servers)
  }

  /** Plain endpoints are first. Rejects, with nothing left open, when one of the endpoints cannot be bound. */
  static async start(deps: SubmissionDeps): Promise<SubmissionListener> {
    const { listen, listen_tls: listenTls } = deps.settings()
    const gate = new SubmissionGate(deps)
    const endpoints = [
      ...listen.map((endpoint) => ({ ...endpoint, tls: false })),
      ...listenTls.map((endpoint) => ({ ...endpoint, tls: true })),
    ]
    return new SubmissionListener(gate, await bindServers(endpoints, listenerRules(gate)))
  }

  /** Ends the sessions of these principals, for example after a key was revoked or a workspace was deleted. */
  endSessions(where: (principal: Principal) => boolean): void {
    this.gate.accessEndings += 1
    for (const session of this.listSessions()) {
      if (session.principal !== null && where(session.principal)) this.endSession(session)
    }
  }

  /** Ends the sessions whose principals are no longer valid. Rejects if `isValid` does; then some are not judged. */
  async recheckSessions(isValid: (principal: Principal) => Promise<boolean>): Promise<void> {
    this.gate.accessEndings += 1
    for (const session of this.listSessions()) {
      const { principal } = session
      if (principal !== null && !(await isValid(principal))) this.endSession(session)
    }
  }

  private listSessions(): readonly SubmissionSession[] {
    return this.servers.flatMap((server) => [...server.openConnections()]).map(({ smtpSession }) => smtpSession)
  }

  private endSession(session: SubmissionSession): void {
    session.finish(accessEndedReply, this.gate.limits.finishWithin)
  }
}

function listenerRules(gate: SubmissionGate): ListenerRules<SubmissionSession> {
  return {
    gate,
    openSession: (connection) => {
      gate.observer?.onSession()
      return new SubmissionSession(gate, connection)
    },
    originOf: (address) => originUnlessTrusted(gate, address),
    checkNewClient: () => null,
    isProxy: () => false,
    forSubmission: true,
    logFault: (facts) => gate.lines.info(facts, 'a submission client failed'),
  }
}

/** The limit of a network does not hold for one that the operator trusts. */
function originUnlessTrusted({ deps }: SubmissionGate, address: string): ConnectionOrigin {
  const origin = originOf(address)
  try {
    return deps.access.findTrusted(address) === null ? origin : { ...origin, network: null }
  } catch {
    return origin // the session asks again, and answers the client
  }
}
