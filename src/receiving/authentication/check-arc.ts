/**
 * The ARC chain (RFC 8617 section 5.2), by mailauth in its strict mode: tag lists as RFC 6376
 * writes them, every seal of at most fifty verified, and the newest message signature.
 *
 * RFC 8617 knows no temporary result; a chain that fails because DNS did not answer is
 * `temperror` here, so that nobody holds our resolver's fault against the sender.
 *
 * Known limit: a chain that passes changes nothing in DMARC: there is no list of sealers whom
 * we trust.
 */
import type { DKIMVerifyResult, DNSResolver } from 'mailauth'
import { arc } from 'mailauth/lib/arc/index.js'
import type { ArcVerdict } from '../../mail/authentication-results.js'
import { createKeyResolver, MIN_KEY_BITS } from './check-dkim.js'
import { NoDnsAnswer } from './dns-queries.js'

/** Of a chain that is not looked at. */
export const oversizedArc: ArcVerdict = { result: 'fail', reason: 'field too long' }

export async function checkArc(chain: DKIMVerifyResult['arc'], resolver: DNSResolver): Promise<ArcVerdict> {
  if (chain === undefined) return { result: 'none', reason: null }
  let faults = 0
  const watchedResolver: DNSResolver = async (name, type) => {
    try {
      return await resolver(name, type)
    } catch (error) {
      if (!(error instanceof NoDnsAnswer && error.isEmpty)) faults += 1
      throw error
    }
  }
  const data = { ...chain, chain: chain.chain === false ? [] : chain.chain }
  const { status, signature } = await arc(data, {
    resolver: createKeyResolver(watchedResolver),
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
