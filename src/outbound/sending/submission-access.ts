/** Decides who may submit by SMTP, and as which sender. */

import type { ReadSettings } from '../../base/config/live-config.js'
import type { Address } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import type { ApiKeyCache } from '../../workspaces/accounts/keys/api-key-cache.js'
import { authenticateSender, findTrustedPrincipal } from '../../workspaces/accounts/keys/submission-principal.js'
import { buildRateRefusal, type RateLimit } from '../../workspaces/accounts/limits/rate-limit.js'
import type { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'
import { checkEnvelopeSender } from './sender-policy.js'

interface AccessDeps {
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly apiKeyCache: ApiKeyCache
  readonly domains: Pick<SendingDomainCache, 'findVerified'>
  /** The rates of workspaces: each message counts as one request. */
  readonly requests: RateLimit
}

export class SubmissionAccess {
  constructor(private readonly deps: AccessDeps) {}

  /** The principal of a key. Throws a Refusal `bad-credentials`. */
  authenticate(password: string, remoteAddress: string): Principal {
    return authenticateSender(this.deps.apiKeyCache, password, remoteAddress)
  }

  /** The principal of an address in a trusted network; null: the client needs a key. */
  findTrusted(remoteAddress: string): Principal | null {
    return findTrustedPrincipal(this.deps.settings().submission, remoteAddress)
  }

  /** Takes a message from the rate of the workspace. Throws a Refusal when this principal may not use this sender. */
  checkSender(principal: Principal, envelopeFrom: Address | ''): void {
    const { apiKeyCache, requests, clock, domains } = this.deps
    if (!apiKeyCache.isStillValid(principal)) throw new Refusal('unavailable', 'the key is no longer valid')
    const rate = requests.take(principal.workspaceId, clock())
    if (!rate.allowed) throw buildRateRefusal(rate)
    checkEnvelopeSender(principal, envelopeFrom, domains.findVerified)
  }
}
