/** Decides who submits mail over SMTP: the principal of an API key, or of a trusted network. */
import type { Config } from '../../../base/config/complete.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { isInSomeNetwork } from '../../../base/platform/ip-address.js'
import { permissionFor } from '../access/permissions.js'
import { createKeylessPrincipal, type Principal } from '../access/principal.js'
import type { ApiKeyCache } from './api-key-cache.js'

/** SMTP knows one reply to every fault of a key, 535: each refusal becomes `bad-credentials`. */
export function authenticateSender(apiKeyCache: ApiKeyCache, password: string, address: string): Principal {
  const principal = authenticateKey(apiKeyCache, password, address)
  if (permissionFor(principal, 'send') !== 'yes') throw new Refusal('bad-credentials', 'the key lacks the scope "send"')
  return principal
}

function authenticateKey(apiKeyCache: ApiKeyCache, password: string, address: string): Principal {
  try {
    return apiKeyCache.authenticate(password, address)
  } catch (error) {
    throw error instanceof Refusal ? new Refusal('bad-credentials', error.message) : error
  }
}

/** The principal of the first trusted network that contains the address. */
export function findTrustedPrincipal(
  { trusted }: Pick<Config['submission'], 'trusted'>,
  address: string,
): Principal | null {
  const match = trusted.find(({ network }) => isInSomeNetwork([network], address))
  return match === undefined ? null : createKeylessPrincipal(match.workspace)
}
