/**
 * Accepts a message from the MX listener: applies the policy to its authentication results, adds trace fields, and
 * stores one copy for each workspace that it is addressed to. It resolves when all copies are on disk, in one
 * commit. A small message with one copy is processed before, and its results are in that commit; the content of any
 * other is processed afterwards (`inbound-processor.ts`).
 *
 * A recipient that is no longer valid is never dropped silently: the whole message is deferred, and at the
 * client's next attempt the RCPT is refused.
 */

import type { Config } from '../../base/config/complete.js'
import { type Address, formatForDisplay } from '../../base/mail/address.js'
import type { Connection } from '../../base/mail/authentication-results.js'
import { toRecipientLogFields } from '../../base/mail/recipient-log-fields.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Log } from '../../base/platform/log.js'
import type { Arrival } from '../../base/storage/tables/inbound-tables.js'
import type { InboundBytes } from '../../workspaces/accounts/limits/inbound-bytes.js'
import type { OperatorWorkspaceCache } from '../../workspaces/accounts/workspace/operator-workspace.js'
import type { AccessLinks } from './access-links.js'
import type { AcceptanceDecision } from './authentication/acceptance-policy.js'
import type { ReceivedMessage } from './authentication/received-message.js'
import { decideForRecipients } from './authentication/recipient-decisions.js'
import { buildResultFields } from './authentication/result-fields.js'
import { type EarlyProcessor, mayBeProcessedEarly } from './early-processor.js'
import type { EarlyScorer, ScoredMessage } from './early-scorer.js'
import type { GatheredCommits } from './gathered-commits.js'
import { buildCopy, buildNotYetProcessed, type InboundCopy, storeCopies } from './inbound-copies.js'
import type { InboundProcessor } from './inbound-processor.js'
import type { ProcessedMail } from './mail-processor.js'
import { findOnlyMail, type InboundCopyPlan, planInboundCopies } from './recipients/copy-plan.js'
import { type Destinations, resolveDestinations } from './recipients/destinations.js'
import type { RecipientPolicy } from './recipients/recipient-policy.js'
import { buildTooLarge, isTooLargeFor } from './recipients/system-mail.js'
import type { GuardedAuthenticator } from './threads/guarded-authenticator.js'
import { type CheckedMessage, MOVE_THRESHOLD } from './threads/message-thread.js'
import type { StoredForm } from './threads/packed-form.js'

/**
 * Milliseconds for which a plan holds. It says when a message came and who gets it; a check that waits for DNS may take
 * much longer.
 */
const MAX_PLAN_AGE = 1_000

export interface AcceptorDeps {
  readonly commits: Pick<GatheredCommits, 'commit'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'error'>
  /** Our own name: the authserv-id of our results. */
  readonly hostname: string
  readonly settings: () => Pick<Config['inbound'], 'dmarc'>
  readonly authenticator: Pick<GuardedAuthenticator, 'authenticate'>
  readonly policy: Pick<RecipientPolicy, 'classify' | 'findInboundPolicy'>
  readonly operatorWorkspace: Pick<OperatorWorkspaceCache, 'find'>
  /** It processes a message with one copy. */
  readonly earlyProcessor: Pick<EarlyProcessor, 'process'>
  /** It scores any other message that all recipients refuse if it is spam. */
  readonly earlyScorer: Pick<EarlyScorer, 'isSpamForAll'>
  /** A message with such a link is accepted only if it is processed before the answer. */
  readonly accessLinks: Pick<AccessLinks, 'areInReceived'>
  /** Stored bytes of workspaces, and of the service, which stores reports. */
  readonly inboundBytes: Pick<InboundBytes, 'requireRoom'>
  readonly processor: Pick<InboundProcessor, 'onStored'>
}

interface PlannedMessage {
  readonly message: ReceivedMessage
  readonly plan: InboundCopyPlan
  /** The form in which its only copy is stored, or null if it is yet to be made. */
  readonly form: StoredForm | null
  /** False if no one may read it before it is processed. */
  readonly mayWait: boolean
}

export class InboundAcceptor {
  /** Messages to return paths that are not ours, since the start. */
  private discarded = 0

  constructor(private readonly deps: AcceptorDeps) {}

  /** Resolves once the message is on disk. Rejects with a `Refusal` if it is not accepted, and with a storage fault. */
  async accept(received: ReceivedMessage): Promise<{ readonly id: string }> {
    const { policy, authenticator, accessLinks, hostname, clock } = this.deps
    const { client, envelopeFrom, recipients } = received
    const { bytes } = received
    const classified = await Promise.all(recipients.map((address) => policy.classify(address)))
    if (classified.some((recipient) => isTooLargeFor(recipient, bytes.length))) throw buildTooLarge(classified)
    const connection = { clientAddress: client.address, helo: client.helo, envelopeFrom, hostname }
    try {
      const plan = await this.makePlan(received)
      const mayWait = !(await accessLinks.areInReceived(received))
      const asked = bytes.length < MOVE_THRESHOLD ? findOnlyMail(plan) : null
      const checked = await authenticator.authenticate(bytes, received.header, connection, asked)
      const age = clock() - plan.now
      const isRecent = age >= 0 && age <= MAX_PLAN_AGE
      const planned = isRecent
        ? { message: received, plan, form: checked.form, mayWait }
        : { message: received, plan: await this.makePlan(received), form: null, mayWait }
      return await this.acceptAuthenticated(planned, checked, connection)
    } finally {
      bytes.free() // unless they were moved to the writer
    }
  }

  private async acceptAuthenticated(
    { message, plan, form, mayWait }: PlannedMessage,
    { authentication, authenticationJson }: Pick<CheckedMessage, 'authentication' | 'authenticationJson'>,
    connection: Connection,
  ): Promise<{ readonly id: string }> {
    const { policy, settings } = this.deps
    const { client, envelopeFrom, recipients } = message
    const { now, ignoredAddresses } = plan
    const bytes = message.bytes.length
    const policyOf = async (address: Address) => policy.findInboundPolicy(await policy.classify(address))
    const decisions = await decideForRecipients(authentication, recipients, policyOf, settings().dmarc)
    requireAuthenticated(decisions.message)
    const results = form === null ? buildResultFields(authentication, connection) : []
    const copies = plan.copies.map(({ destination, trace }): InboundCopy => {
      const arrival = toArrival(message, decisions.spamReasonOf(destination.addresses))
      return buildCopy({ destination, trace, message, authentication, authenticationJson, results, arrival, form })
    })
    const destinations = plan.copies.map(({ destination }) => destination)
    const scored = { message, authentication, destinations, arrival: toArrival(message, null), now }
    const processed = await this.processBeforeAnswer(scored, { copies, form }, decisions.refusesSpam)
    if (processed === null && !mayWait) throw buildNotYetProcessed()
    await this.findDestinations(recipients) // again: time has passed
    if (copies.length > 0) await this.store(message, copies, processed)
    this.discarded += ignoredAddresses.length
    this.logAccepted(copies, { client, envelopeFrom, recipients, bytes }, ignoredAddresses.length > 0)
    return { id: copies[0]?.email.id ?? uuidv7(now) }
  }

  /** Throws a Refusal if a recipient is no longer valid. */
  private async makePlan(message: ReceivedMessage): Promise<InboundCopyPlan> {
    const { hostname, clock } = this.deps
    return planInboundCopies(message, await this.findDestinations(message.recipients), hostname, clock())
  }

  /** Throws a Refusal if a recipient is no longer valid. */
  private async findDestinations(recipients: readonly Address[]): Promise<Destinations> {
    const found = await resolveDestinations(recipients, this.deps.policy, this.deps.operatorWorkspace)
    if (found.goneAddresses.length === 0) return found
    throw new Refusal('unavailable', 'a recipient has just been removed, try again later')
  }

  /** Null if the copies are processed after the answer. Throws a Refusal of spam that all recipients refuse. */
  private async processBeforeAnswer(
    scored: ScoredMessage,
    { copies, form }: { readonly copies: readonly InboundCopy[]; readonly form: StoredForm | null },
    refusesSpam: boolean,
  ): Promise<ProcessedMail | null> {
    const { earlyProcessor, earlyScorer } = this.deps
    const [only] = copies
    const isAsked = only !== undefined && copies.length === 1 && mayBeProcessedEarly(only)
    const content = form?.content ?? null
    const processed = isAsked ? await earlyProcessor.process(scored.message, only, content, refusesSpam) : null
    if (!refusesSpam) return processed
    const isSpam = isAsked ? processed?.content.spam_status === 'spam' : await earlyScorer.isSpamForAll(scored)
    if (isSpam) throw buildSpamRefusal()
    return processed
  }

  private async store(
    { client }: ReceivedMessage,
    copies: readonly InboundCopy[],
    processed: ProcessedMail | null,
  ): Promise<void> {
    const isProcessed = await storeCopies(this.deps, copies, processed, client.session)
    if (processed !== null && isProcessed) processed.onCommitted()
    else for (const { email } of copies) this.deps.processor.onStored(email.workspace_id)
  }

  private logAccepted(
    copies: readonly InboundCopy[],
    { client, envelopeFrom, recipients, bytes }: AcceptedFacts,
    hasDiscarded: boolean,
  ): void {
    const { log } = this.deps
    const facts = {
      inbound: copies.map(({ email }) => email.id),
      client: client.address,
      session: client.session,
      helo: formatForDisplay(client.helo),
      from: envelopeFrom,
      bytes,
      ...toRecipientLogFields(recipients),
    }
    if (copies.length > 0) log.info(facts, 'a message was accepted')
    if (hasDiscarded) log.info({ ...facts, times: this.discarded }, 'mail to an unknown return path was discarded')
  }
}

/** `bytes` is the size of the message, which may have left memory by now. */
type AcceptedFacts = Pick<ReceivedMessage, 'client' | 'envelopeFrom' | 'recipients'> & { readonly bytes: number }

function requireAuthenticated(decision: AcceptanceDecision): void {
  if (decision.kind !== 'refuse') return
  throw new Refusal('sender-not-authenticated', decision.text, { reason: decision.reason })
}

function buildSpamRefusal(): Refusal {
  return new Refusal('forbidden', 'the message is taken for spam', { reason: 'spam-score' })
}

function toArrival({ client, requiresTls = false }: ReceivedMessage, spamReason: string | null): Arrival {
  const { earlyTalker, listings, allowListings } = client
  return { earlyTalker, listings, allowListings, spamReason, ...(requiresTls ? { requiresTls } : {}) }
}
