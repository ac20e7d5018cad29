/**
 * Checks DKIM (RFC 6376, 8301, 8463) of one message, by mailauth in its strict mode, which reads tag lists as the RFC
 * defines them. What mailauth calls `neutral` (a signature or key that breaks a rule: `i=` outside `d=`, no `dns/txt`
 * in `q=`, `t=s` with a subdomain in `i=`, a key whose `h=` excludes the hash, no key, an expired signature) is
 * `permerror` here, as in section 6.1; a body hash that differs is `fail`; RSA keys under 1024 bits and SHA-1 are
 * `policy`.
 *
 * In addition, a signature that is not verified because of its cost or its `l=` (`bounded-verifier.ts`) is
 * `policy` (RFC 8601 section 2.7.1). Among several TXT records, the one that holds a key is used.
 *
 * Known limits: `t=` in the future is accepted. A bad message with a `t=y` key still gets `fail`.
 */
import type { DKIMResult, DKIMVerifyResult, DNSResolver } from 'mailauth'
import type { DkimVerdict } from '../../../base/mail/authentication-results.js'
import { notVerifiedPrefix, verifySignatures } from './bounded-verifier.js'
import type { ParsedKeys } from './parsed-keys.js'
import { keyNameOf, type SignatureField, type SignatureFields, type SkippedSignature } from './signature-fields.js'

export const MIN_KEY_BITS = 1024

interface DkimCheck {
  readonly verdicts: readonly DkimVerdict[]
  /** The ARC check needs it: it uses the same parsed message. */
  readonly chain: DKIMVerifyResult['arc']
}

export interface DkimLimits {
  /** Octets of body that may be hashed for all signatures of a message together. */
  readonly hashBudget: number
}

export async function checkDkim(
  signatures: SignatureFields,
  resolver: DNSResolver,
  parsedKeys: ParsedKeys,
  now: number,
  { hashBudget }: DkimLimits,
): Promise<DkimCheck> {
  prefetchKeys(signatures.verifiable, resolver)
  const keys = parsedKeys(createKeyResolver(resolver))
  const verifier = { strict: true, minBitLength: MIN_KEY_BITS, curTime: new Date(now) }
  const { message, bodyStart, header } = signatures
  const result = await verifySignatures({ raw: message, bodyStart, header }, { keys, budget: hashBudget, verifier })
  const signed = result.results.filter(({ status }) => status.result !== 'none')
  return {
    verdicts: [...signed.map(verdictOf), ...signatures.skipped.map(unverifiedVerdictOf)],
    chain: result.arc,
  }
}

/** The record that holds a key comes first, because mailauth reads only the first. */
export function createKeyResolver(resolver: DNSResolver): DNSResolver {
  return async (name, type) => {
    const result = (await resolver(name, type)).map((record) => (Array.isArray(record) ? record.join('') : record))
    return result.toSorted((a, b) => Number(hasKey(b)) - Number(hasKey(a)))
  }
}

function hasKey(record: string): boolean {
  return /(?:^|;)\s*p\s*=/.test(record)
}

/** Requests all keys at once. If those of a slow domain came first, no time would remain for the others. */
function prefetchKeys(fields: readonly SignatureField[], resolver: DNSResolver): void {
  for (const name of fields.map(keyNameOf)) {
    if (name === '') continue
    resolver(name, 'TXT').catch(() => {
      // The verification asks again and handles the error.
    })
  }
}

function verdictOf(result: DKIMResult): DkimVerdict {
  const { status, signingDomain: domain = '', selector = '' } = result
  const reason = status.comment ?? null
  switch (status.result) {
    case 'pass':
      return { domain, selector, result: 'pass', reason: null }
    case 'fail':
    case 'temperror':
      return { domain, selector, result: status.result, reason }
    case 'policy':
      return { domain, selector, result: 'policy', reason: reason ?? status.policy?.['dkim-rules'] ?? null }
    default:
      return {
        domain,
        selector,
        result: reason?.startsWith(notVerifiedPrefix) === true ? 'policy' : 'permerror',
        reason,
      }
  }
}

function unverifiedVerdictOf(field: SkippedSignature): DkimVerdict {
  return { ...field, result: 'policy' }
}
