/** Decides who may submit by SMTP, and with which sender. */

import type { Config } from '../../base/config/complete.js'
import type { ReadSettings } from '../../base/config/live-config.js'
import type { Address } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import { isInSomeNetwork } from '../../base/platform/ip-address.js'
import { permissionFor } from '../../workspaces/accounts/access/permissions.js'
import { createKeylessPrincipal, type Principal } from '../../workspaces/accounts/access/principal.js'
import type { ApiKeyCache } from '../../workspaces/accounts/keys/api-key-cache.js'
import { buildRateRefusal, type RateLimit } from '../../workspaces/accounts/limits/rate-limit.js'
import { checkEnvelopeSender, type VerifiedDomains } from './sender-policy.js'

interface AccessDeps {
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly apiKeyCache: ApiKeyCache
  readonly domains: VerifiedDomains
  /** The rates of workspaces: each message counts as one request. */
  readonly requests: RateLimit
}

export class SubmissionAccess {
  constructor(private readonly deps: AccessDeps) {}

  /** Returns the principal of a key. Throws a Refusal `bad-credentials`. */
  async authenticate(password: string, remoteAddress: string): Promise<Principal> {
    return authenticateSender(this.deps.apiKeyCache, password, remoteAddress)
  }

  /** Returns the principal of an address in a trusted network. Null means that the client needs a key. */
  findTrusted(remoteAddress: string): Principal | null {
    return findTrustedPrincipal(this.deps.settings().submission, remoteAddress)
  }

  /** Counts a message in the rate of the workspace. Throws a Refusal if this principal may not use this sender. */
  async checkSender(principal: Principal, envelopeFrom: Address | ''): Promise<void> {
    const { apiKeyCache, requests, clock, domains } = this.deps
    if (!(await apiKeyCache.isStillValid(principal))) throw new Refusal('unavailable', 'the key is no longer valid')
    const rate = requests.take(principal.workspaceId, clock())
    if (!rate.allowed) throw buildRateRefusal(rate)
    await checkEnvelopeSender(principal, envelopeFrom, domains)
  }
}

/**
 * Returns the principal of an API key.
 *
 * SMTP has one reply to every fault of a key, 535, so each refusal becomes `bad-credentials`.
 */
async function authenticateSender(apiKeyCache: ApiKeyCache, password: string, address: string): Promise<Principal> {
  const principal = await authenticateKey(apiKeyCache, password, address)
  if (permissionFor(principal, 'send') !== 'yes') throw new Refusal('bad-credentials', 'the key lacks the scope "send"')
  return principal
}

async function authenticateKey(apiKeyCache: ApiKeyCache, password: string, address: string): Promise<Principal> {
  try {
    return await apiKeyCache.authenticate(password, address)
  } catch (error) {
    throw error instanceof Refusal ? new Refusal('bad-credentials', error.message) : error
  }
}

/** Returns the principal of the first trusted network that contains the address. */
function findTrustedPrincipal({ trusted }: Pick<Config['submission'], 'trusted'>, address: string): Principal | null {
  const match = trusted.find(({ network }) => isInSomeNetwork([network], address))
  return match === undefined ? null : createKeylessPrincipal(match.workspace, match.sender)
}
