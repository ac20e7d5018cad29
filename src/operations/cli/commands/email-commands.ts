/** `send` puts one message through the regular pipeline; `explain` shows the history of any email. */
import { setTimeout as sleep } from 'node:timers/promises'
import MailComposer from 'nodemailer/lib/mail-composer'
import { type Address, domainOf, parseAddress } from '../../../base/mail/address.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { EmailCommitter } from '../../../outbound/sending/email-committer.js'
import { EmailPreparer } from '../../../outbound/sending/email-preparer.js'
import { SubmissionAcceptor } from '../../../outbound/sending/submission-acceptor.js'
import { createHtmlChangeFinder } from '../../../outbound/tracking/links.js'
import { EmailTracker } from '../../../outbound/tracking/track-email.js'
import {
  type EmailDetails,
  type EmailLookup,
  filterRecipients,
  findEmailOrRecipient,
  type RecipientDetails,
  readEmailDetails,
} from '../../../records/messages/email-details.js'
import { readEmailRecord } from '../../../records/messages/email-resource.js'
import { MimeReader } from '../../../records/messages/mime/mime-parts.js'
import { readStoryFacts } from '../../../records/messages/story/story-facts.js'
import { storyLines } from '../../../records/messages/story/story-lines.js'
import { tellStory } from '../../../records/messages/story/tell-story.js'
import { SuppressionCache } from '../../../records/suppressions/suppression-cache.js'
import { createKeylessPrincipal } from '../../../workspaces/accounts/access/principal.js'
import { WorkspacePlans } from '../../../workspaces/accounts/limits/plans.js'
import { EmailCharger } from '../../../workspaces/accounts/limits/quota.js'
import { WorkspaceDirectory } from '../../../workspaces/accounts/workspace/workspace-directory.js'
import { verifiedByName } from '../../../workspaces/domains/rows/sending-domains.js'
import { SendingDomainCache } from '../../../workspaces/domains/sending-domain-cache.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  type OptionValues,
  refuseExtraWords,
  requiredOption,
  requiredWord,
  textOption,
} from '../command/command.js'

const MAX_WAIT = 60_000
const POLL_INTERVAL = 100

export async function explain({ words, options, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const id = requiredWord(words, 0, 'EMAIL_ID')
  const { read } = await database()
  const lookup = await findEmailOrRecipient(read, id)
  if (lookup === null) throw new CommandFailed(`no email and no queue entry ${id}`)
  const story = await findStory(read, lookup)
  const transcripts = story.recipients.flatMap(({ email, transcript }) =>
    transcript === null ? [] : ['', `last session for ${email}:`, ...transcript.split('\n').map((line) => `  ${line}`)],
  )
  const history = await tellLines(read, lookup, story)
  const lines = [...history, ...(options['transcript'] === true ? transcripts : [])]
  return { json: await readRecord(options, read, lookup), lines }
}

async function tellLines(read: Read, { email }: EmailLookup, story: EmailDetails): Promise<readonly string[]> {
  const facts = await readStoryFacts(read, email.workspace_id, story)
  return storyLines(story, { stories: tellStory(story, facts), adviseOnHold })
}

function adviseOnHold({ held_by }: RecipientDetails): string {
  return `: "posthorn ${held_by === 'rule' ? 'queue rules remove' : 'queue release'}" lets it go on`
}

async function findStory(read: Read, lookup: EmailLookup): Promise<EmailDetails> {
  const { id, workspace_id: workspaceId } = lookup.email
  const story = await readEmailDetails(read, { workspaceId, id })
  if (story === null) throw new CommandFailed(`the email ${id} is gone`)
  return filterRecipients(lookup, story)
}

/** The record with the content of the message, only for `--json`: a child process has to start to parse the message. */
async function readRecord(options: OptionValues, read: Read, lookup: EmailLookup): Promise<unknown> {
  if (!flagOption(options, 'json')) return null
  const mime = new MimeReader()
  try {
    const record = await readEmailRecord({ read, mime, findHtmlChange: createHtmlChangeFinder(read) }, lookup.email.id)
    return record === null ? null : filterRecipients(lookup, record)
  } finally {
    await mime.close()
  }
}

export async function send(call: Call): Promise<Answer> {
  refuseExtraWords(call.words, 0)
  const from = parseAddress(requiredOption(call.options, 'from'))
  const to = parseAddress(requiredOption(call.options, 'to'))
  const subject = textOption(call.options, 'subject') ?? 'Posthorn test message'
  const text = 'This message was sent by "posthorn send" to see whether mail gets through.\n'
  return sendTestMessage(call, { from, to, subject, text })
}

interface TestMessage {
  readonly from: Address
  readonly to: Address
  readonly subject: string
  readonly text: string
}

/** Waits for the outcome of the first attempt, which the answer tells. */
export async function sendTestMessage(call: Call, message: TestMessage): Promise<Answer> {
  const database = await call.database()
  const emailId = await submit(call, database, message.from, message.to, await composeTestMessage(message))
  const lookup = await findEmailOrRecipient(database.read, emailId)
  if (lookup === null) throw new CommandFailed(`the email ${emailId} is gone`)
  const story = await waitForFirstAttempt(call, database, lookup)
  const isServed = isDataFolderHeld(call.config.service.data_dir)
  const json = await readRecord(call.options, database.read, lookup)
  const history = await tellLines(database.read, lookup, story)
  const lines = [...history, ...nextLines(story, isServed)]
  return { json, lines, failed: story.status !== 'delivered' && story.status !== 'sent' }
}

/** Lines for an unsettled email. `isServed` says that a daemon runs. */
function nextLines(story: EmailDetails, isServed: boolean): string[] {
  if (!isOpen(story)) return []
  const later = `"posthorn explain ${story.id}" tells more later`
  if (hasOutcome(story)) return ['', `not delivered yet, and tried again without being asked: ${later}`]
  if (!isServed) return ['', `no daemon runs here: it is sent when one starts; ${later}`]
  const isUnderWay = story.recipients.some(({ next_attempt_at }) => next_attempt_at === null)
  return ['', isUnderWay ? `still being attempted after 60 s: ${later}` : `not tried within 60 s: ${later}`]
}

function composeTestMessage({ from, to, subject, text }: TestMessage): Promise<Buffer> {
  const mail = new MailComposer({
    from,
    to,
    subject,
    text,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return mail.compile().build()
}

async function submit(call: Call, database: Store, from: Address, to: Address, raw: Buffer): Promise<string> {
  const owner = (await verifiedByName(database.read, { domain: domainOf(from) }))[0]
  if (owner === undefined) throw new CommandFailed(`${domainOf(from)} is not a verified domain of any workspace`)
  const principal = createKeylessPrincipal(owner.workspace_id)
  const acceptor = await openAcceptor(call, database)
  const { emailId } = await acceptor.accept(principal, {
    envelopeFrom: from,
    envid: null,
    ret: null,
    recipients: [{ address: to, notify: ['never'], orcpt: null }],
    smtputf8: true,
    raw,
    protocol: 'local',
  })
  return emailId
}

/** Accepts the message as the daemon does. The daemon then sees the commit and delivers it. */
async function openAcceptor({ config, clock }: Call, { read, commit }: Store): Promise<SubmissionAcceptor> {
  const { limits, service } = config
  const plans = new WorkspacePlans(await WorkspaceDirectory.open(read), () => limits)
  const charger = new EmailCharger(read, plans, () => limits.domain_emails_per_day)
  const { hostname, public_url: publicUrl } = service
  // The certificate that the daemon serves is not known here.
  const tracker = new EmailTracker({ trackingHost: { baseFor: () => publicUrl }, publicUrl })
  const domains = new SendingDomainCache(read)
  const suppressions = new SuppressionCache(read)
  return new SubmissionAcceptor({
    read,
    clock,
    domains,
    preparer: new EmailPreparer({ suppressions, hostname, domains, tracker }),
    committer: new EmailCommitter({ read, commit, charger, queue: null }),
  })
}

/** Waits up to 60 s for the outcome of the first attempt, or until it is known what the message waits for; not without a daemon. */
async function waitForFirstAttempt(
  { clock, config }: Call,
  { read }: Store,
  lookup: EmailLookup,
): Promise<EmailDetails> {
  const until = clock() + MAX_WAIT
  for (;;) {
    const story = await findStory(read, lookup)
    if (!isOpen(story) || hasOutcome(story) || clock() >= until) return story
    if (!isDataFolderHeld(config.service.data_dir)) return story
    await sleep(POLL_INTERVAL)
  }
}

function isOpen({ status }: EmailDetails): boolean {
  return status === 'queued' || status === 'scheduled'
}

function hasOutcome({ recipients }: EmailDetails): boolean {
  return recipients.every(({ attempts, waits_for }) => attempts.length > 0 || waits_for !== null)
}
