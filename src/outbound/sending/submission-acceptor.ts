/**
 * Accepts a message that was submitted by SMTP. Its service header fields say how to send it.
 *
 * When an id is returned, the message is on disk.
 */

import { type Header, readFieldValue, scanHeader } from '../../base/mail/header-fields.js'
import { decodeHeaderText } from '../../base/mail/header-text.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Tag } from '../../base/storage/tables/email-tables.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import { type HeaderOptions, MAX_TAGS } from './dialect-fields.js'
import type { EmailCommitter } from './email-committer.js'
import type { EmailPreparer } from './email-preparer.js'
import { findEarlierUse, fingerprintInSteps, type KeyUse } from './idempotency.js'
import { findRepeatedFields, summarizeMessage } from './prepare-message.js'
import { replaceSenders } from './replace-senders.js'
import type { VerifiedDomains } from './sender-policy.js'
import { IDEMPOTENCY_FIELD, isServiceField, readServiceFields } from './service-headers.js'
import type { SendingOptions, SubmittedMessage } from './submitted-message.js'

interface AcceptedEmail {
  /** The names of fields that occurred more than once. Only the last of each is sent. Absent if there are none. */
  readonly repeated?: readonly string[]
  readonly emailId: string
}

interface AcceptorDeps {
  readonly read: Read
  readonly clock: Clock
  readonly domains: VerifiedDomains
  readonly preparer: Pick<EmailPreparer, 'prepare'>
  readonly committer: Pick<EmailCommitter, 'commit'>
}

/** What a client says beyond the message. */
export interface SubmissionExtras {
  readonly source?: 'smtp' | 'rest'
  /** It counts before that of the message. Null if there is none. */
  readonly idempotencyKey?: string | null
  readonly tags?: readonly Tag[]
  /** They count before those of the message. Null leaves it to the message. */
  readonly options?: Pick<SendingOptions, 'trackOpens' | 'trackClicks' | 'scheduledFor'>
  /** True if nothing is sent: the email is recorded as cancelled. */
  readonly isTest?: boolean
  /** True if the email is also recorded when all of its recipients are suppressed. */
  readonly keepsSuppressed?: boolean
}

export class SubmissionAcceptor {
  constructor(private readonly deps: AcceptorDeps) {}

  /** Resolves once the message is on disk. */
  async accept(
    principal: Principal,
    submitted: SubmittedMessage,
    extras: SubmissionExtras = {},
  ): Promise<AcceptedEmail> {
    const { read, clock, domains, preparer, committer } = this.deps
    const now = clock()
    const message = await replaceSenders(principal, submitted, domains)
    const header = scanHeader(message.raw)
    const summary = summarizeMessage(message.raw, header)
    const written = readServiceFields(extractServiceFields(message.raw, header), now)
    const { idempotencyKey, ...options } = addExtras(written, extras)
    const use = idempotencyKey === null ? null : await toKeyUse(principal, submitted, idempotencyKey)
    const before = use === null ? null : await findEarlierUse(read, use, now)
    if (before !== null) return toAcceptedEmail(before.emailId)

    const emailId = uuidv7(now)
    const prepared = await preparer.prepare(principal, {
      emailId,
      source: extras.source ?? 'smtp',
      message,
      header,
      summary,
      options,
      templateId: null,
      tracking: null,
      keepsSuppressed: extras.keepsSuppressed ?? false,
      now,
    })
    const once = use === null ? null : { ...use, becomes: { emailId, answer: null, progress: null } }
    const other = await committer.commit([prepared], once, now)
    if (other !== null) return toAcceptedEmail(other.emailId)
    const repeated = [...new Set(findRepeatedFields(header).map(({ name }) => name))]
    return repeated.length === 0 ? { emailId } : { emailId, repeated }
  }
}

function addExtras(
  written: HeaderOptions,
  { idempotencyKey = null, tags = [], options, isTest = false }: SubmissionExtras,
): HeaderOptions {
  const all = [...written.tags, ...tags]
  if (all.length > MAX_TAGS) {
    const message = `tags: ${all.length} with those of the header of the message, allowed: ${MAX_TAGS}; give fewer`
    throw new Refusal('invalid-parameter', message, { field: 'tags', value: all.length })
  }
  return {
    ...written,
    trackOpens: options?.trackOpens ?? written.trackOpens,
    trackClicks: options?.trackClicks ?? written.trackClicks,
    scheduledFor: options?.scheduledFor ?? written.scheduledFor,
    idempotencyKey: idempotencyKey ?? written.idempotencyKey,
    tags: all,
    dropped: isTest || written.dropped === true,
  }
}

/** Requires an email: the fingerprint of an API request never equals that of a submission. */
function toAcceptedEmail(emailId: string | null): AcceptedEmail {
  if (emailId === null) throw new Error('an idempotency key of SMTP has no email')
  return { emailId }
}

function extractServiceFields(raw: Buffer, header: Header): { name: string; value: string }[] {
  return header.fields
    .filter(({ name }) => isServiceField(name))
    .map((field) => ({ name: field.name, value: decodeWords(readFieldValue(raw, field)) }))
}

/** Programs encode values that are not ASCII like the text of other fields. */
function decodeWords(value: string): string {
  return value.includes('=?') ? decodeHeaderText(value, value.length) : value
}

async function toKeyUse({ workspaceId }: Principal, message: SubmittedMessage, key: string): Promise<KeyUse> {
  const envelope = [message.envelopeFrom, ...message.recipients.map(({ address }) => address)]
  const fingerprint = await fingerprintInSteps([...envelope, message.raw])
  return { workspaceId, key, fingerprint, field: IDEMPOTENCY_FIELD }
}
