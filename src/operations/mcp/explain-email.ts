/** Tells the history of an email in sentences, from its record in the API. */
import type { z } from 'zod'
import { describeReason, reasons } from '../../base/mail/reasons.js'
import { emailRecord } from '../../servers/api/emails/email-record.js'

/** The fields that the sentences need. */
const explainedRecord = emailRecord.pick({
  ...{ id: true, status: true, from: true, subject: true },
  ...{ created_at: true, scheduled_for: true, recipients: true },
})

type Email = z.output<typeof explainedRecord>
type Recipient = Email['recipients'][number]
type Attempt = Recipient['attempt_log'][number]

/** Returns the record itself if it has another form, as that of a later version may. */
export function explainEmail(record: unknown): unknown {
  const parsed = explainedRecord.safeParse(record)
  return parsed.success ? describeEmail(parsed.data).join('\n') : record
}

function describeEmail(email: Email): readonly string[] {
  const { id, status, from, subject, created_at: at, scheduled_for: scheduled, recipients } = email
  return [
    `The email ${id} from ${from} with the subject ${JSON.stringify(subject)} was accepted at ${at}. Its status is ${status}.`,
    ...(scheduled === null ? [] : [`It was scheduled for ${scheduled}.`]),
    ...recipients.flatMap(describeRecipient),
  ]
}

function describeRecipient(recipient: Recipient): readonly string[] {
  const { email, status, attempt_log: attempts, next_attempt_at: next } = recipient
  const without =
    status === 'suppressed' ? 'It is on the suppression list, so nothing was sent.' : 'There was no attempt yet.'
  return [
    '',
    `Recipient ${email}: ${status}.`,
    ...(attempts.length === 0 ? [without] : attempts.map(describeAttempt)),
    ...(next === null ? [] : [`The next attempt is at ${next}.`]),
  ]
}

function describeAttempt({ number, at, mx, tls, outcome, reason, response }: Attempt): string {
  const host = mx === null ? 'reached no host' : `at ${mx} ${tls === null ? 'without TLS' : `over ${tls}`}`
  const known = reasons.find((each) => each === reason)
  const meaning = known === undefined ? '' : ` ${describeReason(known)}`
  return `Attempt ${number} at ${at} ${host}: ${outcome}${reason === null ? '' : ` (${reason})`}.${meaning} Reply: ${response}`
}
