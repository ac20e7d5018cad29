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
 *
 * A small message goes to the steps of the verifier at once: its stream reads each byte of the header and of the body
 * in JavaScript, which takes longer than the verification. Larger ones, and those with a bare CR or LF, take the stream.
 */
import { pipeline } from 'node:stream/promises'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { DKIMVerifyOptions, DKIMVerifyResult } from 'mailauth'
import { DkimVerifier, type PreparedSignature } from 'mailauth/lib/dkim/dkim-verifier.js'
import type { KeyCache } from 'mailauth/lib/tools.js'
import { hasBareLineBreak, WholeBodyHash } from './body-hash.js'

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
    keys: KeyCache,
    private readonly isWhole: boolean,
  ) {
    super(options)
    this.keyCache = keys
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

  override addBodyHash(canonicalization: string, algorithm: string, maxBodyLength: number | ''): string {
    const way = super.addBodyHash(canonicalization, algorithm, maxBodyLength)
    if (this.isWhole && algorithm === 'sha256') this.bodyHashes.set(way, new WholeBodyHash(canonicalization))
    return way
  }

  async verifyWhole(raw: Buffer, bodyStart: number): Promise<void> {
    await this.emitHeaders(raw.subarray(0, bodyStart))
    await this.nextChunk(raw.subarray(bodyStart))
    await this.finalChunk()
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

interface VerifyOptions extends Omit<DKIMVerifyOptions, 'resolver'> {
  readonly keys: KeyCache
  /** Octets of body that may be hashed. */
  readonly budget: number
}

/** `bodyStart`: where the body of `raw` begins. */
export async function verifySignatures(
  raw: Buffer,
  bodyStart: number,
  { keys, budget, ...options }: VerifyOptions,
): Promise<VerifiedSignatures> {
  const isWhole = raw.length <= CHUNK_SIZE && !hasBareLineBreak(raw)
  const verifier = new BoundedVerifier(options, raw.length - bodyStart, budget, keys, isWhole)
  if (isWhole) await verifier.verifyWhole(raw, bodyStart)
  else await verifyInPieces(verifier, raw)
  return { results: verifier.results, arc: verifier.arc }
}

async function verifyInPieces(verifier: BoundedVerifier, raw: Buffer): Promise<void> {
  async function* readChunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < raw.length && !verifier.hasSeenEnough; at += CHUNK_SIZE) {
      if (at > 0) await yieldToEventLoop()
      yield raw.subarray(at, at + CHUNK_SIZE)
    }
  }
  await pipeline(readChunks, verifier)
}

/** The addresses of From fields, as mailauth reads them in a complete message. `fields`: each on one line, with CRLF. */
export async function readHeaderFrom(fields: Buffer): Promise<readonly string[]> {
  const verifier = new DkimVerifier({ strict: true })
  await verifier.emitHeaders(fields)
  return verifier.headerFrom
}
