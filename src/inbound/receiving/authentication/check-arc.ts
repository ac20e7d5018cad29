/**
 * The ARC chain (RFC 8617 section 5.2), verified by mailauth in its strict mode: tag lists as in RFC 6376, every
 * seal of at most fifty, and the newest message signature.
 *
 * RFC 8617 has no temporary result; a chain that fails because DNS did not answer is `temperror` here, so that a
 * fault of our resolver does not count against the sender.
 *
 * Known limit: a passing chain has no effect on DMARC, because there is no list of trusted sealers.
 */
import type { DKIMVerifyResult, DNSResolver } from 'mailauth'
import { arc } from 'mailauth/lib/arc/index.js'
import type { ArcVerdict } from '../../../base/mail/authentication-results.js'
import { createKeyResolver, MIN_KEY_BITS } from './check-dkim.js'
import { NoDnsAnswer } from './dns-queries.js'
import type { ParsedKeys } from './parsed-keys.js'

/** The result for a chain that is not verified. */
export const oversizedArc: ArcVerdict = { result: 'fail', reason: 'field too long' }

export async function checkArc(
  chain: DKIMVerifyResult['arc'],
  resolver: DNSResolver,
  parsedKeys: ParsedKeys,
): Promise<ArcVerdict> {
  if (chain === undefined || isAbsent(chain)) return { result: 'none', reason: null }
  let faults = 0
  const watchedResolver: DNSResolver = async (name, type) => {
    try {
      return await resolver(name, type)
    } catch (error) {
      if (!(error instanceof NoDnsAnswer && error.isEmpty)) faults += 1
      throw error
    }
  }
  const keyResolver = createKeyResolver(watchedResolver)
  const data = { ...chain, chain: chain.chain === false ? [] : chain.chain, keyCache: parsedKeys(keyResolver) }
  const { status, signature } = await arc(data, {
    resolver: keyResolver,
    strict: true,
    minBitLength: MIN_KEY_BITS,
  })
  const reason = status.comment ?? null
  switch (status.result) {
    case 'pass':
    case 'none':
      return { result: status.result, reason: null }
    default: {
      const unanswered = faults > 0 || (signature !== false && signature?.status.result === 'temperror')
      return unanswered ? { result: 'temperror', reason: 'no answer from DNS' } : { result: 'fail', reason }
    }
  }
}

/** No ARC field at all: a chain that cannot be read leaves an error. */
function isAbsent(chain: NonNullable<DKIMVerifyResult['arc']>): boolean {
  return chain.chain === false && chain.error === undefined
}
