/**
 * The login of a submission session: by an API key, or by a trusted network.
 *
 * Wrong keys are counted for the session and for the client's address; too many of either end
 * the session. A client must log in within the login timeout, whatever else it says.
 */

import { Refusal } from '../../../base/mail/refusal.js'
import { addressKeyOf } from '../../../base/platform/connections/client-address.js'
import { isLoopback } from '../../../base/platform/ip-address.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { keyPrefixOf } from '../../../workspaces/accounts/keys/api-keys.js'
import type { SessionFacts } from '../session/session-gate.js'
import {
  authenticatedReply,
  bannedReply,
  cannotAuthenticateReply,
  loginTimeoutReply,
} from '../session/session-replies.js'
import { type SmtpReply, toSmtpReply } from '../session/smtp-reply.js'
import type { SessionConnection } from '../session/smtp-session.js'
import type { SubmissionGate } from './submission-gate.js'

const WRONG_KEY = 535

export class KeyLogin {
  private keyPrincipal: Principal | null = null
  private trustedPrincipal: Principal | null = null
  private keyPrefix: string | null = null
  private failureCount = 0
  /** A wrong key was one too many: 421 follows its reply. */
  private isOver = false
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly gate: SubmissionGate,
    private readonly connection: SessionConnection,
    private readonly sessionFacts: () => SessionFacts,
  ) {}

  /** The principal of the session's key, else that of the network. Null if there is neither. */
  get principal(): Principal | null {
    return this.keyPrincipal ?? this.trustedPrincipal
  }

  get isByKey(): boolean {
    return this.keyPrincipal !== null
  }

  /** AUTH is refused, and not offered, where a key could be read on its way. */
  get isOffered(): boolean {
    const { tls, remoteAddress } = this.connection
    return tls !== null || (this.gate.settings().allow_plaintext_loopback && isLoopback(remoteAddress))
  }

  get facts(): Readonly<Record<string, string>> {
    const { principal, keyPrefix } = this
    return {
      ...(principal === null ? {} : { workspace: principal.workspaceId }),
      ...(keyPrefix === null ? {} : { key: keyPrefix }),
    }
  }

  /** Recognizes a trusted network. A reply refuses the client. */
  connect(): SmtpReply | null {
    const { deps } = this.gate
    const { remoteAddress } = this.connection
    try {
      this.trustedPrincipal = deps.access.findTrusted(remoteAddress)
      if (this.trustedPrincipal !== null) return null
      this.startTimer()
      if (!this.isBanned(addressKeyOf(remoteAddress))) return null
      this.gate.note('banned', this.sessionFacts())
      return bannedReply
    } catch (error) {
      return { ...toSmtpReply(error, (fault) => this.gate.report(fault, this.connection.id)), code: 421 }
    }
  }

  private startTimer(): void {
    const { settings, clock } = this.gate
    const passed = clock() - this.connection.acceptedAt
    const endSession = (): void => {
      this.gate.note('login-timeout', this.sessionFacts())
      if (this.connection.isInHandshake) this.connection.destroy()
      else this.connection.reply(loginTimeoutReply)
    }
    this.timer = setTimeout(endSession, Math.max(0, settings().auth_timeout - passed)).unref()
  }

  /** TLS is in place: a key that was sent before is forgotten. */
  forgetKey(): void {
    this.keyPrincipal = null
  }

  /** The reply to the key of an AUTH exchange. A line end or a blank around it came with the file that holds it. */
  async auth(given: string): Promise<SmtpReply> {
    const key = given.trim()
    const client = addressKeyOf(this.connection.remoteAddress)
    const reply = this.isBanned(client) ? bannedReply : await this.logIn(key, client)
    if (reply === authenticatedReply || reply === cannotAuthenticateReply) return reply
    this.logWrongKey(key, reply)
    if (reply.code === WRONG_KEY) this.countWrongKey(client)
    return reply
  }

  /**
   * Other sessions of the client may bring a ban while the key is looked up. Then it learns nothing of this key. The
   * access of principals may end in that time too, and this session has none yet that would be found, so the key is
   * looked up again.
   */
  private async logIn(key: string, client: string): Promise<SmtpReply> {
    const { gate } = this
    try {
      for (;;) {
        const { accessEndings } = gate
        const principal = await gate.deps.access.authenticate(key, this.connection.remoteAddress)
        if (this.isBanned(client)) return bannedReply
        if (gate.accessEndings !== accessEndings) continue
        clearTimeout(this.timer)
        this.keyPrefix = keyPrefixOf(key)
        this.keyPrincipal = principal
        return authenticatedReply
      }
    } catch (error) {
      const reply = toSmtpReply(error, (fault) => gate.report(fault, this.connection.id))
      if (!(error instanceof Refusal)) return cannotAuthenticateReply
      return this.isBanned(client) ? bannedReply : reply
    }
  }

  private isBanned(client: string): boolean {
    const { authLimit, deps } = this.gate
    return authLimit.isBanned(client, deps.clock())
  }

  private logWrongKey(key: string, { text }: SmtpReply): void {
    const prefix = keyPrefixOf(key)
    const about = { ...this.sessionFacts(), ...(prefix === null ? {} : { key: prefix }) }
    this.gate.lines.warn({ ...about, listener: 'submission', reason: text }, 'a login failed')
  }

  private countWrongKey(client: string): void {
    const { authLimit, deps, limits } = this.gate
    this.failureCount += 1
    const isNowBanned = authLimit.recordFailure(client, deps.clock())
    this.isOver = isNowBanned || this.failureCount >= limits.maxAuthFailures
  }

  onReply(code: number): void {
    if (this.isOver && code === WRONG_KEY) this.connection.reply(bannedReply)
  }

  close(): void {
    clearTimeout(this.timer)
  }
}
