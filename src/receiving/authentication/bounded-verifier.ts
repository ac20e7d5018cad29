/**
 * mailauth's DKIM verifier with a bound on hashing: the sender chooses how many signatures a message has and how
 * each canonicalizes the body, and each distinct way is another pass over the body.
 *
 * A signature with `l=` covers only a part of the body, to which anyone can append (RFC 6376 section 8.2): it
 * never counts, so nothing is hashed for it. All other signatures of a message, including its newest ARC message
 * signature, share `hashBudget` octets of body. The first way of hashing is always done, however long the body is;
 * what would exceed the budget is not verified.
 *
 * Without `l=` there are four ways at most (two canonicalizations, two hashes). Seals hash header fields alone,
 * whose size has its own limit.
 */
import { pipeline } from 'node:stream/promises'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { DKIMVerifyOptions, DKIMVerifyResult } from 'mailauth'
import { DkimVerifier, type PreparedSignature } from 'mailauth/lib/dkim/dkim-verifier.js'

/** Two ways of hashing for a body of the largest size that a listener accepts by default. */
export const defaultHashBudget = 70 * 1_048_576

/** The reason of every signature that breaks no rule but is not verified by us begins with this. */
export const notVerifiedPrefix = 'not verified: '

class BoundedVerifier extends DkimVerifier {
  private readonly hashVariants = new Set<string>()

  constructor(
    options: DKIMVerifyOptions,
    private readonly bodyOctets: number,
    private readonly budget: number,
  ) {
    super(options)
  }

  override prepareSignature(signature: PreparedSignature): void {
    super.prepareSignature(signature)
    if (signature.skip !== undefined || signature.invalid !== undefined) return
    if (signature.maxBodyLength !== '') {
      signature.skip = `${notVerifiedPrefix}body only partly signed`
      return
    }
    const way = `${signature.bodyCanon} ${signature.hashAlgo}`
    if (this.hashVariants.has(way)) return
    if (this.hashVariants.size > 0 && (this.hashVariants.size + 1) * this.bodyOctets > this.budget) {
      signature.skip = `${notVerifiedPrefix}more than ${this.budget} octets to hash`
    } else this.hashVariants.add(way)
  }

  /** The rest of the message has no effect. */
  get hasSeenEnough(): boolean {
    return this.headers !== false && this.bodyHashes.size === 0
  }
}

interface VerifiedSignatures {
  readonly results: DKIMVerifyResult['results']
  readonly arc: DKIMVerifyResult['arc']
}

/** Octets hashed before the thread yields to other messages. */
const CHUNK_SIZE = 65_536

/** `bodyStart`: where the body of `raw` begins. */
export async function verifySignatures(
  raw: Buffer,
  bodyStart: number,
  options: DKIMVerifyOptions,
  budget: number,
): Promise<VerifiedSignatures> {
  const verifier = new BoundedVerifier(options, raw.length - bodyStart, budget)
  async function* readChunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < raw.length && !verifier.hasSeenEnough; at += CHUNK_SIZE) {
      if (at > 0) await yieldToEventLoop()
      yield raw.subarray(at, at + CHUNK_SIZE)
    }
  }
  await pipeline(readChunks, verifier)
  return { results: verifier.results, arc: verifier.arc }
}
