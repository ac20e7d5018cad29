/**
 * Authenticates one message before it is accepted: SPF, DKIM, DMARC, ARC and iprev. No header and no DNS fault makes it
 * throw, except a `Refusal` of what is too large to check: a header of more than 10,000 fields or 2 MB (mailauth reads
 * every byte of it), a From over 8 KB.
 *
 * The checks run concurrently, each with its own number of DNS queries, and DMARC records and signing keys are
 * requested at the start: what a sender controls (slow servers, many signatures) must not turn a failing DMARC
 * into a missing one.
 *
 * Bodies are hashed on the calling thread (`threads/message-worker`), in pieces between which other messages
 * have their turn: a few milliseconds a megabyte for each way of hashing.
 *
 * The header is scanned on this thread although the main thread has scanned it: sending its fields here takes
 * longer than a scan.
 *
 * Known limit: BIMI logos are not checked.
 */

import type { DKIMVerifyResult, DNSResolver } from 'mailauth'
import { arc } from 'mailauth/lib/arc/index.js'
import type { ArcVerdict, Authentication, Connection } from '../../../base/mail/authentication-results.js'
import { findFields, type Header, scanHeader } from '../../../base/mail/header-fields.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Clock } from '../../../base/platform/clock.js'
import { freeMemory } from '../../../base/platform/memory/free-memory.js'
import { defaultHashBudget } from './bounded-verifier.js'
import { checkDkim, createKeyResolver, type DkimLimits, MIN_KEY_BITS } from './check-dkim.js'
import { checkDmarc, prefetchDmarc, readAuthorAddresses, toDmarcKey } from './check-dmarc.js'
import { checkIprev } from './check-iprev.js'
import { CheckMemory } from './check-memory.js'
import { checkSpf, toSpfKey, toSpfVerdict } from './check-spf.js'
import {
  defaultQueryLimits,
  type KeepingResolver,
  MessageQueries,
  NoDnsAnswer,
  type QueryLimits,
} from './dns-queries.js'
import type { ParsedKeys } from './parsed-keys.js'
import { selectSignatures } from './signature-fields.js'

/**
 * The result for a chain that is not verified. mailauth verifies the ARC chain (RFC 8617 section 5.2) in its strict
 * mode: tag lists as in RFC 6376, every seal of at most fifty, and the newest message signature.
 *
 * RFC 8617 has no temporary result; a chain that fails because DNS did not answer is `temperror` here, so that a fault
 * of our resolver does not count against the sender.
 *
 * Known limit: a passing chain has no effect on DMARC, because there is no list of trusted sealers.
 */
const oversizedArc: ArcVerdict = { result: 'fail', reason: 'field too long' }

interface AuthenticateDeps {
  readonly resolver: KeepingResolver
  readonly clock: Clock
  /** The memory of earlier messages. */
  readonly memory?: CheckMemory
  readonly limits?: QueryLimits & DkimLimits
}

export const defaultLimits: QueryLimits & DkimLimits = { ...defaultQueryLimits, hashBudget: defaultHashBudget }

/**
 * DNS queries of each check. SPF has ten terms with ten names each. DKIM needs a key for each signature, twice in case
 * mailauth spells its name differently. ARC needs a key for each seal. DMARC walks trees, iprev asks for names.
 */
const MAX_QUERIES = { spf: 120, dkim: 24, arc: 50, dmarc: 100, iprev: 11 } as const

const MAX_HEADER = 2_097_152

/** `header` is the header of `raw`. */
export async function authenticate(
  raw: Buffer,
  connection: Connection,
  { resolver, clock, memory = new CheckMemory(), limits = defaultLimits }: AuthenticateDeps,
  header: Header = scanHeader(raw),
): Promise<Authentication> {
  if (header.end > MAX_HEADER) {
    throw new Refusal('malformed-message', `a header of ${header.end} octets, more than ${MAX_HEADER}`)
  }
  const questions = new MessageQueries(resolver, limits, clock)
  const signatures = selectSignatures(raw, header)
  const authors = readAuthorAddresses(raw, header)
  const fromFields = findFields(header, 'from').length
  const keyResolver = questions.createResolver(MAX_QUERIES.dkim)
  const dmarcResolver = questions.createResolver(MAX_QUERIES.dmarc)
  const [foundSpf, dkim, iprev] = await Promise.all([
    memory.spf.run(toSpfKey(connection), questions, questions.createResolver(MAX_QUERIES.spf), (ask) =>
      checkSpf(connection, ask, limits.perMessage),
    ),
    checkDkim(signatures, keyResolver, memory.keys, clock(), limits),
    memory.iprev.run(connection.clientAddress, questions, questions.createResolver(MAX_QUERIES.iprev), (ask) =>
      checkIprev(connection.clientAddress, ask),
    ),
    memory.dmarcRecords.run(JSON.stringify([authors, fromFields]), questions, dmarcResolver, (ask) =>
      prefetchDmarc({ authors, fromFields }, ask),
    ),
  ])
  if (signatures.message !== raw) freeMemory(signatures.message)
  const spf = toSpfVerdict(foundSpf, connection)
  const evidence = { authors, fromFields, spf, dkim: dkim.verdicts }
  const [arc, dmarc] = await Promise.all([
    signatures.oversizedChain
      ? oversizedArc
      : checkArc(dkim.chain, questions.createResolver(MAX_QUERIES.arc), memory.keys),
    memory.dmarc.run(toDmarcKey(evidence), questions, dmarcResolver, (ask) => checkDmarc(evidence, ask)),
  ])
  return { spf, dkim: dkim.verdicts, dmarc, arc, iprev, fromFields }
}

async function checkArc(
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

/** The message has no ARC field at all: a chain that cannot be read leaves an error. */
function isAbsent(chain: NonNullable<DKIMVerifyResult['arc']>): boolean {
  return chain.chain === false && chain.error === undefined
}
