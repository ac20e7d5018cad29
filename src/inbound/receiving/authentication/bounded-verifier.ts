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
 * The message, which is in memory, goes to the steps of the verifier at once: its stream reads each byte of the header
 * and of the body in JavaScript, which takes longer than the verification. The stream would also make a CRLF of a bare
 * LF; the MX listener refuses such messages.
 */
import type { DKIMVerifyOptions, DKIMVerifyResult } from 'mailauth'
import { DkimVerifier, type PreparedSignature } from 'mailauth/lib/dkim/dkim-verifier.js'
import type { KeyCache } from 'mailauth/lib/tools.js'
import type { Header } from '../../../base/mail/header-fields.js'
import { WholeBodyHash } from './body-hash.js'
import { listHeaderRows } from './header-rows.js'

/** Two ways of hashing for a body of the largest size that a listener accepts by default. */
export const defaultHashBudget = 70 * 1_048_576

/** The reason of every signature that breaks no rule but is not verified by us begins with this. */
export const notVerifiedPrefix = 'not verified: '

class BoundedVerifier extends DkimVerifier {
  private readonly hashVariants = new Set<string>()
  private readonly wholeHashes = new Map<string, WholeBodyHash>()

  constructor(
    options: DKIMVerifyOptions,
    private readonly bodyOctets: number,
    private readonly budget: number,
    keys: KeyCache,
  ) {
    super(options)
    this.keyCache = keys
  }

  override prepareSignature(signature: PreparedSignature): void {
    prepareWithUnderscores(signature, () => super.prepareSignature(signature))
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

  /** `maxBodyLength` is never a number, since `prepareSignature` skips such signatures. */
  override addBodyHash(canonicalization: string, algorithm: string, maxBodyLength: number | ''): string {
    const way = `${canonicalization}:${algorithm}:${maxBodyLength}`
    if (!this.wholeHashes.has(way)) {
      const hasher = new WholeBodyHash(canonicalization, algorithm)
      this.wholeHashes.set(way, hasher)
      this.bodyHashes.set(way, hasher)
    }
    return way
  }

  async verifyMessage({ raw, bodyStart, header }: VerifiedMessage): Promise<void> {
    const original = raw.subarray(0, bodyStart)
    if (header === null) await this.emitHeaders(original)
    else {
      this.headers = { parsed: listHeaderRows(raw, header), original }
      await this.messageHeaders(this.headers)
    }
    const body = raw.subarray(bodyStart)
    for (const hasher of this.wholeHashes.values()) await hasher.hashBody(body)
    await this.finalChunk()
  }
}

interface VerifiedMessage {
  readonly raw: Buffer
  readonly bodyStart: number
  /** Null if mailauth reads it. */
  readonly header: Header | null
}

interface VerifiedSignatures {
  readonly results: DKIMVerifyResult['results']
  readonly arc: DKIMVerifyResult['arc']
}

interface VerifyOptions {
  readonly verifier: Omit<DKIMVerifyOptions, 'resolver'>
  readonly keys: KeyCache
  /** Octets of body that may be hashed. */
  readonly budget: number
}

export async function verifySignatures(
  message: VerifiedMessage,
  { keys, budget, verifier: options }: VerifyOptions,
): Promise<VerifiedSignatures> {
  const verifier = new BoundedVerifier(options, message.raw.length - message.bodyStart, budget, keys)
  await verifier.verifyMessage(message)
  return { results: verifier.results, arc: verifier.arc }
}

/**
 * Verifies DKIM signatures whose domain or selector has an underscore. The grammar of RFC 6376 section 3.1 has none,
 * but DNS does, signers write them, and other verifiers look such keys up.
 *
 * Without this, mail would be lost under a policy of reject. mailauth checks the grammar first and looks the key up
 * later, so it checks names with a letter in place of each underscore, and then gets the written ones back.
 */
function prepareWithUnderscores(signature: PreparedSignature, prepare: () => void): void {
  const { d, s, i } = signature.parsed ?? {}
  const names = [d, s, i].map((tag) => textOf(tag?.value))
  if (!names.some((name) => name.includes('_'))) {
    prepare()
    return
  }
  const [domain = '', selector = '', identity = ''] = names
  if (d !== undefined) d.value = withLetters(domain)
  if (s !== undefined) s.value = withLetters(selector)
  const at = identity.lastIndexOf('@') + 1
  if (i !== undefined) i.value = `${identity.slice(0, at)}${withLetters(identity.slice(at))}`
  prepare()
  signature.signingDomain = domain
  signature.selector = selector
  if (i === undefined) signature.identity = `@${domain}`
  else if (signature.identityDomain !== undefined) {
    const local = signature.identity?.slice(0, signature.identity.lastIndexOf('@') + 1) ?? '@'
    signature.identity = `${local}${identity.slice(at)}`
    signature.identityDomain = identity.slice(at)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function withLetters(name: string): string {
  return name.replaceAll('_', 'u')
}
