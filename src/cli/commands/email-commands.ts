/** `send`, `explain`: one message through the true pipeline, and what became of any. */
import { setTimeout as sleep } from 'node:timers/promises'
import MailComposer from 'nodemailer/lib/mail-composer'
import { planBook } from '../../accounts/limits/plans.js'
import { chargeEmails } from '../../accounts/limits/quota.js'
import { keylessSender } from '../../accounts/principal.js'
import { domainBook } from '../../domains/domain-book.js'
import { verifiedAnywhere } from '../../domains/sending-domains.js'
import { type Address, domainOf, parseAddress } from '../../mail/address.js'
import { emailRecord } from '../../messages/email-resource.js'
import { type Asked, askedEmail, type EmailStory, emailStory, narrowedTo } from '../../messages/email-story.js'
import { MimeReader } from '../../messages/mime/mime-parts.js'
import { type Accept, accept } from '../../sending/accept.js'
import { type PrepareDeps, prepareEmail } from '../../sending/prepare-email.js'
import { take } from '../../sending/take.js'
import { isDataFolderHeld } from '../../storage/data-lock.js'
import type { Database } from '../../storage/database.js'
import type { Read } from '../../storage/prepared.js'
import { isSuppressed } from '../../suppressions/suppressions.js'
import {
  type Answer,
  atMost,
  type Call,
  type Command,
  CommandFailed,
  flag,
  type OptionValues,
  required,
  text,
  word,
} from '../command.js'
import { emailLines } from '../email-lines.js'

const WAIT = 60_000
const LOOK = 100

export const emailCommands: readonly Command[] = [
  {
    name: 'send',
    usage: '--from ADDRESS --to ADDRESS [--subject TEXT]',
    summary: 'send one test message, wait for its first attempt, and tell what came of it and what is next',
    options: { from: 'string', to: 'string', subject: 'string' },
    run: send,
  },
  {
    name: 'explain',
    usage: 'EMAIL_ID|QUEUE_ID [--transcript]',
    summary: 'what happened to an email, or to one recipient of it, attempt by attempt, and what comes next',
    options: { transcript: 'boolean' },
    run: explain,
  },
]

async function explain({ words, options, database }: Call): Promise<Answer> {
  atMost(words, 1)
  const id = word(words, 0, 'EMAIL_ID')
  const { read } = await database()
  const asked = askedEmail(read, id)
  if (asked === null) throw new CommandFailed(`no email and no queue entry ${id}`)
  const story = storyOf(read, asked)
  const transcripts = story.recipients.flatMap(({ email, transcript }) =>
    transcript === null ? [] : ['', `last session for ${email}:`, ...transcript.split('\n').map((line) => `  ${line}`)],
  )
  const lines = [...emailLines(story), ...(options['transcript'] === true ? transcripts : [])]
  return { json: await recordOf(options, read, asked), lines }
}

function storyOf(read: Read, asked: Asked): EmailStory {
  const { id, workspace_id: workspaceId } = asked.email
  const story = emailStory(read, { workspaceId, id })
  if (story === null) throw new CommandFailed(`the email ${id} is gone`)
  return narrowedTo(asked, story)
}

/** With what the message holds, where it is asked for: a message is taken apart in a process that has to start first. */
async function recordOf(options: OptionValues, read: Read, asked: Asked): Promise<unknown> {
  if (!flag(options, 'json')) return null
  const mime = new MimeReader()
  try {
    const record = await emailRecord({ read, mime }, asked.email.id)
    return record === null ? null : narrowedTo(asked, record)
  } finally {
    await mime.close()
  }
}

async function send(call: Call): Promise<Answer> {
  atMost(call.words, 0)
  const from = parseAddress(required(call.options, 'from'))
  const to = parseAddress(required(call.options, 'to'))
  const subject = text(call.options, 'subject') ?? 'Posthorn test message'
  const database = await call.database()
  const emailId = await submit(call, database, from, to, await composed(from, to, subject))
  const asked = askedEmail(database.read, emailId)
  if (asked === null) throw new CommandFailed(`the email ${emailId} is gone`)
  const story = await firstAttempt(call, database, asked)
  const isServed = isDataFolderHeld(call.config.service.data_dir)
  const json = await recordOf(call.options, database.read, asked)
  const lines = [...emailLines(story), ...nextLines(story, isServed)]
  return { json, lines, failed: story.status !== 'delivered' && story.status !== 'sent' }
}

/** Of what is not settled. `isServed`: a daemon runs. */
function nextLines(story: EmailStory, isServed: boolean): string[] {
  if (!isOpen(story)) return []
  const later = `"posthorn explain ${story.id}" tells more later`
  if (isAnswered(story)) return ['', `not delivered yet, and tried again without being asked: ${later}`]
  if (!isServed) return ['', `no daemon runs here: it is sent when one starts; ${later}`]
  const isUnderWay = story.recipients.some(({ next_attempt_at }) => next_attempt_at === null)
  return ['', isUnderWay ? `still being attempted after 60 s: ${later}` : `not tried within 60 s: ${later}`]
}

function composed(from: Address, to: Address, subject: string): Promise<Buffer> {
  const mail = new MailComposer({
    from,
    to,
    subject,
    text: 'This message was sent by "posthorn send" to see whether mail gets through.\n',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return mail.compile().build()
}

async function submit(call: Call, database: Database, from: Address, to: Address, raw: Buffer): Promise<string> {
  const owner = verifiedAnywhere(database.read, { domain: domainOf(from) })[0]
  if (owner === undefined) throw new CommandFailed(`${domainOf(from)} is not a verified domain of any workspace`)
  const principal = keylessSender(owner.workspace_id)
  const { emailId } = await accepting(call, database)(principal, {
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

/** What the daemon does with a message, but for delivery: it sees the commit, and takes the message from the database. */
function accepting({ config, clock }: Call, { read, commit }: Database): Accept {
  const { limits, service } = config
  const { domain_emails_per_day: domainEmailsPerDay } = limits
  const charge = chargeEmails({ read, planOf: planBook({ read, limits }).of, domainEmailsPerDay })
  const verifiedDomain = domainBook({ read }).verified
  const suppressed: PrepareDeps['isSuppressed'] = (workspaceId, address) => isSuppressed(read, workspaceId, address)
  const prepare = prepareEmail({ isSuppressed: suppressed, hostname: service.hostname, verifiedDomain })
  return accept({ read, clock, prepare, take: take({ read, commit, charge, handOver: () => undefined }) })
}

/** Until the first attempt has had its outcome, it is known what the message waits for, or no daemon is there to try it. */
async function firstAttempt({ clock, config }: Call, { read }: Database, asked: Asked): Promise<EmailStory> {
  const until = clock() + WAIT
  for (;;) {
    const story = storyOf(read, asked)
    if (!isOpen(story) || isAnswered(story) || clock() >= until) return story
    if (!isDataFolderHeld(config.service.data_dir)) return story
    await sleep(LOOK)
  }
}

function isOpen({ status }: EmailStory): boolean {
  return status === 'queued' || status === 'scheduled'
}

function isAnswered({ recipients }: EmailStory): boolean {
  return recipients.every(({ attempts, waits_for }) => attempts.length > 0 || waits_for !== null)
}
